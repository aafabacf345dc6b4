"""Labelled photographs: a folder with `images/` and `labels.csv`.

The header is ``file,xmin,ymin,xmax,ymax,text,x1,y1,...,x4,y4``: pixels of the stored photo; the four corner points
clockwise from the plate's top left, empty where unknown; the text in the Latin forms of the 12 letters, empty where
unknown. A photo with several plates has several rows. The columns of the corner points may be left out.
"""

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from plate_nets.errors import DatasetError, InputError
from plate_nets.intake.files import read_file
from plate_nets.intake.table import is_line, read_table
from plate_nets.recognition.images import decode_image
from plate_nets.recognition.reader import FrameLimits
from plate_nets.types import CORNER_COLUMNS, Box, Frame

_log = logging.getLogger(__name__)

_LIMITS = FrameLimits()
_FARTHEST = _LIMITS.max_pixels // _LIMITS.min_side
"""px: the long side of the longest picture that is accepted."""

BOX_COLUMNS = ("xmin", "ymin", "xmax", "ymax")
REQUIRED = ("file", *BOX_COLUMNS, "text")
COLUMNS = (*REQUIRED, *CORNER_COLUMNS)


@dataclass(frozen=True)
class Label:
    """One labelled plate of one photo."""

    photo: Path
    box: Box
    text: str
    quad: NDArray[np.float32] | None
    """(4, 2) corner points x, y clockwise from the plate's top left, or None where unknown."""


@dataclass(frozen=True)
class Fault:
    """A row that cannot be used: where it stands and why."""

    where: str
    why: str

    def __str__(self) -> str:
        return f"{self.where}: {self.why}"


@dataclass(frozen=True)
class Dataset:
    """The usable labels of a folder, and the rows that were left out."""

    folder: Path
    labels: tuple[Label, ...]
    faults: tuple[Fault, ...]

    def photos(self) -> Iterator[tuple[Path, tuple[Label, ...]]]:
        """Each photo with all its labels, in the order of the file."""
        grouped: dict[Path, list[Label]] = {}
        for label in self.labels:
            grouped.setdefault(label.photo, []).append(label)
        for photo, labels in grouped.items():
            yield photo, tuple(labels)


def load_dataset(folder: Path, *, symbols: str | None = None, strict: bool = False) -> Dataset:
    """A labelled folder -> its usable labels.

    A row with a box without area or outside the photo, an unknown character (where ``symbols`` names the known
    ones) or a missing photo is left out, logged in one line and kept in ``faults``.

    Raises:
        DatasetError: no such folder or file, a missing column, no usable row; with ``strict`` also the first fault.
    """
    path = folder / "labels.csv"
    if not path.is_file():
        raise DatasetError(f"{path}: no such file; expected a folder with images/ and labels.csv")
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
            _log.warning("left out %s", fault)
            faults.append(fault)
    if not labels:
        raise DatasetError(f"{path}: no usable row ({len(faults)} left out)")
    return Dataset(folder, tuple(labels), tuple(faults))


def csv_rows(path: Path, columns: Sequence[str]) -> Iterator[tuple[str, dict[str, str]]]:
    """A CSV file, one of whose columns is ``file`` -> where each row stands, and the row.

    Raises:
        DatasetError: it does not open, a column is missing, or it is no CSV file in UTF-8.
    """
    try:
        for line, row in read_table(path, columns):
            name = row["file"]
            yield f"{path}:{line} ({name if is_line(name) else ascii(name)})", row
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
    """A row of a label file -> its box, px.

    Raises:
        ValueError: a coordinate that is missing or no finite number, or a box without area.
    """
    try:
        xmin, ymin, xmax, ymax = (float(row[name] or "") for name in BOX_COLUMNS)
    except ValueError as error:
        raise ValueError(f"expected numbers for {','.join(BOX_COLUMNS)}: {error}") from error
    if not np.isfinite([xmin, ymin, xmax, ymax]).all():
        raise ValueError(f"box is not finite: {xmin:g},{ymin:g},{xmax:g},{ymax:g}")
    _check_near([xmin, ymin, xmax, ymax])
    if xmax <= xmin or ymax <= ymin:
        raise ValueError(f"box without area: {xmin:g},{ymin:g},{xmax:g},{ymax:g}")
    return Box(xmin, ymin, xmax, ymax)


def _check_near(places: Sequence[float]) -> None:
    """Raises ValueError where a coordinate is so far off that no photo could have it, nor arithmetic bear it."""
    if (farthest := max(map(abs, places), default=0)) > _FARTHEST:
        raise ValueError(f"expected coordinates of at most {_FARTHEST:,} px, got {farthest:g}")


def _label(row: dict[str, str], images: Path, symbols: str | None, sizes: dict[Path, tuple[int, int] | str]) -> Label:
    box = parse_box(row)
    try:
        corners = [float(row[name]) for name in CORNER_COLUMNS if row.get(name)]
    except ValueError as error:
        raise ValueError(f"expected numbers for the corner points: {error}") from error
    if not np.isfinite(corners).all():
        raise ValueError("corner points are not finite")
    _check_near(corners)
    if len(corners) not in (0, 8):
        raise ValueError(f"expected 8 corner coordinates or none, got {len(corners)}")
    text = row["text"] or ""
    unknown = sorted(set(text) - set(symbols)) if symbols is not None else []
    if unknown:
        raise ValueError(f"unknown character {''.join(unknown)!r} in {text!r}; expected {symbols}")
    photo = images / row["file"]
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
    """Height and width of a photo, upright, or why it cannot be used."""
    try:
        h, w = decode_image(read_file(photo, _LIMITS.max_bytes), _LIMITS).shape[:2]
    except (OSError, InputError) as error:
        return _why(error)
    return h, w


def _why(error: OSError | InputError) -> str:
    return error.strerror if isinstance(error, OSError) and error.strerror else str(error)
