"""Fuses the frames of a track: the text that is most probable given the logits of all frames.

Each frame proposes texts, the best of its beam search that follow plate formats. Each text gets a probability from each
frame's logits, summed over all alignments: the forward algorithm of CTC (Graves et al., "Connectionist Temporal
Classification", 2006). Compared with averaging logits this needs no alignment between frames, and compared with voting
it uses the alternatives of each frame.

Frames of one car are not independent: a hundred frames of a parked car make the same errors. So frames are grouped into
looks, by the size and place of the plate. Within a look, log-probabilities are averaged, each clipped to a minimum, so
that one bad frame cannot outvote the others. Over looks they are added up, with more weight for large plates. Looks of
one car make similar errors too, though fewer, so the sum is tempered: the more looks there are, the less each counts.
Another possibility is that the plate has none of the texts. So something that is not a plate, or cannot be read, has no
probable text.
"""

import math
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from plate_nets.countries import PlateScheme
from plate_nets.recognition.ctc import format_texts, log_softmax, text_log_probabilities
from plate_nets.recognition.reader import check_sure
from plate_nets.types import Box

LogProbabilities = NDArray[np.float32]
"""Log-probabilities of each class at each step of one plate: (C, 18)."""

_READINGS = 100
"""Maximum number of different texts to count; a sign that no text fits reads differently in each frame."""


@dataclass(frozen=True)
class FusionSettings:
    """How to fuse the readings of a track, and when the result is certain.

    ``sure``: the minimum probability of a text in an event; for the first text of a car in sight it is ``early``.
    ``beam_width``: the number of texts that a frame may propose. ``texts``, ``rivals``: the maximum and minimum number
    of candidate texts. If frames propose fewer, texts that differ from the best by one symbol are added.
    ``size``, ``distance``: a frame begins a new look if its plate differs from that of every look by this much in the
    logarithm of its height, or by this many heights in its place. ``looks``: the maximum number of looks. If there are
    more, the nearest two are merged. ``views``: the maximum number of frames to keep per look.
    ``floor``: the minimum log-probability of a text in one frame. ``full_height``: from this height of a plate's box in
    pixels, a look has full weight; below it, the weight follows the plate's area.
    ``temperature``, ``tempering``: sums over looks are multiplied by ``temperature * W ** -tempering``, where W is the
    total weight of the looks. ``none``: the log-probability per look that the plate has none of the candidate texts.

    The last five are the calibration. `python -m training.calibrate_events` fits ``temperature``. The others were
    chosen with it, on drive-bys of cheap cameras (seeds 401 to 410 of `training.synthesis`) and the real clips. Without
    ``tempering``, a mark that the reader takes for a letter in every other frame becomes certain.
    """

    sure: float = 0.99
    beam_width: int = 8
    texts: int = 24
    rivals: int = 4
    size: float = 0.15
    distance: float = 3.0
    looks: int = 16
    views: int = 6
    floor: float = -6.5
    full_height: float = 11.0
    temperature: float = 1.95
    tempering: float = 0.6
    none: float = -5.0

    def __post_init__(self) -> None:
        check_sure(self.sure)

    @property
    def early(self) -> float:
        """The minimum probability of a car's first text while it is in sight: half the doubt, so that few texts are
        taken back."""
        return (1 + self.sure) / 2

    def weight(self, height: float) -> float:
        """The weight of a look with a plate of this height in pixels: by its area, up to ``full_height``."""
        return min(1.0, (height / self.full_height) ** 2)


@dataclass(frozen=True)
class Verdict:
    """The result of a track's frames: texts with their probabilities given all frames, most probable first.

    ``none``: the probability of none of them. ``looks``: the number of looks. ``sure``: whether the first text reaches
    the minimum probability.
    """

    texts: tuple[tuple[str, float], ...] = ()
    none: float = 1.0
    looks: int = 0
    sure: bool = False

    @property
    def text(self) -> str:
        return self.texts[0][0] if self.texts else ""

    @property
    def probability(self) -> float:
        return self.texts[0][1] if self.texts else 0.0


class Fusion:
    """The evidence of one track, added frame by frame. Its memory is limited, however long the track is."""

    def __init__(self, scheme: PlateScheme, settings: FusionSettings = FusionSettings()) -> None:
        self.scheme = scheme
        self.settings = settings
        self.readings: Counter[str] = Counter()
        """The number of frames that read each text on their own, as the best of their beam; empty if they read none."""
        self._looks: list[_Look] = []
        self._texts: list[str] = []
        self._verdict: Verdict | None = None

    def __len__(self) -> int:
        return self.readings.total()

    def add(self, view: "View") -> None:
        self._add(view)
        self._count(Counter((view.best,)))

    def join(self, other: "Fusion") -> None:
        for look in other._looks:
            for view in look.views:
                self._add(view)
        self._count(other.readings)

    def _count(self, readings: Counter[str]) -> None:
        self.readings.update(readings)
        if len(self.readings) > _READINGS:
            self.readings = Counter(dict(self.readings.most_common(_READINGS // 2)))

    def _add(self, view: "View") -> None:
        self._propose(view.texts)
        scores = self._score([view], self._texts)[0]
        look = min(self._looks, key=lambda look: self._difference(look.first, view), default=None)
        if look is None or self._difference(look.first, view) >= 1:
            look = _Look(view, len(self._texts))
            self._looks.append(look)
        look.add(view, scores, self.settings)
        if len(self._looks) > self.settings.looks:
            self._merge_nearest()
        if 0 < len(self._texts) < self.settings.rivals:
            self._propose(self._neighbours(self._texts[int(self._sums().argmax())]))
        self._forget_texts()
        self._verdict = None

    @property
    def verdict(self) -> Verdict:
        if self._verdict is None:
            self._verdict = self._judge()
        return self._verdict

    def probability(self, text: str) -> float:
        """The probability, 0..1, of this text rather than one of the candidates or none of them."""
        verdict = dict(self.verdict.texts)
        if text in verdict or not self._looks:
            return verdict.get(text, 0.0)
        asked = sum(float(look.estimate(self._score(look.views, [text]), self.settings)[0]) for look in self._looks)
        return float(self._probabilities(np.append(self._sums(), asked))[-2])

    def _difference(self, one: "View", other: "View") -> float:
        """The difference of two frames in size and place; 1 or more makes two looks."""
        (x, y), height = one.centre, math.sqrt(one.height * other.height)
        distance = math.hypot(x - other.centre[0], y - other.centre[1]) / height
        grown = abs(math.log(one.height / other.height))
        return max(grown / self.settings.size, distance / self.settings.distance)

    def _merge_nearest(self) -> None:
        pairs = ((one, other) for index, one in enumerate(self._looks) for other in self._looks[:index])
        one, other = min(pairs, key=lambda pair: self._difference(pair[0].first, pair[1].first))
        other.join(one, self.settings)
        self._looks.remove(one)

    def _propose(self, texts: Sequence[str]) -> None:
        new = [text for text in texts if text not in self._texts]
        if not new:
            return
        for look in self._looks:
            estimate = look.estimate(self._score(look.views, new), self.settings)
            look.means = np.append(look.means, estimate)
        self._texts += new

    def _neighbours(self, text: str) -> list[str]:
        swapped = (text[:at] + other + text[at + 1 :] for at in range(len(text)) for other in self.scheme.alphabet)
        return [other for other in swapped if other != text and self.scheme.is_plate(other)]

    def _score(self, views: Sequence["View"], texts: Sequence[str]) -> NDArray[np.float64]:
        if not views or not texts:
            return np.empty((len(views), len(texts)))
        logp = np.stack([view.logp for view in views])
        return np.maximum(text_log_probabilities(logp, texts, self.scheme), self.settings.floor)

    def _sums(self) -> NDArray[np.float64]:
        return np.asarray(sum(look.means for look in self._looks), np.float64)

    def _probabilities(self, sums: NDArray[np.float64]) -> NDArray[np.float64]:
        """Sums of K texts -> the probability of each, and of none of them: (K + 1,)."""
        settings, looks = self.settings, sum(look.weight for look in self._looks)
        heat = settings.temperature * looks**-settings.tempering
        odds = heat * np.append(sums, settings.none * looks)
        weights = np.exp(odds - odds.max())
        return np.asarray(weights / weights.sum(), np.float64)

    def _forget_texts(self) -> None:
        if len(self._texts) > self.settings.texts:
            kept = np.sort(np.argsort(-self._sums(), kind="stable")[: self.settings.texts])
            self._texts = [self._texts[column] for column in kept]
            for look in self._looks:
                look.means = look.means[kept]

    def _judge(self) -> Verdict:
        if not self._texts:
            return Verdict(looks=len(self._looks))
        *found, none = self._probabilities(self._sums()).tolist()
        texts = tuple(sorted(zip(self._texts, found, strict=True), key=lambda pair: -pair[1]))
        return Verdict(texts, none, len(self._looks), texts[0][1] >= self.settings.sure)


class _Look:
    """Frames of a plate with similar size and place.

    ``means``: for each candidate text, the mean over all frames of weight times log-probability, clipped to the
    minimum. ``weight``: the mean weight of the frames. ``views``: a random sample of the frames, which scores texts
    that are proposed later.
    """

    def __init__(self, first: "View", texts: int) -> None:
        self.first = first
        self.views: list[View] = []
        self.means = np.zeros(texts)
        self.weight = 0.0
        self._count = 0
        self._lot = random.Random(0)

    def add(self, view: "View", scores: NDArray[np.float64], settings: FusionSettings) -> None:
        weight = settings.weight(view.height)
        self._count += 1
        self.weight += (weight - self.weight) / self._count
        self.means = self.means + (weight * scores - self.means) / self._count
        place = len(self.views) if len(self.views) < settings.views else self._lot.randrange(self._count)
        if place < settings.views:  # Vitter, "Random sampling with a reservoir", 1985: algorithm R
            self.views[place : place + 1] = [view]

    def join(self, other: "_Look", settings: FusionSettings) -> None:
        count = self._count + other._count
        share = other._count / count
        self.weight += share * (other.weight - self.weight)
        self.means = self.means + share * (other.means - self.means)
        self._count = count
        views = [*self.views, *other.views]
        self.views = self._lot.sample(views, min(len(views), settings.views))

    def estimate(self, scores: NDArray[np.float64], settings: FusionSettings) -> NDArray[np.float64]:
        """Scores of texts in the kept frames (F, K) -> an estimate of their ``means``: (K,)."""
        weights = np.array([settings.weight(view.height) for view in self.views])
        return np.asarray(weights @ scores / weights.sum() * self.weight, np.float64)


@dataclass(frozen=True)
class View:
    """The evidence of one frame: log-probabilities (C, 18), and the texts of its beam search, best first."""

    logp: LogProbabilities
    texts: tuple[str, ...]
    probability: float
    """The probability of the best text, 0..1."""
    centre: tuple[float, float]
    """The centre of the plate's box, x and y in pixels."""
    height: float
    """The height of the plate's box, pixels."""

    @property
    def best(self) -> str:
        return self.texts[0] if self.texts else ""


def view(logits: NDArray[np.float32], scheme: PlateScheme, beam_width: int, box: Box, read_by: str = "") -> View:
    """A reader's logits of one plate (C, 18), and its box -> the evidence, in the alphabet of the scheme.

    ``read_by``: if the scheme joins several, the one that the plate was read with.
    """
    own = scheme.read_with(read_by)
    logp = log_softmax(logits[None, : own.classes])[0]
    found = format_texts(logp, own, beam_width)
    texts = tuple(sorted(found, key=lambda text: -found[text]))
    return View(_spread(logp, own, scheme), texts, found[texts[0]] if texts else 0.0, box.centre, max(box.height, 1.0))


def _spread(logp: LogProbabilities, reader_scheme: PlateScheme, scheme: PlateScheme) -> LogProbabilities:
    """Log-probabilities in one reader's alphabet -> in a joint alphabet, where symbols that it lacks are impossible."""
    if reader_scheme.alphabet == scheme.alphabet:
        return logp
    spread = np.full((scheme.classes, logp.shape[1]), -np.inf, np.float32)
    spread[[*(scheme.index[symbol] for symbol in reader_scheme.alphabet), scheme.blank]] = logp
    return spread
