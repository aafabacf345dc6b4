"""What the frames of a track say together: the text that is most probable given the logits of all of them.

Each frame proposes texts, the best of its beam that follow plate formats. Each text is scored on each frame by the
probability that the frame's logits give it, summed over all alignments: the forward algorithm of CTC (Graves et al.,
"Connectionist Temporal Classification", 2006). Against averaging the logits this needs no alignment between frames,
against voting it uses what a frame is unsure of.

Frames of one car are not independent: a hundred frames of a car that stands err alike. So frames are sorted into
looks, by the size and the place of the plate. Within a look logarithms of probabilities are averaged, each not below a
floor, so that one bad frame cannot outvote the others; over looks they are added up, a large plate counting more than a
small one. Looks of one car err alike too, only less: the sum is tempered, the more so the more looks there are. That a
plate has none of the texts is one of the possibilities, so what is no plate, or cannot be read, has no probable text.
"""

import math
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from plate_nets.plates import PlateScheme
from plate_nets.recognition.decoding import format_texts, log_softmax, shares, text_log_probabilities
from plate_nets.recognition.reader import check_sure
from plate_nets.types import Box

LogProbabilities = NDArray[np.float32]
"""Of each class at each step of one plate: (C, 18)."""

_READINGS = 100
"""Different texts of frames that are counted at most; a sign that no text fits is read anew in each."""


@dataclass(frozen=True)
class FusionSettings:
    """How the readings of a track become one, and from which probability on it is sure.

    ``sure``: the least probability of a text for it to be told.
    ``beam_width``: texts that a frame may propose; ``texts``: the most that stay in the running, and ``rivals``: the
    least; where the frames propose fewer, those that differ from the best by one symbol join it.
    ``size``, ``way``: a frame whose plate differs from that of every look by so much of its height's logarithm, or by
    so many heights of its place, is a new look. ``looks``: the most that are kept, the nearest two become one then;
    ``views``: the most frames that a look keeps.
    ``floor``: least log-probability of a text in one frame. ``full_height``: px of a plate's box from which on a look
    counts in full, by the plate's area below it.
    ``temperature``, ``tempering``: the sums over looks are multiplied by ``temperature * W ** -tempering``, where W is
    how many looks there are, by their weights. ``none``: the log-probability in a look of a text that is not among
    those in the running.

    The last five are the calibration. ``temperature`` is the one that `python -m training.calibrate_events` fits; the
    others were chosen with it, on drive-bys of cheap cameras (seeds 401 to 410 of `training.synthesis`) and the real
    clips: without ``tempering`` a mark that the reader takes for a letter in every other frame becomes certain.
    """

    sure: float = 0.99
    beam_width: int = 8
    texts: int = 24
    rivals: int = 4
    size: float = 0.15
    way: float = 3.0
    looks: int = 16
    views: int = 6
    floor: float = -6.5
    full_height: float = 11.0
    temperature: float = 1.5
    tempering: float = 0.6
    none: float = -5.0

    def __post_init__(self) -> None:
        check_sure(self.sure)

    def weight(self, height: float) -> float:
        """How much a look counts whose plate is so high, px: by its area, up to ``full_height``."""
        return min(1.0, (height / self.full_height) ** 2)


@dataclass(frozen=True)
class Verdict:
    """What a track's frames say: texts with their probabilities given all frames, most probable first.

    ``none``: the probability that it is none of them. ``looks``: how many there are. ``sure``: the first text is as
    probable as the gate asks for.
    """

    texts: tuple[tuple[str, float], ...] = ()
    none: float = 1.0
    looks: int = 0
    sure: bool = False

    @property
    def text(self) -> str:
        """The most probable text; empty where no frame proposed any."""
        return self.texts[0][0] if self.texts else ""

    @property
    def probability(self) -> float:
        """Of ``text``, 0..1."""
        return self.texts[0][1] if self.texts else 0.0

    def characters(self) -> tuple[float, ...]:
        """The probability of each character of ``text``, 0..1."""
        return shares(self.text, dict(self.texts)) if self.texts else ()


class Fusion:
    """The evidence of one track, added frame by frame. What it keeps is bounded, however long the track is."""

    def __init__(self, scheme: PlateScheme, settings: FusionSettings = FusionSettings()) -> None:
        self.scheme = scheme
        self.settings = settings
        self.readings: Counter[str] = Counter()
        """How many frames read which text by themselves, best of their beam; empty where they read none."""
        self._looks: list[_Look] = []
        self._texts: list[str] = []
        self._verdict: Verdict | None = None

    def __len__(self) -> int:
        """Frames that were added."""
        return self.readings.total()

    def add(self, view: "View") -> None:
        """One more frame."""
        self._add(view)
        self._count(Counter((view.best,)))

    def join(self, other: "Fusion") -> None:
        """All that another track's frames say."""
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
        look = min(self._looks, key=lambda each: self._difference(each.first, view), default=None)
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
        """What all frames say together."""
        if self._verdict is None:
            self._verdict = self._judge()
        return self._verdict

    def probability(self, text: str) -> float:
        """That the plate has this text rather than one of those in the running or none of them, 0..1."""
        verdict = dict(self.verdict.texts)
        if text in verdict or not self._looks:
            return verdict.get(text, 0.0)
        asked = sum(float(look.estimate(self._score(look.views, [text]), self.settings)[0]) for look in self._looks)
        return float(self._probabilities(np.append(self._sums(), asked))[-2])

    def _difference(self, one: "View", other: "View") -> float:
        """Of two frames by size and place; from 1 on they are two looks."""
        (x, y), height = one.centre, math.sqrt(one.height * other.height)
        way = math.hypot(x - other.centre[0], y - other.centre[1]) / height
        grown = abs(math.log(one.height / other.height))
        return max(grown / self.settings.size, way / self.settings.way)

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
        """The texts of the formats that differ from one by a symbol."""
        swapped = (text[:at] + other + text[at + 1 :] for at in range(len(text)) for other in self.scheme.alphabet)
        return [each for each in swapped if each != text and self.scheme.is_plate(each)]

    def _score(self, views: Sequence["View"], texts: Sequence[str]) -> NDArray[np.float64]:
        if not views or not texts:
            return np.empty((len(views), len(texts)))
        logp = np.stack([each.logp for each in views])
        return np.maximum(text_log_probabilities(logp, texts, self.scheme), self.settings.floor)

    def _sums(self) -> NDArray[np.float64]:
        """Of each text in the running: the means of the looks, added up."""
        return np.asarray(sum(look.means for look in self._looks), np.float64)

    def _probabilities(self, sums: NDArray[np.float64]) -> NDArray[np.float64]:
        """Sums of K texts -> the probability of each, and that it is none of them: (K + 1,)."""
        settings, looks = self.settings, sum(look.weight for look in self._looks)
        heat = settings.temperature * looks**-settings.tempering
        odds = heat * np.append(sums, settings.none * looks)
        weights = np.exp(odds - odds.max())
        return np.asarray(weights / weights.sum(), np.float64)

    def _forget_texts(self) -> None:
        """Keep the likeliest texts, in the order they came."""
        if len(self._texts) > self.settings.texts:
            kept = np.sort(np.argsort(-self._sums(), kind="stable")[: self.settings.texts])
            self._texts = [self._texts[column] for column in kept]
            for look in self._looks:
                look.means = look.means[kept]

    def _judge(self) -> Verdict:
        if not self._texts:
            return Verdict(looks=len(self._looks))
        *found, none = self._probabilities(self._sums()).tolist()
        texts = tuple(sorted(zip(self._texts, found, strict=True), key=lambda each: -each[1]))
        return Verdict(texts, none, len(self._looks), texts[0][1] >= self.settings.sure)


class _Look:
    """Frames of a plate at one size and place.

    ``means``: of each text in the running, the mean over all its frames of weight times log-probability, floored;
    ``weight``: the mean of the frames' weights. ``views``: some of the frames, drawn by lot, however sure they are: by
    them texts are scored that are proposed later.
    """

    def __init__(self, first: "View", texts: int) -> None:
        self.first = first
        self.views: list[View] = []
        self.means = np.zeros(texts)
        self.weight = 0.0
        self._count = 0
        self._lot = random.Random(0)

    def add(self, view: "View", scores: NDArray[np.float64], settings: FusionSettings) -> None:
        """One more frame, and how it scores the texts in the running."""
        weight = settings.weight(view.height)
        self._count += 1
        self.weight += (weight - self.weight) / self._count
        self.means = self.means + (weight * scores - self.means) / self._count
        place = len(self.views) if len(self.views) < settings.views else self._lot.randrange(self._count)
        if place < settings.views:  # Vitter, "Random sampling with a reservoir", 1985: algorithm R
            self.views[place : place + 1] = [view]

    def join(self, other: "_Look", settings: FusionSettings) -> None:
        """Another look's frames."""
        count = self._count + other._count
        share = other._count / count
        self.weight += share * (other.weight - self.weight)
        self.means = self.means + share * (other.means - self.means)
        self._count = count
        views = [*self.views, *other.views]
        self.views = self._lot.sample(views, min(len(views), settings.views))

    def estimate(self, scores: NDArray[np.float64], settings: FusionSettings) -> NDArray[np.float64]:
        """How the kept frames score texts (F, K) -> about what ``means`` would be of them: (K,)."""
        weights = np.array([settings.weight(view.height) for view in self.views])
        return np.asarray(weights @ scores / weights.sum() * self.weight, np.float64)


@dataclass(frozen=True)
class View:
    """What one frame says of a plate: log-probabilities (C, 18), and the texts of its beam, the best first."""

    logp: LogProbabilities
    texts: tuple[str, ...]
    probability: float
    """Of the best text, 0..1."""
    centre: tuple[float, float]
    """Of the plate's box, x and y in px."""
    height: float
    """Of the plate's box, px."""

    @property
    def best(self) -> str:
        """The best text; empty where the beam has none."""
        return self.texts[0] if self.texts else ""


def view(logits: NDArray[np.float32], scheme: PlateScheme, beam_width: int, box: Box, read_by: str = "") -> View:
    """A reader's logits of one plate (C, 18) and where it is -> what they say, in the alphabet of the scheme.

    ``read_by``: where the scheme joins several, the one that the plate was read by.
    """
    own = scheme.read_with(read_by)
    logp = log_softmax(logits[None, : own.classes])[0]
    found = format_texts(logp, own, beam_width)
    texts = tuple(sorted(found, key=lambda text: -found[text]))
    centre = ((box.xmin + box.xmax) / 2, (box.ymin + box.ymax) / 2)
    return View(_spread(logp, own, scheme), texts, found[texts[0]] if texts else 0.0, centre, max(box.height, 1.0))


def _spread(logp: LogProbabilities, own: PlateScheme, scheme: PlateScheme) -> LogProbabilities:
    """Log-probabilities in the alphabet of one reader -> in that of several: it rules out symbols that it lacks."""
    if own.alphabet == scheme.alphabet:
        return logp
    spread = np.full((scheme.classes, logp.shape[1]), -np.inf, np.float32)
    spread[[*(scheme.index[symbol] for symbol in own.alphabet), scheme.blank]] = logp
    return spread
