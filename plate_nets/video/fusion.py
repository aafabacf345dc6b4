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
    ``texts``: the most texts that stay in the running.
    ``mean``: least mean log-probability of the best text a frame, and ``lead``: the least difference of its sum to that
    of the runner-up, for the text to be told.
    """

    beam_width: int = 8
    floor: float = math.log(1e-6)
    frames: int = 24
    texts: int = 24
    mean: float = -8.5
    lead: float = 10.0


@dataclass(frozen=True)
class Verdict:
    """What a track's frames say: texts with their probabilities given all frames, most probable first.

    ``mean``: log-probability of the first text, a frame; ``lead``: by how much its sum is above the runner-up's.
    ``sure``: both are above the gate's bounds.
    """

    texts: tuple[tuple[str, float], ...] = ()
    mean: float = -math.inf
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
        self.readings: list[str] = []
        """What each frame that counts reads by itself, best text of its beam; empty where it reads none."""
        self._frames: list[LogProbabilities] = []
        self._texts: list[str] = []
        self._scores = np.empty((0, 0))  # a row a frame, a column a text; log-probabilities, floored
        self._verdict: Verdict | None = None

    def __len__(self) -> int:
        return len(self._frames)

    def add(self, view: "View") -> None:
        """One more frame."""
        self._add([view.logp], [view.best], view.texts)

    def join(self, other: "Fusion") -> None:
        """All that another track's frames say."""
        self._add(other._frames, other.readings, other._texts)

    def score(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Texts -> the sum of each one's log-probabilities over the frames, each not below the floor: (K,)."""
        return np.asarray(self._score(self._frames, texts).sum(axis=0), np.float64)

    @property
    def verdict(self) -> Verdict:
        """What all frames say together."""
        if self._verdict is None:
            self._verdict = self._judge()
        return self._verdict

    def probability(self, text: str) -> float:
        """That the plate has this text rather than one of those in the running, 0..1."""
        verdict = dict(self.verdict.texts)
        if text in verdict or not self._frames:
            return verdict.get(text, 0.0)
        sums = np.append(self._scores.sum(axis=0), self.score([text]))
        return float(_softmax(sums)[-1])

    def _add(self, frames: Sequence[LogProbabilities], readings: Sequence[str], texts: Sequence[str]) -> None:
        known = set(self._texts)
        new = [text for text in texts if text not in known]
        rows = self._score(frames, self._texts)
        columns = self._score([*self._frames, *frames], new)
        self._scores = np.hstack((np.vstack((self._scores, rows)), columns))
        self._texts += new
        self._frames += frames
        self.readings += readings
        self._forget()
        self._verdict = None

    def _score(self, frames: Sequence[LogProbabilities], texts: Sequence[str]) -> NDArray[np.float64]:
        if not frames or not texts:
            return np.empty((len(frames), len(texts)))
        return np.maximum(log_probabilities(np.stack(frames), texts, self.scheme), self.settings.floor)

    def _forget(self) -> None:
        """Keep the surest frames and the likeliest texts, in the order they came."""
        if len(self._frames) > self.settings.frames:
            surest = self._scores.max(axis=1, initial=self.settings.floor)
            kept = np.sort(np.argsort(-surest, kind="stable")[: self.settings.frames])
            self._frames = [self._frames[row] for row in kept]
            self.readings = [self.readings[row] for row in kept]
            self._scores = self._scores[kept]
        if len(self._texts) > self.settings.texts:
            kept = np.sort(np.argsort(-self._scores.sum(axis=0), kind="stable")[: self.settings.texts])
            self._texts = [self._texts[column] for column in kept]
            self._scores = self._scores[:, kept]

    def _judge(self) -> Verdict:
        if not self._texts:
            return Verdict()
        settings, count = self.settings, len(self._frames)
        sums = self._scores.sum(axis=0)
        order = np.argsort(-sums, kind="stable")
        runner_up = sums[order[1]] if len(order) > 1 else settings.floor * count
        mean, lead = float(sums[order[0]] / count), float(sums[order[0]] - runner_up)
        texts = tuple(zip((self._texts[index] for index in order), _softmax(sums)[order].tolist(), strict=True))
        return Verdict(texts, mean, lead, mean >= settings.mean and lead >= settings.lead)


@dataclass(frozen=True)
class View:
    """What one frame says of a plate: log-probabilities (C, 18), and the texts of its beam, the best first."""

    logp: LogProbabilities
    texts: tuple[str, ...]
    probability: float
    """Of the best text, 0..1."""

    @property
    def best(self) -> str:
        """The best text; empty where the beam has none."""
        return self.texts[0] if self.texts else ""


def view(logits: NDArray[np.float32], scheme: PlateScheme, beam_width: int) -> View:
    """LPRNet's logits of one plate (C, 18) -> what they say."""
    logp = log_softmax(logits[None])[0]
    found = format_texts(logp, scheme, beam_width)
    texts = tuple(sorted(found, key=lambda text: -found[text]))
    return View(logp, texts, found[texts[0]] if texts else 0.0)


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
