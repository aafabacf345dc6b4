"""Training samples for the reader: real plates, synthetic plates and a few regions without a plate."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from plate_nets.common.errors import InputError
from plate_nets.countries import PlateScheme
from plate_nets.recognition.geometry import normalized
from plate_nets.types import CROP_HEIGHT, CROP_WIDTH, Crops, Frame
from training.reader.changed import can_cover, can_shuffle, cover, shuffle
from training.real import RealPlate, rates
from training.recipe.recipe import Mixture
from training.synthesis import synthesize
from training.synthesis.crops import Sight, negative, photograph
from training.synthesis.scripts import with_unknown_signs
from training.synthesis.texts import by_share

_TWO_LINES = 0.15
"""Share of two lines among the plates with unknown signs."""
_FRONT = np.array([[0, 0], [1, 0], [1, 1], [0, 1]], np.float32) * 2 * (CROP_WIDTH, CROP_HEIGHT)
"""The corners of a region without a plate, px."""


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
        self.scheme, self.plates, self.empty, self.foreign = scheme, plates, empty, foreign
        self.drawn = drawn or (scheme,)
        self.weights = dict(weights or {})
        self.drawn_two = [each for each in self.drawn if each.by_lines[2].formats]
        if mixture.two_lines and not self.drawn_two:
            raise InputError(f"two lines: no plate of {', '.join(each.name for each in self.drawn)} has them")
        self.varied = {
            lines: [each for each in self.drawn if each.by_lines[lines].formats and not each.synthesis.drawings]
            for lines in (1, 2)
        }
        self.batch, self.seed, self.mixture = batch, seed, mixture
        shares = rates(scheme, plates) * np.array([mixture.hard if plate.hard else 1.0 for plate in plates])
        self.chances = np.cumsum(self._by_source(shares)) if len(plates) else np.zeros(0)
        self.kinds = {
            "real": mixture.real * bool(plates),
            "foreign": mixture.foreign * bool(foreign),
            "two lines": mixture.two_lines,
            "unknown": mixture.unknown,
            "empty": mixture.empty * bool(empty),
        }

    def _by_source(self, rates: NDArray[np.float64]) -> NDArray[np.float64]:
        sources = np.array([plate.source for plate in self.plates])
        sums = {name: float(rates[sources == name].sum()) for name in sorted(set(sources.tolist()))}
        shares = source_shares(
            {name: total * self.weights.get(name, 1.0) for name, total in sums.items()}, self.mixture.largest_source
        )
        factors = np.array([shares[name] / sums[name] for name in sources.tolist()])
        return np.asarray(rates * factors, np.float64)

    def __getitem__(self, step: int) -> Batch:
        rngs = (np.random.default_rng((self.seed, step, place)) for place in range(self.batch))
        crops, texts = zip(*map(self._sample, rngs), strict=True)
        spelled = [self.scheme.spelled(text) for text in texts]
        return Batch(
            crops=normalized(crops),
            targets=np.array([self.scheme.index[symbol] for text in spelled for symbol in text], np.int64),
            lengths=np.array([len(text) for text in spelled], np.int64),
        )

    def _sample(self, rng: np.random.Generator) -> tuple[Frame, str]:
        lines, change = 1, None
        match by_share(self.kinds, "drawn", rng):
            case "real" | "foreign" as kind:
                plate = self._real(rng) if kind == "real" else self._foreign(rng)
                return plate.photographed(rng, self._sight(rng, along_corners=plate.lines == 2)), plate.text
            case "empty":
                region = self.empty[int(rng.integers(len(self.empty)))]
                return photograph(region, _FRONT, rng, severity=float(rng.uniform(0, 0.6))), ""
            case "unknown":
                lines = 2 if rng.random() < _TWO_LINES else 1
                scheme, change = self._one_of(self.varied[lines], rng), with_unknown_signs
            case "two lines":
                scheme, lines = self._one_of(self.drawn_two, rng), 2
            case _:
                scheme = self._one_of(self.drawn, rng)
                lines = scheme.fewest_lines
        sight = self._sight(rng, along_corners=lines == 2 or change is not None)
        sample = synthesize(scheme, rng, None, sight, lines, change, _lot(rng, self.mixture.inverted))
        return sample.crop, sample.text

    def _foreign(self, rng: np.random.Generator) -> RealPlate:
        """A plate without a text; its box is all that is known of most."""
        return replace(self.foreign[int(rng.integers(len(self.foreign)))], exact=True, text="")

    def _real(self, rng: np.random.Generator) -> RealPlate:
        """A plate, at times with other symbols, partly hidden or as a negative."""
        plate = self.plates[int(np.searchsorted(self.chances, rng.random() * self.chances[-1]))]
        if rng.random() < self.mixture.shuffled and can_shuffle(self.scheme, plate):
            plate = shuffle(self.scheme, plate, rng)
        if _lot(rng, self.mixture.covered) and can_cover(self.scheme, plate):
            plate = cover(self.scheme, plate, rng)
        return replace(plate, picture=negative(plate.picture, rng)) if _lot(rng, self.mixture.inverted) else plate

    def _one_of(self, schemes: Sequence[PlateScheme], rng: np.random.Generator) -> PlateScheme:
        """Choose a scheme by weight."""
        weights = np.array([self.weights.get(scheme.name, 1.0) for scheme in schemes])
        return schemes[int(rng.choice(len(schemes), p=weights / weights.sum()))]

    def _sight(self, rng: np.random.Generator, along_corners: bool) -> Sight:
        """How a plate is seen and cropped; one of two lines can only be read if it is cropped along its corners."""
        if not along_corners and not _lot(rng, self.mixture.straightened):
            return "boxed"
        if _lot(rng, self.mixture.moving):
            return "moving"
        return "far" if _lot(rng, self.mixture.far) else "near"


def _lot(rng: np.random.Generator, share: float) -> bool:
    return bool(rng.random() < share)


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
