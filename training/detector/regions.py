"""Regions that a measurement ignores, from a file with the header ``file,xmin,ymin,xmax,ymax``, px.

Two such files are beside this one: `unlabelled.csv` for the part of `world_boxes` held out at 0.12, and
`unlabelled_ru_dev.csv` for `ru_dev`. They hold visible plates without a label: in `ru_dev` only the main plate is
labelled. Detectors proposed them (score 0.1 and more, no label hit; for `ru_dev` also the detector of 0.3.0). Each was
inspected and kept if it shows a recognisable plate. Six of the 43 boxes of `world_boxes` were redrawn; the others, and
the 36 of `ru_dev`, are the detectors'.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from plate_nets.common.errors import DatasetError
from plate_nets.evaluation.dataset import BOX_COLUMNS, csv_rows, parse_box
from plate_nets.evaluation.detection_metrics import Detections
from plate_nets.types import Boxes
from training.detector.pictures import Picture

_log = logging.getLogger(__name__)

COLUMNS = ("file", *BOX_COLUMNS)


def read_regions(path: Path) -> dict[str, Boxes]:
    """Read a file of regions -> the regions (K, 4) of each photo, by file name.

    Raises:
        DatasetError: the file or a column is missing, or a row has no file name or an invalid box.
    """
    if not path.is_file():
        raise DatasetError(f"{path}: no such file; expected {','.join(COLUMNS)}")
    rows: dict[str, list[tuple[float, float, float, float]]] = {}
    for where, row in csv_rows(path, COLUMNS):
        try:
            if not row["file"]:
                raise ValueError("no file name")
            box = parse_box(row)
        except ValueError as error:
            raise DatasetError(f"{where}: {error}") from error
        rows.setdefault(row["file"], []).append(box.sides)
    return {name: np.array(boxes, np.float32) for name, boxes in rows.items()}


def with_regions(
    results: Sequence[Detections], pictures: Sequence[Picture], regions: Mapping[str, Boxes]
) -> list[Detections]:
    """Detections of pictures, in the same order -> the same, with the regions of each picture ignored.

    Regions of photos that are not measured are logged in one line.
    """
    names = [picture.photo.name for picture in pictures]
    if absent := sorted(regions.keys() - set(names)):
        _log.warning("regions of %d photos that are not measured: %s", len(absent), ", ".join(absent))
    return [
        replace(result, ignored=regions[name]) if name in regions else result
        for result, name in zip(results, names, strict=True)
    ]
