"""Watch lists: CSV files with a plate and a label per row, matched with the evidence of a track."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rapidfuzz import process
from rapidfuzz.distance import Levenshtein

from plate_nets.cameras.fusion import Fusion
from plate_nets.common.errors import InputError
from plate_nets.common.intake.table import is_line, read_table
from plate_nets.common.latin import latin_form
from plate_nets.common.spreadsheet import plain_cell
from plate_nets.events.event import WatchMatch

COLUMNS = ("plate", "label")
_TWINS = str.maketrans("АВЕКМНОРСТУХ", "ABEKMHOPCTYX")
"""Cyrillic letters -> the Latin ones that look the same and are used in texts."""


@dataclass(frozen=True)
class WatchSettings:
    """When a plate matches an entry.

    ``probability``: the minimum probability of the entry's text given the track's frames, 0..1. One of two equally
    likely texts matches, and the event says how likely it is.
    ``distance``: the maximum edit distance between an entry and a likely text for the entry to be tried.
    ``fallback_distance``: the maximum edit distance for an entry with symbols that the networks do not know.
    """

    probability: float = 0.3
    distance: int = 2
    fallback_distance: int = 1


@dataclass(frozen=True)
class WatchList:
    """A name, the labels by plate, and a line for each row of the file that was skipped."""

    name: str
    entries: Mapping[str, str]
    faults: tuple[str, ...] = ()


def load_watch_list(source: Path | bytes, name: str = "") -> WatchList:
    """Load a CSV file in UTF-8 with the columns plate and label, or its bytes. ``name``: by default the file's.

    Spaces and hyphens in plates are removed, small letters are capitalized, and Cyrillic letters are replaced by Latin
    ones. An apostrophe that only keeps a spreadsheet from computing a label is removed. A row is skipped and listed in
    ``faults`` if it has no plate, other characters than letters and digits, a plate that an earlier row has, or a label
    with several lines.

    Raises:
        InputError: the file is missing, is not CSV in UTF-8, or lacks a column.
    """
    name = name or (source.stem if isinstance(source, Path) else "")
    entries: dict[str, str] = {}
    faults = []
    try:
        for line, row in read_table(source, COLUMNS):
            plate, label = normalize(row["plate"]), plain_cell(row["label"])
            if plate in entries:
                faults.append(f"watch list {name}, line {line}: expected each plate once, got {row['plate']!r}")
            elif why := entry_fault(plate, label):
                faults.append(f"watch list {name}, line {line}: {why}")
            else:
                entries[plate] = label
    except OSError as error:
        raise InputError(f"watch list {name}: {source!s}: {error.strerror}") from error
    except InputError as error:
        raise type(error)(f"watch list {name}: {error}") from error
    return WatchList(name, entries, tuple(faults))


def entry_fault(plate: str, label: str) -> str:
    """Why a normalized plate and its label cannot be an entry; empty if they can."""
    if not plate:
        return "expected a plate, got ''"
    if not plate.isalnum():
        return f"expected letters and digits, got {plate!r}"
    return "" if is_line(label) else f"expected a label of one line, got {label!r}"


def normalize(plate: str) -> str:
    """A plate as people write it -> as in texts: no spaces or hyphens, capitals, Latin letters."""
    return "".join(plate.replace("-", " ").split()).upper().translate(_TWINS)


def matches(
    lists: Sequence[WatchList], text: str, evidence: Fusion, settings: WatchSettings = WatchSettings()
) -> tuple[WatchMatch, ...]:
    """The text of a car and the evidence of its frames -> the entries that it matches, most probable first.

    ``text``: its symbols from left to right. An entry near one of the likely texts, or that is the Latin form of one,
    is scored with the frames. Only an entry with symbols that the networks do not
    know is matched by edit distance: with a long list, this would match other cars.
    """
    scheme = evidence.scheme
    symbols, own = set(scheme.alphabet), scheme.text_of(text)
    likely = {own, *(scheme.text_of(other) for other, _ in evidence.verdict.texts)}
    by_latin_form = {normalize(latin_form(other)): other for other in likely}
    found = []
    for watch_list in lists:
        near: dict[str, str] = {}
        for other in likely:
            hits = process.extract(
                other,
                watch_list.entries.keys(),
                scorer=Levenshtein.distance,
                score_cutoff=settings.distance,
                limit=None,
            )
            near |= {entry: entry for entry, _, _ in hits}
        near |= {entry: by_latin_form[entry] for entry in by_latin_form.keys() & watch_list.entries.keys()}
        for entry, written in near.items():
            asked, distance = scheme.symbols_of(written), Levenshtein.distance(own, written)
            known = set(asked) <= symbols
            probability = evidence.probability(asked) if known else 0.0
            if probability >= settings.probability or (not known and distance <= settings.fallback_distance):
                found.append(WatchMatch(watch_list.name, entry, watch_list.entries[entry], probability, distance))
    return tuple(sorted(found, key=lambda match: (-match.probability, match.distance, match.list, match.entry)))
