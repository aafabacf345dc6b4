"""What the frames of a track say together: the text that is most probable given the logits of all of them.

Each frame proposes texts, the best of its beam that follow plate formats. Each text is scored on each frame by the
probability that the frame's logits give it, summed over all alignments: the forward algorithm of CTC (Graves et al.,
"Connectionist Temporal Classification", 2006). The logarithms are added up over the frames, each not below a floor, so
that one bad frame cannot outvote the others. Against averaging the logits this needs no alignment between frames,
against voting it uses what a frame is unsure of.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from plate_nets.plates import PlateScheme
from plate_nets.recognition.decoding import format_texts, log_softmax, shares

LogProbabilities = NDArray[np.float32]
"""Of each class at each step of one plate: (C, 18)."""


@dataclass(frozen=True)
class FusionSettings:
    """How the readings of a track become one, and when that is sure enough to be told.

    ``beam_width``: texts that a frame may propose.
    ``floor``: least log-probability of a text in one frame.
    ``frames``: the most frames that count; the surest are kept.
    ``texts``: the most texts that stay in the running, and ``rivals``: the least; where the frames propose fewer, those
    that differ from the best by one symbol join it, for a lead over nobody says nothing.
    ``full_height``: px of a plate's box from which on its frame counts in full; less by the plate's area below it, for
    the frames of a far plate err alike.
    ``lead``: the least difference of the best text's sum to that of the runner-up for the text to be told,
    ``lead_a_frame``: the same by the number of frames, and ``lead_alone``: how much more is asked for where no frame
    is sure of the text alone, for each unit that its highest log-probability lies below 0. Chosen on four rendered
    drive-bys (seeds 100 to 103 of `training.synthesis`, 32 cars) and the three real clips, at 5, 8 and 25 frames/s:
    any ``lead`` from 4 to 6 with ``lead_alone`` from 1 to 4 tells all tracks of cars but one or two of 91, none wrong
    at last. Signs and kerb stones lack 10 and more to be told: one that stays in sight passes any bound on the sum,
    but in no frame is its text likely.
    """

    beam_width: int = 8
    floor: float = math.log(1e-6)
    frames: int = 24
    texts: int = 24
    rivals: int = 4
    full_height: float = 14.0
    lead: float = 5.0
    lead_a_frame: float = 0.4
    lead_alone: float = 3.0

    def weight(self, height: float) -> float:
        """How much a frame counts whose plate is so high, px: by its area, up to ``full_height``."""
        return min(1.0, (height / self.full_height) ** 2)


@dataclass(frozen=True)
class Verdict:
    """What a track's frames say: texts with their probabilities given all frames, most probable first.

    ``best``: log-probability of the first text in the frame that gives it the highest; ``lead``: by how much its sum is
    above the runner-up's. ``sure``: the lead is above the gate's bound.
    """

    texts: tuple[tuple[str, float], ...] = ()
    best: float = -math.inf
    lead: float = 0.0
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
    """The evidence of one track, added frame by frame."""

    def __init__(self, scheme: PlateScheme, settings: FusionSettings = FusionSettings()) -> None:
        self.scheme = scheme
        self.settings = settings
        self._views: list[View] = []
        self._texts: list[str] = []
        self._scores = np.empty((0, 0))  # a row a frame, a column a text; log-probabilities, floored
        self._verdict: Verdict | None = None

    def __len__(self) -> int:
        return len(self._views)

    def add(self, view: "View") -> None:
        """One more frame."""
        self._add([view], view.texts)

    def join(self, other: "Fusion") -> None:
        """All that another track's frames say."""
        self._add(other._views, other._texts)

    @property
    def readings(self) -> list[str]:
        """What each frame that counts reads by itself, best text of its beam; empty where it reads none."""
        return [each.best for each in self._views]

    def score(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Texts -> the weighted sum of each one's log-probabilities over the frames, not below the floor: (K,)."""
        return self._weights() @ self._score(self._views, texts)

    @property
    def verdict(self) -> Verdict:
        """What all frames say together."""
        if self._verdict is None:
            self._verdict = self._judge()
        return self._verdict

    def probability(self, text: str) -> float:
        """That the plate has this text rather than one of those in the running, 0..1."""
        verdict = dict(self.verdict.texts)
        if text in verdict or not self._views:
            return verdict.get(text, 0.0)
        sums = np.append(self._sums(), self.score([text]))
        return float(_softmax(sums)[-1])

    def _add(self, views: Sequence["View"], texts: Sequence[str]) -> None:
        self._scores = np.vstack((self._scores, self._score(views, self._texts)))
        self._views += views
        self._propose(texts)
        if 0 < len(self._texts) < self.settings.rivals:
            self._propose(self._neighbours(self._texts[int(self._sums().argmax())]))
        self._forget()
        self._verdict = None

    def _propose(self, texts: Sequence[str]) -> None:
        new = [text for text in texts if text not in self._texts]
        self._scores = np.hstack((self._scores, self._score(self._views, new)))
        self._texts += new

    def _neighbours(self, text: str) -> list[str]:
        """The texts of the formats that differ from one by a symbol."""
        swapped = (text[:at] + other + text[at + 1 :] for at in range(len(text)) for other in self.scheme.alphabet)
        return [each for each in swapped if each != text and self.scheme.is_plate(each)]

    def _score(self, views: Sequence["View"], texts: Sequence[str]) -> NDArray[np.float64]:
        if not views or not texts:
            return np.empty((len(views), len(texts)))
        logp = np.stack([each.logp for each in views])
        return np.maximum(log_probabilities(logp, texts, self.scheme), self.settings.floor)

    def _weights(self) -> NDArray[np.float64]:
        return np.array([each.weight for each in self._views])

    def _sums(self) -> NDArray[np.float64]:
        """Of each text in the running, as `score`."""
        return self._weights() @ self._scores

    def _forget(self) -> None:
        """Keep the surest frames and the likeliest texts, in the order they came."""
        if len(self._views) > self.settings.frames:
            surest = self._weights() * (self._scores.max(axis=1, initial=self.settings.floor) - self.settings.floor)
            kept = np.sort(np.argsort(-surest, kind="stable")[: self.settings.frames])
            self._views = [self._views[row] for row in kept]
            self._scores = self._scores[kept]
        if len(self._texts) > self.settings.texts:
            kept = np.sort(np.argsort(-self._sums(), kind="stable")[: self.settings.texts])
            self._texts = [self._texts[column] for column in kept]
            self._scores = self._scores[:, kept]

    def _judge(self) -> Verdict:
        if not self._texts:
            return Verdict()
        settings, sums, count = self.settings, self._sums(), float(self._weights().sum())
        order = np.argsort(-sums, kind="stable")
        runner_up = sums[order[1]] if len(order) > 1 else settings.floor * count
        best, lead = float(self._scores[:, order[0]].max()), float(sums[order[0]] - runner_up)
        texts = tuple(zip((self._texts[index] for index in order), _softmax(sums)[order].tolist(), strict=True))
        least = max(settings.lead, settings.lead_a_frame * count) - settings.lead_alone * best
        return Verdict(texts, best, lead, lead >= least)


@dataclass(frozen=True)
class View:
    """What one frame says of a plate: log-probabilities (C, 18), and the texts of its beam, the best first."""

    logp: LogProbabilities
    texts: tuple[str, ...]
    probability: float
    """Of the best text, 0..1."""
    weight: float = 1.0
    """How much the frame counts, 0..1."""

    @property
    def best(self) -> str:
        """The best text; empty where the beam has none."""
        return self.texts[0] if self.texts else ""


def view(logits: NDArray[np.float32], scheme: PlateScheme, beam_width: int, weight: float = 1.0) -> View:
    """LPRNet's logits of one plate (C, 18) -> what they say."""
    logp = log_softmax(logits[None])[0]
    found = format_texts(logp, scheme, beam_width)
    texts = tuple(sorted(found, key=lambda text: -found[text]))
    return View(logp, texts, found[texts[0]] if texts else 0.0, weight)


def log_probabilities(logp: NDArray[np.float32], texts: Sequence[str], scheme: PlateScheme) -> NDArray[np.float64]:
    """Log-probabilities (N, C, 18) of N plates and K texts -> log P(text given the plate): (N, K).

    A text that the steps are too few for has minus infinity.
    """
    labels, lengths, leaps = _labels(tuple(texts), scheme)
    # of each plate and step, the probability of each label: (N, 18, K, 2 L + 1)
    steps = np.exp(logp.astype(np.float64)).transpose(0, 2, 1)[:, :, labels]
    forward = np.zeros((len(logp), *labels.shape))
    forward[:, :, 0] = steps[:, 0, :, 0]
    forward[:, :, 1] = steps[:, 0, :, 1]
    for step in range(1, steps.shape[1]):
        reached = forward.copy()
        reached[:, :, 1:] += forward[:, :, :-1]
        reached[:, :, 2:] += forward[:, :, :-2] * leaps[:, 2:]
        forward = reached * steps[:, step]
    rows = np.arange(len(texts))
    total = forward[:, rows, lengths - 1] + forward[:, rows, lengths - 2]
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(total), np.float64)


@lru_cache(maxsize=256)
def _labels(
    texts: tuple[str, ...], scheme: PlateScheme
) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.bool_]]:
    """Texts -> classes with a blank before, between and after (K, 2 L + 1), how many count, and where a blank may be
    left out: before a symbol that differs from the last."""
    longest = max(map(len, texts))
    labels = np.full((len(texts), 2 * longest + 1), scheme.blank, np.intp)
    for row, text in enumerate(texts):
        labels[row, 1 : 2 * len(text) : 2] = [scheme.index[symbol] for symbol in text]
    leaps = np.zeros(labels.shape, np.bool_)
    leaps[:, 2:] = (labels[:, 2:] != scheme.blank) & (labels[:, 2:] != labels[:, :-2])
    return labels, np.array([2 * len(text) + 1 for text in texts], np.intp), leaps


def _softmax(sums: NDArray[np.float64]) -> NDArray[np.float64]:
    weights = np.exp(sums - sums.max())
    return np.asarray(weights / weights.sum(), np.float64)
