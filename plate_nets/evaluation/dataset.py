"""Labelled photographs: a folder with `images/` and `labels.csv`.

The header is ``file,xmin,ymin,xmax,ymax,text,x1,y1,...,x4,y4``: pixels of the stored photo; the four corner points
clockwise from the plate's top left, empty where unknown; the text in the Latin forms of the 12 letters, empty where
unknown. A photo with several plates has several rows. The columns of the corner points may be left out.
"""

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath

import numpy as np
from numpy.typing import NDArray

from plate_nets.common.errors import DatasetError, InputError
from plate_nets.common.intake.files import read_file
from plate_nets.common.intake.table import excerpt, read_table
from plate_nets.recognition.images import decode_image
from plate_nets.recognition.reader import FrameLimits
from plate_nets.types import CORNER_COLUMNS, Box, Frame

_log = logging.getLogger(__name__)

_LIMITS = FrameLimits()
_FARTHEST = _LIMITS.max_pixels // _LIMITS.min_side
"""px: the longest possible side of an accepted picture."""

_LOGGED = 100
"""Faulty rows that are logged one by one."""

BOX_COLUMNS = ("xmin", "ymin", "xmax", "ymax")
REQUIRED = ("file", *BOX_COLUMNS, "text")
COLUMNS = (*REQUIRED, *CORNER_COLUMNS)


@dataclass(frozen=True)
class Label:
    photo: Path
    box: Box
    text: str
    quad: NDArray[np.float32] | None
    """(4, 2) corner points x, y clockwise from the plate's top left, or None if unknown."""


@dataclass(frozen=True)
class Fault:
    """A row that cannot be used: its position and the reason."""

    where: str
    why: str

    def __str__(self) -> str:
        return f"{self.where}: {self.why}"


@dataclass(frozen=True)
class Dataset:
    """The usable labels of a folder, and the rows that were skipped."""

    folder: Path
    labels: tuple[Label, ...]
    faults: tuple[Fault, ...]

    def photos(self) -> Iterator[tuple[Path, tuple[Label, ...]]]:
        grouped: dict[Path, list[Label]] = {}
        for label in self.labels:
            grouped.setdefault(label.photo, []).append(label)
        for photo, labels in grouped.items():
            yield photo, tuple(labels)


def load_dataset(folder: Path, *, symbols: str | None = None, strict: bool = False) -> Dataset:
    """Load the usable labels of a labelled folder.

    A row is skipped and kept in ``faults`` if its box has no area or lies outside the photo, if its text has an unknown
    character (with ``symbols`` given), or if its photo is missing or not below ``images/``. The first hundred are
    logged, one line each.

    Raises:
        DatasetError: no such folder or file, a missing column, no usable row; with ``strict`` also the first fault.
    """
    path = labels_of(folder)
    labels: list[Label] = []
    faults: list[Fault] = []
    sizes: dict[Path, tuple[int, int] | str] = {}
    for where, row in csv_rows(path, REQUIRED):
        try:
            labels.append(_label(row, folder / "images", symbols, sizes))
        except ValueError as error:
            fault = Fault(where, str(error))
            if strict:
                raise DatasetError(str(fault)) from error
            faults.append(fault)
            if len(faults) <= _LOGGED:
                _log.warning("left out %s", fault)
    if len(faults) > _LOGGED:
        _log.warning("%s: left out %d more rows", path, len(faults) - _LOGGED)
    if not labels:
        raise DatasetError(f"{path}: no usable row ({len(faults)} left out)")
    return Dataset(folder, tuple(labels), tuple(faults))


def labels_of(folder: Path) -> Path:
    """The table of a labelled folder.

    Raises:
        DatasetError: no such folder or file.
    """
    path = folder / "labels.csv"
    if not path.exists():
        raise DatasetError(f"{path}: no such file; expected a folder with images/ and labels.csv")
    return path


def csv_rows(path: Path, columns: Sequence[str]) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the rows of a CSV file that has a column ``file``, each with its position.

    Raises:
        DatasetError: it does not open, a column is missing, or it is not a CSV file in UTF-8.
    """
    try:
        for line, row in read_table(path, columns):
            name = row["file"]
            yield f"{path}:{line} ({excerpt(name)})", row
    except OSError as error:
        raise DatasetError(f"{path}: {error.strerror}") from error
    except InputError as error:
        raise DatasetError(f"{path}: {error}") from error


def read_photo(path: Path) -> Frame:
    """A picture file -> BGR frame, (H, W, 3).

    Raises:
        DatasetError: the file does not open as a picture.
    """
    try:
        return decode_image(read_file(path, _LIMITS.max_bytes), _LIMITS)
    except (OSError, InputError) as error:
        raise DatasetError(f"{path}: cannot be opened as a picture: {_why(error)}") from error


def parse_box(row: Mapping[str, str | None]) -> Box:
    """Return the box of a row of a label file, px.

    Raises:
        ValueError: a coordinate is missing or not a finite number, or the box has no area.
    """
    try:
        xmin, ymin, xmax, ymax = (float(row[name] or "") for name in BOX_COLUMNS)
    except ValueError as error:
        raise ValueError(f"expected numbers for {','.join(BOX_COLUMNS)}: {excerpt(str(error))}") from error
    if not np.isfinite([xmin, ymin, xmax, ymax]).all():
        raise ValueError(f"box is not finite: {xmin:g},{ymin:g},{xmax:g},{ymax:g}")
    _check_near([xmin, ymin, xmax, ymax])
    if xmax <= xmin or ymax <= ymin:
        raise ValueError(f"box without area: {xmin:g},{ymin:g},{xmax:g},{ymax:g}")
    return Box(xmin, ymin, xmax, ymax)


def _check_near(places: Sequence[float]) -> None:
    """Raise ValueError for a coordinate that no photo could have, and that would overflow the arithmetic."""
    if (farthest := max(map(abs, places), default=0)) > _FARTHEST:
        raise ValueError(f"expected coordinates of at most {_FARTHEST:,} px, got {farthest:g}")


def _label(row: dict[str, str], images: Path, symbols: str | None, sizes: dict[Path, tuple[int, int] | str]) -> Label:
    box = parse_box(row)
    try:
        corners = [float(row[name]) for name in CORNER_COLUMNS if row.get(name)]
    except ValueError as error:
        raise ValueError(f"expected numbers for the corner points: {excerpt(str(error))}") from error
    if not np.isfinite(corners).all():
        raise ValueError("corner points are not finite")
    _check_near(corners)
    if len(corners) not in (0, 8):
        raise ValueError(f"expected 8 corner coordinates or none, got {len(corners)}")
    text = row["text"] or ""
    unknown = sorted(set(text) - set(symbols)) if symbols is not None else []
    if unknown:
        raise ValueError(f"unknown character {excerpt(''.join(unknown))!r} in {excerpt(text)!r}; expected {symbols}")
    name = PurePath(row["file"])
    if name.is_absolute() or ".." in name.parts:
        raise ValueError("expected a photo below images/")
    photo = images / name
    if photo not in sizes:
        sizes[photo] = _size(photo)
    size = sizes[photo]
    if isinstance(size, str):
        raise ValueError(f"photo is missing or cannot be opened: {size}")
    height, width = size
    if box.xmax <= 0 or box.ymax <= 0 or box.xmin >= width or box.ymin >= height:
        raise ValueError(
            f"box {box.xmin:g},{box.ymin:g},{box.xmax:g},{box.ymax:g} outside the photo of {width}x{height}"
        )
    quad = np.array(corners, np.float32).reshape(4, 2) if corners else None
    return Label(photo, box, text, quad)


def _size(photo: Path) -> tuple[int, int] | str:
    """Height and width of an upright photo, or why it cannot be used."""
    try:
        h, w = decode_image(read_file(photo, _LIMITS.max_bytes), _LIMITS).shape[:2]
    except (OSError, InputError) as error:
        return _why(error)
    return h, w


def _why(error: OSError | InputError) -> str:
    return error.strerror if isinstance(error, OSError) and error.strerror else str(error)
