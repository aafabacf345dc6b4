"""The outputs of commands: lines, JSON, a table, annotated pictures."""

import contextlib
import csv
import json
import os
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import typer

from plate_nets.common.atomic_files import write_whole
from plate_nets.common.contexts import Closing
from plate_nets.common.errors import InputError, InputTooLarge
from plate_nets.common.extras import needs
from plate_nets.countries import PlateScheme, load_scheme, shipped
from plate_nets.countries.designs import UNKNOWN
from plate_nets.recognition.encoded import SUFFIXES
from plate_nets.recognition.reasons import why_unread
from plate_nets.types import CORNER_COLUMNS, PLATE_COLUMNS, VEHICLE_COLUMNS, Plate, Unread, rounded


@dataclass(frozen=True)
class Picture:
    """The result for one picture: its plates, or the error."""

    path: Path
    name: Path
    """Path within the folder that the user named."""
    encoded: bytes = b""
    plates: tuple[Plate, ...] = ()
    milliseconds: float = 0.0
    """From opening the file to its plates."""
    error: str | None = None


def counted(count: int, thing: str) -> str:
    """A number and a singular noun -> "1 picture", "2 pictures"."""
    return f"{count} {thing}" if count == 1 else f"{count} {thing}s"


def shown(path: Path) -> str:
    """A path as printable text: bytes of its name that are not UTF-8 are escaped."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def write_figures(path: Path | None, figures: Mapping[str, Any]) -> None:
    """Write figures as JSON to a file, in full or not at all; "-": to standard output, None: nowhere."""
    if path is None:
        return
    text = json.dumps(figures, indent=2) + "\n"
    typer.echo(text) if str(path) == "-" else write_whole(path, text.encode())


class Output(Closing, ABC):
    """Takes pictures one by one; a context manager."""

    @abstractmethod
    def write(self, picture: Picture) -> None:
        """Write one picture at once."""


class LineOutput(Output):
    """One line per plate on stdout; errors on stderr. ``schemes``: those that the user named."""

    def __init__(self, schemes: Sequence[PlateScheme] = ()) -> None:
        self._schemes = schemes

    def write(self, picture: Picture) -> None:
        if picture.error is not None:
            typer.echo(f"{shown(picture.path)}: {picture.error}", err=True)
            return
        time = f"{picture.milliseconds:.0f} ms"
        for plate in picture.plates:
            reading = plate.reading
            text = reading.text or f"unread ({reading.best}? {_why_unread(plate, self._schemes)})"
            box = ",".join(f"{side:.0f}" for side in plate.box.sides)
            figures = f"confidence {reading.confidence:.3f}  score {plate.score:.3f}  box {box}  {time}"
            own = plate.vehicle
            behind = f"  {own.type} {own.score:.3f}" if own else ""
            known = plate.country not in ("", UNKNOWN)
            country = f"  {plate.country} {plate.country_confidence:.3f}" if known else ""
            typer.echo(f"{shown(picture.path)}: {text}  {figures}{behind}{country}")
        if not picture.plates:
            typer.echo(f"{shown(picture.path)}: no plate  {time}")


class JsonOutput(Output):
    """One JSON array on stdout, one object per picture, written as they come. ``schemes``: as in `LineOutput`."""

    def __init__(self, schemes: Sequence[PlateScheme] = ()) -> None:
        self._schemes = schemes
        self._before = "[\n"

    def write(self, picture: Picture) -> None:
        typer.echo(self._before + json.dumps(record(picture, self._schemes), ensure_ascii=False), nl=False)
        self._before = ",\n"

    def close(self) -> None:
        typer.echo("[]" if self._before == "[\n" else "\n]")


class CsvOutput(Output):
    """A table with one row per plate, and one for each picture without a plate or with an error."""

    def __init__(self, path: Path) -> None:
        try:
            self._file = path.open("w", encoding="utf-8", newline="")
        except OSError as error:
            raise InputError(f"--csv {path}: {error.strerror}") from error
        self._rows = csv.DictWriter(self._file, PLATE_COLUMNS, lineterminator="\n")
        self._rows.writeheader()

    def write(self, picture: Picture) -> None:
        shared = {"file": shown(picture.path), "error": picture.error or ""}
        if picture.error is None:
            shared["milliseconds"] = f"{picture.milliseconds:.1f}"
        try:
            self._write(picture, shared)
        except OSError as error:
            raise InputError(f"--csv {self._file.name}: {error.strerror}") from error

    def _write(self, picture: Picture, shared: dict[str, str]) -> None:
        for plate in picture.plates:
            xmin, ymin, xmax, ymax = (f"{side:.1f}" for side in plate.box.sides)
            self._rows.writerow(
                shared
                | {"text": plate.reading.text, "reading": plate.reading.best, "format": plate.reading.format}
                | {"scheme": plate.reading.scheme, "latin": plate.reading.latin}
                | _appearance(plate)
                | {"confidence": f"{plate.reading.confidence:.4f}", "score": f"{plate.score:.4f}"}
                | {"xmin": xmin, "ymin": ymin, "xmax": xmax, "ymax": ymax}
                | {name: f"{place:.1f}" for name, place in zip(CORNER_COLUMNS, plate.corners, strict=False)}
                | _vehicle(plate)
            )
        if not picture.plates:
            self._rows.writerow(shared)
        self._file.flush()

    def close(self) -> None:
        with contextlib.suppress(OSError):  # failed writes were reported before
            self._file.close()


_MARK = b"\nannotated by plate-nets\n"
"""Appended to our annotated pictures, where decoders ignore it, to recognise them later."""


def is_annotated(path: Path) -> bool:
    try:
        if not path.is_file():
            return False
        with path.open("rb") as file:
            file.seek(-min(len(_MARK), path.stat().st_size), os.SEEK_END)
            return file.read() == _MARK
    except OSError:
        return False


class PictureOutput(Output):
    """Writes a copy of each picture with outlines and texts to a folder, named ``<name>_plates.<suffix>``.

    A copy from an earlier run is replaced; any other file of that name is kept, and the copy gets a number.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._taken: set[Path] = set()
        with needs("local", "--save-annotated"):
            from plate_nets.recognition.annotation import annotate_encoded
        self._annotate = annotate_encoded
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"--save-annotated {folder}: {error.strerror}") from error

    def write(self, picture: Picture) -> None:
        if picture.error is not None:
            return
        path = self._path(picture.name)
        try:
            drawn = self._annotate(picture.encoded, picture.plates, path.suffix)
        except InputTooLarge as error:  # it was read, because the environment raises the limit
            typer.echo(f"plates: --save-annotated {shown(path)}: {error}", err=True)
            return
        if drawn is None:
            path = self._path(picture.name.with_suffix(".png"))
            drawn = self._annotate(picture.encoded, picture.plates, path.suffix)
        assert drawn is not None, "PNG holds any size"
        try:
            write_whole(path, drawn + _MARK)
        except OSError as error:
            raise InputError(f"--save-annotated {shown(path)}: {error.strerror}") from error
        typer.echo(f"saved {shown(path)}", err=True)

    def _path(self, name: Path) -> Path:
        suffix = name.suffix.lower() if name.suffix.lower() in SUFFIXES else ".png"
        path = self._folder / name.with_name(f"{name.stem}_plates{suffix}")
        number = 2
        while path in self._taken or (path.exists() and not is_annotated(path)):
            path = self._folder / name.with_name(f"{name.stem}_plates{number}{suffix}")
            number += 1
        self._taken.add(path)
        return path


def _appearance(plate: Plate) -> dict[str, str]:
    """Country and ground of a plate with their probabilities; empty if the reader was not asked."""
    if not plate.country:
        return {}
    return {
        "country": plate.country,
        "country_confidence": f"{plate.country_confidence:.4f}",
        "ground": plate.ground,
        "ground_confidence": f"{plate.ground_confidence:.4f}",
    }


def _vehicle(plate: Plate) -> dict[str, str]:
    if plate.vehicle is None:
        return {}
    box = (f"{side:.1f}" for side in rounded(plate.vehicle.box))
    return dict(zip(VEHICLE_COLUMNS, (plate.vehicle.type, f"{plate.vehicle.score:.4f}", *box), strict=True))


def _why_unread(plate: Plate, schemes: Sequence[PlateScheme]) -> Unread:
    name = plate.reading.scheme
    scheme = next((each for each in schemes if each.name == name), None)
    if scheme is None and name in shipped():  # others are in a file that only the server has
        scheme = load_scheme(name)
    return why_unread(plate, scheme)


def record(picture: Picture, schemes: Sequence[PlateScheme] = ()) -> dict[str, Any]:
    if picture.error is not None:
        return {"file": shown(picture.path), "error": picture.error}
    return {
        "file": shown(picture.path),
        "milliseconds": round(picture.milliseconds, 1),
        "plates": [
            plate.to_dict() | {"unread": None if plate.reading.text else asdict(_why_unread(plate, schemes))}
            for plate in picture.plates
        ],
    }
