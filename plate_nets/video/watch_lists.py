"""Lists of plates to watch for: a CSV file with a plate and a label a row, matched by what a track's frames say."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rapidfuzz import process
from rapidfuzz.distance import Levenshtein

from plate_nets.errors import InputError
from plate_nets.events import WatchMatch
from plate_nets.intake.table import is_line, read_table
from plate_nets.video.fusion import Fusion

COLUMNS = ("plate", "label")
_TWINS = str.maketrans("АВЕКМНОРСТУХ", "ABEKMHOPCTYX")
"""Cyrillic letters -> the Latin ones that look the same and that texts are written in."""


@dataclass(frozen=True)
class WatchSettings:
    """When a plate matches an entry.

    ``probability``: least probability of the entry's text given the track's frames, 0..1. One of two equally likely
    texts matches; the event says how likely.
    ``distance``: characters by which an entry may differ from a likely text to be tried at all, and by which one whose
    symbols the networks do not know may differ from the plate's text to match.
    """

    probability: float = 0.3
    distance: int = 2
    fallback_distance: int = 1


@dataclass(frozen=True)
class WatchList:
    """A name, the labels of its plates, and one line for each row of the file that was left out."""

    name: str
    entries: Mapping[str, str]
    faults: tuple[str, ...] = ()


def load_watch_list(source: Path | bytes, name: str = "") -> WatchList:
    """A CSV file in UTF-8 with the columns plate and label, or its bytes -> the list; ``name``: by default the file's.

    Spaces and hyphens are left out of plates, small letters made large, Cyrillic ones Latin. A row without a plate,
    with other signs than letters and digits, with a plate that an earlier row has, or with a label of several lines is
    left out and said in ``faults``.

    Raises:
        InputError: no such file, no CSV in UTF-8, or a column is missing.
    """
    name = name or (source.stem if isinstance(source, Path) else "")
    entries: dict[str, str] = {}
    faults = []
    try:
        for line, row in read_table(source, COLUMNS):
            plate, label = normalize(row["plate"]), row["label"].strip()
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
    """What keeps a plate, as `normalize` gives it, and its label from being an entry; empty where nothing does."""
    if not plate:
        return "expected a plate, got ''"
    if not plate.isalnum():
        return f"expected letters and digits, got {plate!r}"
    return "" if is_line(label) else f"expected a label of one line, got {label!r}"


def normalize(plate: str) -> str:
    """A plate as people write it -> as texts are: no spaces or hyphens, capitals, Latin letters."""
    return "".join(plate.replace("-", " ").split()).upper().translate(_TWINS)


def matches(
    lists: Sequence[WatchList], text: str, evidence: Fusion, settings: WatchSettings = WatchSettings()
) -> tuple[WatchMatch, ...]:
    """The text of a car and what its frames say -> the entries that it matches, most probable first.

    An entry near one of the likely texts is scored on the frames. Edit distance alone decides where an entry has
    symbols that the networks do not know: on a long list it would name other cars.
    """
    likely = {text, *(other for other, _ in evidence.verdict.texts)}
    symbols = set(evidence.scheme.alphabet)
    found = []
    for each in lists:
        near: set[str] = set()
        for other in likely:
            hits = process.extract(
                other, each.entries.keys(), scorer=Levenshtein.distance, score_cutoff=settings.distance, limit=None
            )
            near.update(entry for entry, _, _ in hits)
        for entry in near:
            distance = Levenshtein.distance(text, entry)
            known = set(entry) <= symbols
            probability = evidence.probability(entry) if known else 0.0
            if probability >= settings.probability or (not known and distance <= settings.fallback_distance):
                found.append(WatchMatch(each.name, entry, each.entries[entry], probability, distance))
    return tuple(sorted(found, key=lambda match: (-match.probability, match.distance, match.list, match.entry)))
