"""An entry of a watch list: what a plate is called, and where and when it matches."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime

from plate_nets.common.day_hours import DayHours
from plate_nets.common.errors import InputError
from plate_nets.common.intake.table import is_line
from plate_nets.common.spreadsheet import plain_cell

COLUMNS = ("plate", "label")
"""Columns that every list has."""
LIMITS = ("valid_from", "valid_until", "hours", "cameras")
"""Columns that a list may have."""


@dataclass(frozen=True, slots=True)
class ListEntry:
    """The label of a plate, and where and when it matches; empty fields limit nothing.

    ``valid_from``, ``valid_until``: the first and the last day. Days and hours are those of the camera's time zone.
    """

    label: str = ""
    valid_from: date | None = None
    valid_until: date | None = None
    hours: DayHours | None = None
    cameras: tuple[str, ...] = ()

    def is_valid(self, camera: str, moment: datetime) -> bool:
        """Whether the entry counts for a camera at a moment in its time zone."""
        day = moment.date()
        return (
            (self.valid_from is None or self.valid_from <= day)
            and (self.valid_until is None or day <= self.valid_until)
            and (self.hours is None or self.hours.include(moment))
            and (not self.cameras or camera in self.cameras)
        )

    def cells(self) -> dict[str, str]:
        return {
            "label": self.label,
            "valid_from": str(self.valid_from or ""),
            "valid_until": str(self.valid_until or ""),
            "hours": str(self.hours or ""),
            "cameras": " ".join(self.cameras),
        }

    def changed(self, cells: Mapping[str, str]) -> "ListEntry":
        """Some cells of a table -> the entry with them.

        Raises:
            InputError: a cell is invalid.
        """
        texts = self.cells()
        for name in texts.keys() & cells.keys():
            texts[name] = plain_cell(cells[name])
            if not is_line(texts[name]):
                raise InputError(f"{name}: expected one line, got {texts[name]!r}")
        first, last = _date(texts["valid_from"], "valid_from"), _date(texts["valid_until"], "valid_until")
        if first and last and last < first:
            raise InputError(f"valid_until: expected {first} or later, got {last}")
        return ListEntry(texts["label"], first, last, _hours(texts["hours"]), tuple(texts["cameras"].split()))


def check_plate(plate: str) -> None:
    """Raise InputError if a normalized plate cannot be that of an entry."""
    if not plate:
        raise InputError("expected a plate, got ''")
    if not plate.isalnum():
        raise InputError(f"expected letters and digits, got {plate!r}")


def _date(text: str, name: str) -> date | None:
    try:
        return date.fromisoformat(text) if text else None
    except ValueError as error:
        raise InputError(f"{name}: expected a date such as 2026-11-30, got {text!r}") from error


def _hours(text: str) -> DayHours | None:
    try:
        return DayHours.parse(text) if text else None
    except InputError as error:
        raise InputError(f"hours: {error}") from error
