"""The logits of a reader trained by CTC -> texts and their probabilities.

CTC: Graves et al., "Connectionist Temporal Classification", 2006. The prefix beam search: Hannun et al.,
"First-Pass Large Vocabulary Continuous Speech Recognition using Bi-Directional Recurrent DNNs", 2014.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from operator import itemgetter

import numpy as np
from numpy.typing import NDArray

from plate_nets.countries import PlateScheme
from plate_nets.countries.automaton import Rest
from plate_nets.types import STEPS, Logits

_NEGLIGIBLE = 1e-4
"""A symbol with a lower probability at a step extends no prefix, because the text could not become certain."""
_BLANK_ONLY = 30.0
"""The logit of the blank where a reader sees nothing; the others are 0."""


@dataclass(frozen=True)
class Candidate:
    """A text, with the probability of each of its characters and of the whole, 0..1."""

    text: str
    characters: tuple[float, ...]
    probability: float

    @property
    def confidence(self) -> float:
        """The lowest probability of a character; 0 for the empty text."""
        return min(self.characters, default=0.0)

    def less_certain(self, power: float) -> "Candidate":
        """The same text with each character's probability raised to a power."""
        return replace(self, characters=tuple(character**power for character in self.characters))


def nothing_seen(count: int, classes: int) -> Logits:
    """The logits (N, C, 18) of N plates of which a reader sees nothing: blanks."""
    logits = np.zeros((count, classes, STEPS), np.float32)
    logits[:, -1] = _BLANK_ONLY
    return logits


def log_softmax(logits: Logits) -> NDArray[np.float32]:
    """Logits (N, C, 18) -> log-probabilities over the classes (axis 1), same shape."""
    shifted = logits - logits.max(axis=1, keepdims=True)
    result: NDArray[np.float32] = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    return result


def best_path(logp: NDArray[np.float32], scheme: PlateScheme) -> Candidate:
    """Log-probabilities (C, 18) -> the most probable path, with repeats merged and blanks dropped."""
    path = logp.argmax(axis=0)
    peaks = logp[path, np.arange(len(path))].tolist()
    text: list[str] = []
    characters: list[float] = []
    before = scheme.blank
    for index, peak in zip(path.tolist(), peaks, strict=True):
        if index != scheme.blank:
            if index != before:
                text.append(scheme.alphabet[index])
                characters.append(math.exp(peak))
            else:
                characters[-1] = max(characters[-1], math.exp(peak))
        before = index
    return Candidate("".join(text), tuple(characters), math.exp(sum(peaks)))


def text_probability(logp: NDArray[np.float32], text: str, scheme: PlateScheme) -> float:
    """Log-probabilities (C, 18) -> the probability of a text over all paths that spell it.

    These are the forward variables of CTC (Graves et al., 2006, section 4.1).
    """
    labels = [scheme.blank]
    for character in text:
        labels += [scheme.index[character], scheme.blank]
    # A label may follow itself, the one before and, if it is a new character, the one before the blank
    skips = [i > 1 and label not in (scheme.blank, labels[i - 2]) for i, label in enumerate(labels)]
    ways = [1.0] + [0.0] * (len(labels) - 1)  # as if a blank had come before the first step
    for step in np.exp(logp.T.astype(np.float64)).tolist():
        before = [0.0, 0.0, *ways]
        ways = [
            (before[i + 2] + before[i + 1] + (before[i] if skips[i] else 0.0)) * step[label]
            for i, label in enumerate(labels)
        ]
    return float(sum(ways[-2:]))


def text_log_probabilities(logp: NDArray[np.float32], texts: Sequence[str], scheme: PlateScheme) -> NDArray[np.float64]:
    """Log-probabilities (N, C, 18) of N plates, and K texts -> log P(text given the plate): (N, K).

    It is minus infinity for a text that is too long for the steps.
    """
    labels, lengths, leaps = _labels(tuple(texts), scheme.alphabet)
    # The probability of each label at each step of each plate: (N, 18, K, 2 L + 1)
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
def _labels(texts: tuple[str, ...], alphabet: str) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.bool_]]:
    """Texts of up to L characters -> their classes for the forward variables.

    A scheme would be hashed and compared with all its countries, which takes longer than this.

    Returns:
        (K, 2 L + 1) the classes, with a blank before, between and after the characters; (K,) how many of them count;
        (K, 2 L + 1) whether the blank before a class may be skipped: if it is a symbol that differs from the previous
        one.
    """
    longest, blank = max(map(len, texts)), len(alphabet)
    labels = np.full((len(texts), 2 * longest + 1), blank, np.intp)
    for row, text in enumerate(texts):
        labels[row, 1 : 2 * len(text) : 2] = [alphabet.index(symbol) for symbol in text]
    leaps = np.zeros(labels.shape, np.bool_)
    leaps[:, 2:] = (labels[:, 2:] != blank) & (labels[:, 2:] != labels[:, :-2])
    return labels, np.array([2 * len(text) + 1 for text in texts], np.intp), leaps


_Prefix = tuple[float, float, float, str, int, Rest]
"""The beginning of a text: the probability of all its paths, of those that end in a blank, and of those that end in its
last symbol; the text; the class of its last symbol, or of the blank without any; what may follow."""


def format_texts(logp: NDArray[np.float32], scheme: PlateScheme, width: int) -> dict[str, float]:
    """Log-probabilities (C, 18) -> the texts of a beam search that fit a plate format, each with its probability."""
    steps = np.exp(logp.T.astype(np.float64))
    likely: list[list[int]] = [[] for _ in steps]
    for place, index in np.argwhere(steps[:, : scheme.blank] > _NEGLIGIBLE).tolist():
        likely[place].append(index)
    beam: list[_Prefix] = [(1.0, 1.0, 0.0, "", scheme.blank, scheme.successors.start)]
    for step, symbols in zip(steps.tolist(), likely, strict=True):
        symbols.sort(key=step.__getitem__, reverse=True)
        beam = sorted(_grown(beam, step, symbols, scheme, width), key=itemgetter(0), reverse=True)[:width]
    # A text may be so improbable that its probability is 0 as a number
    return {text: p for p, _, _, text, _, state in beam if p > 0 and () in state and scheme.is_plate(text)}


def _grown(
    beam: Sequence[_Prefix], step: Sequence[float], likely: Sequence[int], scheme: PlateScheme, width: int
) -> list[_Prefix]:
    """The prefixes of a beam, and the probability of each class at the next step -> the prefixes after this step.

    A new prefix is left out if it is less probable than all prefixes of a full beam. ``likely``: the classes of the
    symbols that may extend a prefix, most probable first.
    """
    no_symbol, before = step[scheme.blank], {prefix[3]: prefix for prefix in beam}
    grown: list[_Prefix] = []
    for both, _, symbol, text, last, state in beam:
        waits, ends = both * no_symbol, symbol * step[last]
        if last in likely and (shorter := before.get(text[:-1])):
            ends += (shorter[1] if last == shorter[4] else shorter[0]) * step[last]
        grown.append((waits + ends, waits, ends, text, last, state))
    least = min(grown)[0] if len(grown) == width else 0.0
    for both, blank, _, text, last, state in beam:
        following = scheme.successors[state]
        for index in likely:
            if both * step[index] < least:
                break
            if index in following and (longer := text + scheme.alphabet[index]) not in before:
                new = (blank if index == last else both) * step[index]
                grown.append((new, 0.0, new, longer, index, following[index]))
    return grown
