"""Training samples for the reader: real plates, synthetic plates and a few regions without a plate."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from plate_nets.common.errors import InputError
from plate_nets.countries import PlateScheme
from plate_nets.recognition.geometry import normalized
from plate_nets.types import Crops, Frame
from training.reader.covered import can_cover, cover
from training.reader.real import RealPlate
from training.reader.shuffle import can_shuffle, shuffle
from training.reader.straightened import Sight, negative, photograph_straightened, synthesize_straightened
from training.recipe.recipe import Mixture
from training.synthesis import synthesize
from training.synthesis.camera import photograph
from training.synthesis.scripts import with_unknown_signs


@dataclass(frozen=True)
class Batch:
    """Crops (N, 3, 24, 94), targets: symbol indices of all texts in a row (sum of lengths,), lengths (N,)."""

    crops: Crops
    targets: NDArray[np.int64]
    lengths: NDArray[np.int64]


class Samples:
    """Batches by step: ``samples[step]`` is the batch of that step.

    ``drawn``: schemes to draw, by default only the scheme itself. ``weights``: by name, how often the real plates of a
    folder, or the drawn ones of a scheme, come compared with others.
    """

    def __init__(
        self,
        scheme: PlateScheme,
        plates: Sequence[RealPlate],
        empty: Sequence[Frame],
        *,
        batch: int,
        seed: int,
        mixture: Mixture = Mixture(),
        foreign: Sequence[RealPlate] = (),
        drawn: Sequence[PlateScheme] = (),
        weights: Mapping[str, float] | None = None,
    ) -> None:
        self.scheme = scheme
        self.drawn = drawn or (scheme,)
        self.weights = dict(weights or {})
        self.drawn_two = [each for each in self.drawn if each.by_lines[2].formats]
        if mixture.two_lines and not self.drawn_two:
            raise InputError(f"two lines: no plate of {', '.join(each.name for each in self.drawn)} has them")
        self.varied = {
            lines: [each for each in self.drawn if each.by_lines[lines].formats and not each.synthesis.drawings]
            for lines in (1, 2)
        }
        self.plates = plates
        self.empty = empty
        self.foreign = foreign
        self.batch = batch
        self.seed = seed
        self.mixture = mixture
        counts = Counter(plate.text for plate in plates)
        # Vanity plates and plates photographed often are over-represented: weigh them down.
        rates = np.array([(0.3 if is_vanity(scheme, p.text) else 1.0) / counts[p.text] ** 0.5 for p in plates])
        rates *= np.array([mixture.hard if plate.hard else 1.0 for plate in plates])
        self.chances = np.cumsum(self._by_source(rates)) if len(plates) else np.zeros(0)

    def _by_source(self, rates: NDArray[np.float64]) -> NDArray[np.float64]:
        """Rate of each real plate (N,) -> its share, so that each source gets its own share."""
        sources = np.array([plate.source for plate in self.plates])
        sums = {name: float(rates[sources == name].sum()) for name in sorted(set(sources.tolist()))}
        shares = source_shares(
            {name: total * self.weights.get(name, 1.0) for name, total in sums.items()}, self.mixture.largest_source
        )
        factors = np.array([shares[name] / sums[name] for name in sources.tolist()])
        return np.asarray(rates * factors, np.float64)

    def __getitem__(self, step: int) -> Batch:
        crops, texts = zip(*(self._sample(step, place) for place in range(self.batch)), strict=True)
        spelled = [self.scheme.spelled(text) for text in texts]
        return Batch(
            crops=normalized(crops),
            targets=np.array([self.scheme.index[symbol] for text in spelled for symbol in text], np.int64),
            lengths=np.array([len(text) for text in spelled], np.int64),
        )

    def _sample(self, step: int, place: int) -> tuple[Frame, str]:
        rng = np.random.default_rng((self.seed, step, place))
        kind = rng.random()
        if kind < self.mixture.real and len(self.plates):
            plate = self.plates[int(np.searchsorted(self.chances, rng.random() * self.chances[-1]))]
            if rng.random() < self.mixture.shuffled and can_shuffle(self.scheme, plate):
                plate = shuffle(self.scheme, plate, rng)
            if _lot(rng, self.mixture.covered) and can_cover(self.scheme, plate):
                plate = cover(self.scheme, plate, rng)
            if _lot(rng, self.mixture.inverted):
                plate = replace(plate, picture=negative(plate.picture, rng))
            # Most real photos already carry their own faults: add mild ones, sometimes strong ones.
            return self._photograph(plate, rng, float(rng.uniform(0, 1) ** 2)), plate.text
        if kind > 1 - self.mixture.empty and len(self.empty):
            region = self.empty[int(rng.integers(len(self.empty)))]
            h, w = region.shape[:2]
            corners = np.array([[0, 0], [w, 0], [w, h], [0, h]], np.float32)
            return photograph(region, corners, rng, severity=float(rng.uniform(0, 0.6))), ""
        rest = kind - self.mixture.real
        if 0 <= rest < self.mixture.foreign and len(self.foreign):
            plate = replace(self.foreign[int(rng.integers(len(self.foreign)))], exact=True)
            return self._photograph(plate, rng, float(rng.uniform(0, 1) ** 2)), ""
        if 0 <= kind - (1 - self.mixture.empty - self.mixture.unknown) < self.mixture.unknown:
            lines = 2 if rng.random() < 0.15 else 1
            scheme, sight = self._one_of(self.varied[lines], rng), self._sight(rng)
            sample = synthesize_straightened(scheme, rng, lines, sight, with_unknown_signs, self._inverted(rng))
            return sample.crop, sample.text
        if 0 <= rest - self.mixture.foreign < self.mixture.two_lines:
            sample = synthesize_straightened(
                self._one_of(self.drawn_two, rng), rng, 2, self._sight(rng), inverted=self._inverted(rng)
            )
            return sample.crop, sample.text
        scheme = self._one_of(self.drawn, rng)
        if self._straight(rng):
            sample = synthesize_straightened(scheme, rng, 1, self._sight(rng), inverted=self._inverted(rng))
        else:
            sample = synthesize(scheme, rng)
        return sample.crop, sample.text

    def _photograph(self, plate: RealPlate, rng: np.random.Generator, severity: float) -> Frame:
        """A plate of two lines can only be read if it is cropped along its corners."""
        if plate.exact and (self._straight(rng) or plate.lines == 2):
            sight = self._sight(rng)
            return photograph_straightened(plate.picture, plate.corners, rng, severity, sight, plate.lines)
        return photograph(plate.picture, plate.corners, rng, severity)

    def _one_of(self, schemes: Sequence[PlateScheme], rng: np.random.Generator) -> PlateScheme:
        """Choose a scheme by weight. A single one does not use the generator, so its sequence stays the same."""
        if len(schemes) == 1:
            return schemes[0]
        weights = np.array([self.weights.get(scheme.name, 1.0) for scheme in schemes])
        return schemes[int(rng.choice(len(schemes), p=weights / weights.sum()))]

    def _straight(self, rng: np.random.Generator) -> bool:
        """Whether to crop a plate along its corners."""
        return _lot(rng, self.mixture.straightened)

    def _inverted(self, rng: np.random.Generator) -> bool:
        return _lot(rng, self.mixture.inverted)

    def _sight(self, rng: np.random.Generator) -> Sight:
        """How a plate that is cropped along its corners is seen."""
        if _lot(rng, self.mixture.moving):
            return "moving"
        return "far" if _lot(rng, self.mixture.far) else "near"


def _lot(rng: np.random.Generator, share: float) -> bool:
    """True in a share of the calls. With a share of 0 the generator is not used."""
    return share > 0 and bool(rng.random() < share)


def source_shares(amounts: Mapping[str, float], largest: float) -> dict[str, float]:
    """Amounts by source -> shares of the samples: none above ``largest``, or equal shares if there are too few
    sources for that."""
    shares = {name: amount / sum(amounts.values()) for name, amount in amounts.items()}
    largest = max(largest, 1 / len(shares))
    full: set[str] = set()
    while over := {name for name, share in shares.items() if share > largest * (1 + 1e-9)}:
        full |= over
        rest = sum(amount for name, amount in amounts.items() if name not in full)
        left = 1 - largest * len(full)
        shares = {name: largest if name in full else left * amounts[name] / max(rest, 1e-9) for name in shares}
    return shares


def is_vanity(scheme: PlateScheme, text: str) -> bool:
    """Whether three or more digits of a number, or three or more letters, are all equal: A777BC, A123AA."""
    for fit in scheme.fits(text):
        numbers = (
            p for pattern, p in zip(fit.patterns, fit.parts, strict=True) if pattern not in scheme.synthesis.codes
        )
        for number in numbers:
            digits = [symbol for symbol in number if symbol.isdigit()]
            letters = [symbol for symbol in number if not symbol.isdigit()]
            if any(len(each) >= 3 and len(set(each)) == 1 for each in (digits, letters)):
                return True
    return False
