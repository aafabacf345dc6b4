"""What a reader saw of a plate -> its text, with a probability for each character.

The best path comes first. If it fits no plate format or is not certain, a beam search that only follows plate formats
looks for a better text, see `recognition.ctc`. So the position decides between `8` and `B`, `0` and `O`.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import repeat

import numpy as np
from numpy.typing import NDArray

from plate_nets.common.errors import ContractError
from plate_nets.countries import PlateScheme, designs
from plate_nets.countries.scheme import UNKNOWN
from plate_nets.recognition.appearance import LEAST_FAVOUR, Appearance, Favour
from plate_nets.recognition.ctc import (
    Candidate,
    best_path,
    format_texts,
    log_softmax,
    text_log_probabilities,
    text_probability,
)
from plate_nets.types import STEPS, Lines, Logits, Reading

DOUBTED = 0.5
"""The maximum confidence if a symbol may be missing, see `quads.doubtful` and `Appearance.contradicts`: too low for a
text."""
_LEAST_LOG = -30.0
"""The lowest log-probability of a text in one look: enough to rule it out."""
_LOPSIDED = 7
"""By how many of the 18 steps the margins beside a text may differ: by up to 6 in 1,019 readings that are right, and by
10 and more in those that lack a part of the plate, such as "9239" for an Indian "MH14 GN 9239"."""


@dataclass(frozen=True)
class DecodingSettings:
    """When a reading is certain enough to be returned as text.

    ``sure``: the minimum probability of the least certain character, 0..1. On ru_dev, with detected boxes, 0.956, 0.951
    and 0.941 of the plates get a text at 0.6, 0.8 and 0.9; 4, 3 and 3 of these differ from the label, and two labels
    are wrong.
    ``floor``: the minimum probability of the whole text, 0..1. Below it, the text would come from the format and not
    from the plate: read as a US plate, A123BC77 became A123B77. 4 of 1,954 right texts of the sets in shared are lost
    with 0.3 instead of 0.1, and 12 with 0.4.
    ``certain``: if the text of the best path has at least this probability over all its paths, no other text is
    searched for. What is left, such as the probability of one more symbol at the end, does not lower the confidence.
    ``beam_width``: the number of prefixes kept at each step.
    ``again_from``, ``again_below``: a plate with a confidence between the two gets a second look, see `looking`.
    If ``again_below`` is 0, plates without a text are not read from their upright crops either.
    ``again_under``: a plate whose lines are lower than this, in pixels, always gets a second look.
    ``doubt``: if all texts that fit a format have the probability p together over several looks, the probability of
    each character is its share among them, multiplied by p to the power of ``doubt``. Looks that disagree make p small,
    and so does a hidden digit. On ru_dev at JPEG quality 40 and 12 px high, 0.987 of the texts are right with 0, and
    0.993 with 0.75 (`plates evaluate --degrade`).
    ``free``: the characters of a text are raised to this power if no format says where it has letters and where digits,
    such as that of personal plates: nothing else decides between `8` and `B`. `P356R6H` for P356RGH gets no text then,
    and some 7 of 1,060 right texts of the foreign sets in shared are lost.
    ``least_height``: the confidence is raised to the power of 1 plus the number of pixels that a line is lower than
    this. At JPEG quality 90, 0.95 of the texts of plates of 7 px are right without it and 0.96 with it; of plates
    of 8 px, 0.98 without it and all with it.
    """

    sure: float = 0.8
    floor: float = 0.3
    certain: float = 0.95
    beam_width: int = 8
    again_from: float = 0.05
    again_below: float = 0.95
    again_under: float = 12.0
    doubt: float = 0.75
    free: float = 2.0
    least_height: float = 9.0


@dataclass(frozen=True)
class Look:
    """What a reader saw in one look at a plate. Searches for plates of different schemes share it.

    ``logp``: log-probabilities (C, 18). ``scheme``: any with the reader's alphabet.
    """

    logp: NDArray[np.float32]
    scheme: PlateScheme

    @cached_property
    def best(self) -> Candidate:
        """The best path."""
        return best_path(self.logp, self.scheme)

    @property
    def sees_unknown(self) -> bool:
        """Whether there is a sign that the reader does not know; the rest of the plate is then no text of it."""
        return UNKNOWN in self.best.text

    @property
    def sees_all(self) -> bool:
        """Whether a text may be told: there is one, all its signs are known, and none of its sides was left out."""
        return bool(self.best.text) and not self.sees_unknown and not self._is_lopsided

    @property
    def _is_lopsided(self) -> bool:
        (symbols,) = np.nonzero(self.logp.argmax(axis=0) != self.scheme.blank)
        return abs(int(symbols[0]) - (STEPS - 1 - int(symbols[-1]))) > _LOPSIDED

    def is_certain(self, certain: float) -> bool:
        """Whether the text of the best path has at least this probability. That of the path is a lower bound."""
        return self.best.probability >= certain or self._probability >= certain

    def forces(self, text: Candidate) -> bool:
        """Whether a text has more or fewer signs than were seen, and is less probable than those."""
        return len(text.text) != len(self.best.text) and text.probability < self._probability

    @cached_property
    def _probability(self) -> float:
        return text_probability(self.logp, self.best.text, self.scheme)


class PlateDecoder:
    """Logits (N, C, 18) of a scheme with C classes -> one `Reading` per plate."""

    def __init__(self, scheme: PlateScheme, settings: DecodingSettings = DecodingSettings()) -> None:
        self.scheme = scheme
        self.settings = settings

    def decode(
        self, logits: Logits, lines: Lines | None = None, appearances: Sequence[Appearance] | None = None
    ) -> list[Reading]:
        """Logits (N, C, 18), N of 0 or more -> readings in the same order.

        If no text that fits a format is certain, ``text`` is empty and ``best`` is the best path.

        Args:
            logits: (N, C, 18).
            lines: the number of lines of each plate, 1 by default; only formats with as many lines are tried.
            appearances: the appearance of each plate. It influences the choice of a text, but not its confidence.

        Raises:
            ContractError: the number of classes is not that of the scheme.
        """
        return self.read(self.look(logits), lines, appearances)

    def look(self, logits: Logits) -> list[Look]:
        """Logits (N, C, 18) -> the looks for `read` and `read_together`; other schemes of the same reader share them.

        Raises:
            ContractError: the number of classes is not that of the scheme.
        """
        if logits.shape[1:] != (self.scheme.classes, STEPS):
            raise ContractError(
                f"logits: expected (N, {self.scheme.classes}, {STEPS}) for the scheme {self.scheme.name}, "
                f"got {logits.shape}; is the reader's network of another scheme?"
            )
        return [Look(logp, self.scheme) for logp in log_softmax(logits)]

    def read(
        self, looks: Sequence[Look], lines: Lines | None = None, appearances: Sequence[Appearance] | None = None
    ) -> list[Reading]:
        """One look at each of N plates -> readings; see `decode`."""
        counts = np.ones(len(looks), np.intp) if lines is None else lines
        rows = zip(looks, counts, appearances or repeat(None, len(looks)), strict=True)
        return [self._read_one(look, self.scheme.by_lines[int(count)], appearance) for look, count, appearance in rows]

    def _read_one(self, look: Look, scheme: PlateScheme, appearance: Appearance | None) -> Reading:
        best = look.best
        if not look.sees_all:
            return _reading(best, scheme, sure=False)
        if self._is_decided(look, scheme):
            return self._judged(best, scheme)
        texts = format_texts(look.logp, scheme, self.settings.beam_width)
        chosen = most_probable(texts, favour=_favour(appearance, scheme))
        if chosen is None or chosen.probability < self.settings.floor or look.forces(chosen):
            return _reading(best, scheme, sure=False)
        return self._judged(chosen, scheme)

    def _judged(self, chosen: Candidate, scheme: PlateScheme) -> Reading:
        """A text that fits a format -> its reading, sure or not."""
        if not scheme.is_telling(chosen.text):
            chosen = chosen.less_certain(self.settings.free)
        return _reading(chosen, scheme, sure=chosen.confidence >= self.settings.sure)

    def read_together(self, looks: Sequence[Look], lines: int = 1, appearance: Appearance | None = None) -> Reading:
        """Several looks at one plate, the first one unchanged -> one reading.

        Each look proposes texts. The probability of a text is its geometric mean over the looks: a text that one look
        rules out gets almost none, and looks that disagree leave little to any text. ``appearance``: as in `decode`.
        """
        scheme, settings = self.scheme.by_lines[lines], self.settings
        texts = list(dict.fromkeys(text for look in looks for text in self._texts(look, scheme)))
        if incomplete := next((look.best for look in looks if look.best.text and not look.sees_all), None):
            return _reading(incomplete, scheme, sure=False)
        if not texts:
            return _reading(looks[0].best, scheme, sure=False)
        logp = np.stack([look.logp for look in looks])
        means = np.maximum(text_log_probabilities(logp, texts, scheme), _LEAST_LOG).mean(axis=0)
        probabilities = dict(zip(texts, np.exp(means).tolist(), strict=True))
        chosen = most_probable(probabilities, settings.doubt, _favour(appearance, scheme))
        assert chosen is not None, "there are texts"
        return self._judged(chosen, scheme)

    def _texts(self, look: Look, scheme: PlateScheme) -> Collection[str]:
        """The texts that a look proposes."""
        if look.best.text and self._is_decided(look, scheme):
            return (look.best.text,)
        return format_texts(look.logp, scheme, self.settings.beam_width)

    def _is_decided(self, look: Look, scheme: PlateScheme) -> bool:
        """Whether the best path fits a format and leaves too little probability for other texts."""
        return scheme.is_plate(look.best.text) and look.is_certain(self.settings.certain)


def _favour(appearance: Appearance | None, scheme: PlateScheme) -> Favour | None:
    return None if appearance is None else partial(appearance.favour, scheme)


def at_height(reading: Reading, height: float, settings: DecodingSettings) -> Reading:
    """A reading of a plate with lines of this height in pixels -> the same, less certain below ``least_height``."""
    below = settings.least_height - height
    if below <= 0:
        return reading
    characters = tuple(character ** (1 + below) for character in reading.characters)
    lowered = replace(reading, confidence=reading.confidence ** (1 + below), characters=characters)
    return lowered if lowered.confidence >= settings.sure else replace(lowered, text="", format="", schemes=())


def unsure(reading: Reading) -> Reading:
    """The same reading without a text, and with a confidence of at most `DOUBTED`."""
    known = replace(reading, country=designs.UNKNOWN, country_confidence=0.0) if reading.country else reading
    return replace(known, text="", format="", schemes=(), confidence=min(reading.confidence, DOUBTED))


def _reading(best: Candidate, scheme: PlateScheme, sure: bool) -> Reading:
    """The symbols of a plate from left to right -> its reading, in the order of the text."""
    owners = scheme.owners(best.text) or scheme.members or (scheme,)
    arranged = owners[0].arranged(best.text, best.characters)
    written = "".join(character for character, _ in arranged)
    text = written if sure else ""
    names = tuple(owner.name for owner in owners) if text and scheme.members else ()
    return Reading(
        text,
        written,
        best.confidence,
        tuple(probability for _, probability in arranged),
        owners[0].format_names(text),
        owners[0].name,
        names,
    )


def most_probable(plates: Mapping[str, float], doubt: float = 0.0, favour: Favour | None = None) -> Candidate | None:
    """The most probable of several texts, or None without texts.

    ``plates``: texts that fit a format, each with its probability among all texts. The probability of a character is
    its share among these texts, since the format has already decided, multiplied by their total to the power of
    ``doubt``: the rest is the probability that there is no plate, or that part of it is hidden. ``favour``: other
    evidence for a text; it only influences the choice.
    """
    if not plates:
        return None
    text = max(plates, key=plates.__getitem__)
    if favour:
        # Favour cannot make up for a larger difference
        near = [other for other in plates if plates[other] >= LEAST_FAVOUR * plates[text]]
        text = max(near, key=lambda other: plates[other] * favour(other)) if len(near) > 1 else text
    trust = min(1.0, sum(plates.values())) ** doubt
    return Candidate(text, tuple(trust * share for share in shares(text, plates)), plates[text])


def shares(text: str, plates: Mapping[str, float]) -> tuple[float, ...]:
    """For each character of a text, the share of the texts that have the same character there, weighted by probability.

    A text of another length counts for none of them.
    """
    total = sum(plates.values())
    return tuple(
        sum(p for other, p in plates.items() if len(other) == len(text) and other[i] == text[i]) / total
        for i in range(len(text))
    )
