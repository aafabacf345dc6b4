"""Finds similar texts among a million: first by a cheap bound on the edit distance, then by the distance itself.

Texts within k edits differ in at most 2k of the symbols that occur in them. The symbols of a text form a word of 32
bits, so the bound is an XOR and a bit count over an array.
"""

from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray
from rapidfuzz import process
from rapidfuzz.distance import Levenshtein

_LONGEST = 24
"""Bytes of a text that are compared."""
_TEXT = f"S{_LONGEST}"


def _bits() -> NDArray[np.uint32]:
    """A byte of a text -> its bit; some letters share one, which only weakens the bound."""
    bits = np.zeros(256, np.uint32)
    for byte in range(1, 256):
        place = byte - ord("0") if chr(byte).isdigit() and byte < 128 else 10 + (byte - ord("A")) % 22
        bits[byte] = 1 << place
    return bits


_BITS = _bits()
_COUNTS = np.array([word.bit_count() for word in range(1 << 16)], np.uint8)


class SimilarTexts:
    """A searchable set of texts; not thread-safe."""

    def __init__(self) -> None:
        self._texts = np.empty(0, _TEXT)
        self._words = np.empty(0, np.uint32)

    def add(self, texts: Collection[str]) -> None:
        """Add texts; known ones may come again."""
        if not texts:
            return
        fresh = np.array([text.encode()[:_LONGEST] for text in texts], _TEXT)
        self._texts = np.concatenate((self._texts, fresh))
        self._words = np.concatenate((self._words, _words(texts, fresh)))

    def find(self, text: str, distance: int, limit: int) -> dict[str, int]:
        """Texts within this many edits (Levenshtein), at most ``limit`` -> the edits of each, fewest first."""
        (word,) = _words([text], np.array([text.encode()[:_LONGEST]], _TEXT))
        differing = self._words ^ word
        near = _COUNTS[differing & 0xFFFF] + _COUNTS[differing >> 16] <= 2 * distance
        candidates = [each.decode(errors="replace") for each in np.unique(self._texts[near])]
        found = process.extract(text, candidates, scorer=Levenshtein.distance, score_cutoff=distance, limit=limit)
        return {each: int(edits) for each, edits, _ in found}


def _words(texts: Collection[str], encoded: NDArray[np.bytes_]) -> NDArray[np.uint32]:
    symbols = np.ascontiguousarray(encoded).view(np.uint8).reshape(len(encoded), _LONGEST)
    words: NDArray[np.uint32] = np.bitwise_or.reduce(_BITS[symbols], axis=1)
    for row, text in enumerate(texts):
        if not text.isascii():  # a symbol of several bytes has one bit too
            words[row] = np.bitwise_or.reduce(_BITS[[ord(each) if each.isascii() else _shared(each) for each in text]])
    return words


def _shared(symbol: str) -> int:
    """A symbol beyond ASCII -> a letter whose bit it shares."""
    return ord("A") + ord(symbol) % 22
