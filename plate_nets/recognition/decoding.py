"""CTC logits -> what a plate says, with a probability for each character.

The best path (Graves et al., 2006) is read first. Where it fits no plate format or is not sure, a prefix beam search
(Hannun et al., "First-Pass Large Vocabulary Continuous Speech Recognition using Bi-Directional Recurrent DNNs", 2014)
that only follows plate formats looks for a better reading: so the position decides between `8` and `B`, `0` and `O`.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import repeat

import numpy as np
from numpy.typing import NDArray

from plate_nets.errors import ContractError
from plate_nets.plates import PlateScheme
from plate_nets.recognition.appearance import LEAST_FAVOUR, Appearance, Favour
from plate_nets.types import STEPS, Lines, Logits, Reading

_NEGLIGIBLE = 1e-4
"""A symbol less probable than this at a step starts no prefix: it could not become sure."""
_LEAST_LOG = -30.0
"""Log-probability of a text in one look, at least: one look rules it out, and need not do more."""


@dataclass(frozen=True)
class DecodingSettings:
    """When a reading is sure enough to be given as text.

    ``sure``: the least confidence, 0..1, of the least sure character. On ru_dev, boxes detected, 0.956, 0.951 and 0.941
    of the plates get a text at 0.6, 0.8 and 0.9; 4, 3 and 3 of these differ from the label, and two labels are wrong.
    ``floor``: the least probability, 0..1, of the whole text; below it the format would be what speaks, not the plate.
    A guess, not measured.
    ``certain``: where the best path's text is at least this probable, over all its paths, too little is left for any
    other to be looked for. What is left, such as that of one more symbol at the end, lowers no confidence.
    ``beam_width``: prefixes kept a step.
    ``again_from``, ``again_below``: a plate whose confidence lies between is looked at again, see `second_look`;
    ``again_under``: so is every plate whose lines are lower than this, px.
    ``doubt``: where several looks leave all texts that fit a format a probability of p together, each character has p
    to the power of this times its share among them. Looks that disagree make p small, and so does a hidden digit. Of
    ru_dev in JPEG 40 at 12 px 0.987 of the sure texts are right without doubt (0), 0.993 with 0.75
    (`plates evaluate --degrade`).
    ``least_height``: each px that a line is lower than this multiplies the confidence by itself once more: of plates of
    7 px in JPEG 90 0.95 of the sure texts are right without, 0.96 with it, of those of 8 px 0.98 and all.
    """

    sure: float = 0.8
    floor: float = 0.1
    certain: float = 0.95
    beam_width: int = 8
    again_from: float = 0.05
    again_below: float = 0.95
    again_under: float = 12.0
    doubt: float = 0.75
    least_height: float = 9.0


@dataclass(frozen=True)
class Candidate:
    """A text with the probability of each of its characters and of the whole, 0..1."""

    text: str
    characters: tuple[float, ...]
    probability: float

    @property
    def confidence(self) -> float:
        """The least sure character; 0 for the empty text."""
        return min(self.characters, default=0.0)


class PlateDecoder:
    """Logits (N, C, 18) of a scheme of C classes -> one `Reading` a plate."""

    def __init__(self, scheme: PlateScheme, settings: DecodingSettings = DecodingSettings()) -> None:
        self.scheme = scheme
        self.settings = settings

    def decode(
        self, logits: Logits, lines: Lines | None = None, looks: Sequence[Appearance] | None = None
    ) -> list[Reading]:
        """Logits (N, C, 18), N of 0 or more -> readings in the same order.

        ``lines``: of each plate; without it each has one. Only formats of so many lines are read. ``looks``: of each
        plate, what it looks like: it speaks for texts of such plates, and makes none surer.
        It never invents: where no reading that fits a format is sure, ``text`` is empty and ``best`` is the best path.

        Raises:
            ContractError: the logits have another number of classes than the scheme.
        """
        if logits.shape[1:] != (self.scheme.classes, STEPS):
            raise ContractError(
                f"logits: expected (N, {self.scheme.classes}, {STEPS}) for the scheme {self.scheme.name}, "
                f"got {logits.shape}; is the reader's network of another scheme?"
            )
        counts = np.ones(len(logits), np.intp) if lines is None else lines
        return [
            self._decode_one(logp, self.scheme.by_lines[int(count)], look)
            for logp, count, look in zip(log_softmax(logits), counts, looks or repeat(None, len(logits)), strict=True)
        ]

    def _decode_one(self, logp: NDArray[np.float32], scheme: PlateScheme, look: Appearance | None) -> Reading:
        best = best_path(logp, scheme)
        if not best.text:
            return _reading(best, scheme, sure=False)
        chosen: Candidate | None = best
        if not scheme.is_plate(best.text) or not self._certain(best, logp, scheme):
            texts = format_texts(logp, scheme, self.settings.beam_width)
            chosen = most_probable(texts, favour=_favour(look, scheme))
        if chosen is None or chosen.probability < self.settings.floor:
            return _reading(best, scheme, sure=False)
        return _reading(chosen, scheme, sure=chosen.confidence >= self.settings.sure)

    def decode_looks(self, logits: Logits, lines: int = 1, look: Appearance | None = None) -> Reading:
        """The logits (V, C, 18) of V looks at one plate, the first as it is -> what they say together.

        Each look proposes texts; a text's probability is the geometric mean over the looks, so one that a look all but
        rules out has none, and looks that disagree leave little to any. ``look``: what the plate looks like, as in
        `decode`.
        """
        scheme, settings = self.scheme.by_lines[lines], self.settings
        logp = log_softmax(logits)
        texts = list(dict.fromkeys(text for look in logp for text in format_texts(look, scheme, settings.beam_width)))
        if not texts:
            return _reading(best_path(logp[0], scheme), scheme, sure=False)
        means = np.maximum(text_log_probabilities(logp, texts, scheme), _LEAST_LOG).mean(axis=0)
        probabilities = dict(zip(texts, np.exp(means).tolist(), strict=True))
        chosen = most_probable(probabilities, settings.doubt, _favour(look, scheme))
        assert chosen is not None, "there are texts"
        return _reading(chosen, scheme, sure=chosen.confidence >= settings.sure)

    def _certain(self, best: Candidate, logp: NDArray[np.float32], scheme: PlateScheme) -> bool:
        """Whether the best path's text leaves too little for any other; its path alone is a lower bound of that."""
        certain = self.settings.certain
        return best.probability >= certain or text_probability(logp, best.text, scheme) >= certain


def _favour(look: Appearance | None, scheme: PlateScheme) -> Favour | None:
    return None if look is None else partial(look.favour, scheme)


def at_height(reading: Reading, height: float, settings: DecodingSettings) -> Reading:
    """A reading of a plate whose lines are so high, px -> the same, less sure where they are lower than the least."""
    below = settings.least_height - height
    if below <= 0:
        return reading
    characters = tuple(character ** (1 + below) for character in reading.characters)
    less = replace(reading, confidence=reading.confidence ** (1 + below), characters=characters)
    return less if less.confidence >= settings.sure else replace(less, text="", format="", schemes=())


def _reading(best: Candidate, scheme: PlateScheme, sure: bool) -> Reading:
    text = best.text if sure else ""
    owners = scheme.owners(best.text) or scheme.members or (scheme,)
    names = tuple(each.name for each in owners) if text and scheme.members else ()
    return Reading(
        text, best.text, best.confidence, best.characters, owners[0].format_names(text), owners[0].name, names
    )


def log_softmax(logits: Logits) -> NDArray[np.float32]:
    """Logits (N, C, 18) -> log-probabilities over the classes (axis 1), same shape."""
    shifted = logits - logits.max(axis=1, keepdims=True)
    result: NDArray[np.float32] = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    return result


def best_path(logp: NDArray[np.float32], scheme: PlateScheme) -> Candidate:
    """Log-probabilities (C, 18) -> the most probable path with repeats merged and blanks dropped.

    A character's probability is the highest among the steps of its run.
    """
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
    """Log-probabilities (C, 18) -> the probability of a text, over all paths that spell it.

    The forward variables of CTC (Graves et al., 2006, section 4.1).
    """
    labels = [scheme.blank]
    for character in text:
        labels += [scheme.index[character], scheme.blank]
    # What may come before a label: itself, the one before and, past a blank, another character
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


def most_probable(plates: Mapping[str, float], doubt: float = 0.0, favour: Favour | None = None) -> Candidate | None:
    """Texts that fit a plate format, with the probability of each among all texts -> the most probable, or None.

    A character's probability is its share among these texts, for the position has spoken already, times what they have
    together to the power of ``doubt``: the rest says that it is no plate, or that not all of it is seen. ``favour``:
    what else speaks for a text, in the choice alone.
    """
    if not plates:
        return None
    text = max(plates, key=plates.__getitem__)
    if favour:
        # The rest cannot make up for it
        near = [each for each in plates if plates[each] >= LEAST_FAVOUR * plates[text]]
        text = max(near, key=lambda each: plates[each] * favour(each)) if len(near) > 1 else text
    trust = min(1.0, sum(plates.values())) ** doubt
    return Candidate(text, tuple(trust * share for share in shares(text, plates)), plates[text])


def shares(text: str, plates: Mapping[str, float]) -> tuple[float, ...]:
    """A text among texts with probabilities -> of each of its characters the share of those that have it there too.

    A text of another length speaks for none of them.
    """
    total = sum(plates.values())
    return tuple(
        sum(p for other, p in plates.items() if len(other) == len(text) and other[i] == text[i]) / total
        for i in range(len(text))
    )


def format_texts(logp: NDArray[np.float32], scheme: PlateScheme, width: int) -> dict[str, float]:
    """Log-probabilities (C, 18) -> the texts of a beam that fit a plate format, with the probability of each."""
    # prefix -> [probability of the paths that end in a blank, of those that end in its last symbol]
    beam: dict[str, list[float]] = {"": [1.0, 0.0]}
    states = {"": scheme.successors.start}
    for step in np.exp(logp.T.astype(np.float64)).tolist():
        grown: dict[str, list[float]] = {}
        for prefix, (blank, symbol) in beam.items():
            both = blank + symbol
            kept = grown.setdefault(prefix, [0.0, 0.0])
            kept[0] += both * step[scheme.blank]
            last = scheme.index[prefix[-1]] if prefix else scheme.blank
            if prefix:
                kept[1] += symbol * step[last]
            for index, state in scheme.successors[states[prefix]]:
                if step[index] > _NEGLIGIBLE:
                    text = prefix + scheme.alphabet[index]
                    states[text] = state
                    longer = grown.setdefault(text, [0.0, 0.0])
                    longer[1] += (blank if index == last else both) * step[index]
        ranked = sorted(grown.items(), key=lambda item: -sum(item[1]))
        beam = dict(ranked[:width])
    return {text: sum(ways) for text, ways in beam.items() if scheme.is_plate(text)}
