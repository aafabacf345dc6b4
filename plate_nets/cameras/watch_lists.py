"""Watch lists: CSV files with an entry per row, matched with the evidence of a track."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from rapidfuzz import process
from rapidfuzz.distance import Levenshtein

from plate_nets.cameras.fusion import Fusion
from plate_nets.cameras.list_entries import COLUMNS, ListEntry, check_plate
from plate_nets.common.errors import InputError
from plate_nets.common.intake.table import read_table
from plate_nets.common.latin import latin_form
from plate_nets.common.spelling import folded, normalize
from plate_nets.countries import PlateScheme
from plate_nets.events.event import WatchMatch

_LEAST_PROBABILITY = 0.3
"""The minimum probability, given the track's frames, of the text of an entry that matches. One of two equally likely
texts matches, and the event says how likely it is."""
_DISTANCE = 2
"""The maximum edit distance between an entry and a likely text for the entry to be tried."""
_FALLBACK_DISTANCE = 1
"""The maximum edit distance for an entry with symbols that the networks do not know."""


@dataclass(frozen=True)
class WatchList:
    """A name, the entries by plate, and a line for each row of the file that was skipped."""

    name: str
    entries: Mapping[str, ListEntry]
    faults: tuple[str, ...] = ()

    def remarks(self, cameras: Collection[str]) -> list[str]:
        """What a user should know: the faults, and the cameras that entries name but that are none of these.

        ``cameras``: the ids of all cameras; empty if they are unknown.
        """
        named = {name for entry in self.entries.values() for name in entry.cameras} if cameras else set()
        unknown = sorted(named.difference(cameras))
        return [*self.faults, *(f"watch list {self.name}: no camera is called {name}" for name in unknown)]


@dataclass(frozen=True)
class Near:
    """An entry that a text may be a misreading of.

    ``distance``: Levenshtein distance between the entry and the text. ``probability``: what the frames must give the
    entry's own text at least for the entry to match; 0 if its symbols are unknown to the networks, so that it matches
    any such text. ``written``: the entry as it is written on the plate.
    """

    plate: str
    entry: ListEntry
    distance: int
    probability: float
    written: str


def load_watch_list(source: Path | bytes, name: str = "", before: Mapping[str, ListEntry] | None = None) -> WatchList:
    """Load a CSV file in UTF-8 with at least the columns plate and label, or its bytes.

    A row is skipped and listed in ``faults`` if it has no plate, other characters than letters and digits, a plate that
    an earlier row has, or an invalid cell.

    Args:
        source: the file, or its bytes.
        name: of the list; by default the file's.
        before: entries that keep what the table has no column for.

    Raises:
        InputError: the file is missing, is not CSV in UTF-8, or lacks a column.
    """
    name = name or (source.stem if isinstance(source, Path) else "")
    entries: dict[str, ListEntry] = {}
    faults = []
    kept, new = before or {}, ListEntry()
    try:
        for line, row in read_table(source, COLUMNS):
            plate = normalize(row["plate"])
            try:
                if plate in entries:
                    raise InputError(f"expected each plate once, got {row['plate']!r}")
                check_plate(plate)
                entries[plate] = kept.get(plate, new).changed(row)
            except InputError as error:
                faults.append(f"watch list {name}, line {line}: {error}")
    except OSError as error:
        raise InputError(f"watch list {name}: {source!s}: {error.strerror}") from error
    except InputError as error:
        raise type(error)(f"watch list {name}: {error}") from error
    return WatchList(name, entries, tuple(faults))


def matches(
    lists: Sequence[WatchList],
    text: str,
    evidence: Fusion,
    camera: str,
    moment: datetime,
) -> tuple[WatchMatch, ...]:
    """The text of a car and the evidence of its frames -> the entries that it matches, most probable first.

    ``text``: its symbols from left to right. An entry near one of the likely texts, or that writes one in another way,
    is scored with the frames. Only an entry with symbols that the networks do not know is matched by edit distance:
    with a long list, this would match other cars. ``camera`` and ``moment``, in its time zone: where and when the car
    was seen; an entry that is not valid there and then does not match.
    """
    scheme = evidence.scheme
    own = scheme.text_of(text)
    likely = {own, *(scheme.text_of(other) for other, _ in evidence.verdict.texts)}
    found = []
    for watch_list in lists:
        for near in near_entries(watch_list.entries, own, scheme, likely):
            if near.entry.is_valid(camera, moment):
                probability = evidence.probability(scheme.symbols_of(near.written)) if near.probability else 0.0
                if probability >= near.probability:
                    found.append(WatchMatch(watch_list.name, near.plate, near.entry.label, probability, near.distance))
    return tuple(sorted(found, key=lambda match: (-match.probability, match.distance, match.list, match.entry)))


def matches_of_text(
    lists: Sequence[WatchList], text: str, score: float, camera: str, moment: datetime
) -> tuple[WatchMatch, ...]:
    """A text of another reader, and how sure it is -> the entries with this text that are valid then and there."""
    return tuple(
        WatchMatch(watch_list.name, plate, watch_list.entries[plate].label, score, 0)
        for watch_list in lists
        for plate in _near(watch_list.entries, [text], 0)
        if watch_list.entries[plate].is_valid(camera, moment)
    )


def near_entries(
    entries: Mapping[str, ListEntry], text: str, scheme: PlateScheme, likely: Collection[str] = ()
) -> list[Near]:
    """A text, and others that a car may have -> the entries that may match the car, nearest to the text first."""
    found = []
    for plate, written in _near(entries, likely or [text], _DISTANCE).items():
        distance = Levenshtein.distance(text, written)
        if set(scheme.symbols_of(written)) <= set(scheme.alphabet):
            found.append(Near(plate, entries[plate], distance, _LEAST_PROBABILITY, written))
        elif distance <= _FALLBACK_DISTANCE:
            found.append(Near(plate, entries[plate], distance, 0.0, written))
    return sorted(found, key=lambda near: (near.distance, near.plate))


def _near(entries: Mapping[str, ListEntry], texts: Iterable[str], distance: int) -> dict[str, str]:
    """The entries near one of the texts, or that write one in another way -> as they are written on the plate.

    Other ways are the signs of another keyboard, and the Latin form.
    """
    near: dict[str, str] = {}
    by_latin_form, by_keyboard = {}, {}
    for text in texts:
        hits = process.extract(text, entries.keys(), scorer=Levenshtein.distance, score_cutoff=distance, limit=None)
        near |= {plate: plate for plate, _, _ in hits}
        by_latin_form[normalize(latin_form(text))] = text
        if not text.isascii():
            by_keyboard[folded(text)] = text
    near |= {plate: by_latin_form[plate] for plate in by_latin_form.keys() & entries.keys()}
    others = (plate for plate in entries if by_keyboard and not plate.isascii())
    return near | {plate: by_keyboard[key] for plate in others if (key := folded(plate)) in by_keyboard}
