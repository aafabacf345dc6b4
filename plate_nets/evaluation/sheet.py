"""Pictures of errors: a sheet of crops with label and reading."""

from collections.abc import Sequence
from pathlib import Path

import cv2
import numpy as np

from plate_nets.common.atomic_files import write_whole
from plate_nets.common.latin import drawn_form
from plate_nets.evaluation.reading_metrics import ReadPlate
from plate_nets.types import CROP_HEIGHT, CROP_WIDTH, Crops

_SCALE = 3
_COLUMNS = 3


def save_sheet(path: Path, plates: Sequence[ReadPlate], crops: Crops) -> None:
    """Draw plates with their crops (N, 3, 24, 94) to a PNG: each crop enlarged, with label, reading and confidence."""
    tile_h, tile_w = CROP_HEIGHT * _SCALE + 44, CROP_WIDTH * _SCALE + 12
    rows = -(-len(plates) // _COLUMNS)
    sheet = np.full((max(1, rows) * tile_h, _COLUMNS * tile_w, 3), 255, np.uint8)
    for index, (plate, crop) in enumerate(zip(plates, crops, strict=True)):
        y, x = index // _COLUMNS * tile_h + 4, index % _COLUMNS * tile_w + 6
        picture = np.clip(crop.transpose(1, 2, 0)[:, :, ::-1] * 128 + 127.5, 0, 255).astype(np.uint8)
        large = cv2.resize(picture, None, fx=_SCALE, fy=_SCALE, interpolation=cv2.INTER_CUBIC)
        sheet[y : y + large.shape[0], x : x + large.shape[1]] = large
        confidence = plate.reading.confidence if plate.reading else 0.0
        given = plate.text or f"({plate.best})"
        colour = (0, 0, 200) if plate.wrong else (150, 90, 0)
        below = y + large.shape[0]
        _write(sheet, f"{plate.label} {plate.source}"[:44], (x, below + 14), (0, 0, 0))
        _write(sheet, f"{given} {confidence:.2f} {plate.height:.0f} px", (x, below + 32), colour)
    write_whole(path, cv2.imencode(".png", sheet)[1].tobytes())


def _write(sheet: cv2.typing.MatLike, text: str, at: tuple[int, int], colour: tuple[int, int, int]) -> None:
    cv2.putText(sheet, drawn_form(text), at, cv2.FONT_HERSHEY_SIMPLEX, 0.42, colour, 1, cv2.LINE_AA)
