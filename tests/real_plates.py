"""Drawn plates and labelled folders for tests of trainings."""

from collections.abc import Iterable, Mapping
from pathlib import Path

import cv2
import numpy as np

from plate_nets.countries import main_scheme
from plate_nets.types import Frame
from training.real import RealPlate
from training.synthesis.plates import draw

RUSSIA = main_scheme()


def drawn(text: str) -> RealPlate:
    """A Russian plate on grey, with its exact corners."""
    kind = RUSSIA.format_names(text).split(" or ")[0]
    flat = draw(RUSSIA, kind, text, np.random.default_rng(4), scale=0.5)
    picture = cv2.copyMakeBorder(flat, 20, 20, 20, 20, cv2.BORDER_CONSTANT, value=(90, 90, 90))
    h, w = flat.shape[:2]
    corners = np.array([[20, 20], [20 + w, 20], [20 + w, 20 + h], [20, 20 + h]], np.float32)
    return RealPlate(np.asarray(picture, np.uint8), corners, text, True)


def write_labels(folder: Path, photos: Mapping[str, Frame], rows: Iterable[str], columns: str = "") -> Path:
    """A labelled folder: its photos by name, and the rows of its table, which may have more columns."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, photo in photos.items():
        (folder / "images" / name).parent.mkdir(parents=True, exist_ok=True)
        cv2.imwrite(str(folder / "images" / name), photo)
    table = "\n".join([f"file,xmin,ymin,xmax,ymax,text{columns}", *rows, ""])
    (folder / "labels.csv").write_text(table, encoding="utf-8")
    return folder
