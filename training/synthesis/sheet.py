"""A sheet of crops with their texts, to look at."""

from collections.abc import Sequence

import cv2
import numpy as np

from plate_nets.common.latin import latin_form
from plate_nets.types import CROP_HEIGHT, CROP_WIDTH, Frame
from training.synthesis import Sample

COLUMNS = 8
ZOOM = 2
_LABEL = 14


def draw_sheet(samples: Sequence[Sample]) -> Frame:
    """Samples -> one picture, BGR: crops twice as large, under each its text and the plate's height in the photo."""
    w, h = CROP_WIDTH * ZOOM + 4, CROP_HEIGHT * ZOOM + 4 + _LABEL
    rows = -(-len(samples) // COLUMNS)
    sheet = np.zeros((rows * h, COLUMNS * w, 3), np.uint8)
    for place, sample in enumerate(samples):
        y, x = place // COLUMNS * h, place % COLUMNS * w
        crop = cv2.resize(sample.crop, None, fx=ZOOM, fy=ZOOM, interpolation=cv2.INTER_NEAREST)
        sheet[y + 2 : y + 2 + crop.shape[0], x + 2 : x + 2 + crop.shape[1]] = crop
        label = f"{latin_form(sample.text)} {sample.height:.0f}px"
        cv2.putText(sheet, label, (x + 4, y + h - 4), cv2.FONT_HERSHEY_SIMPLEX, 0.38, (200, 200, 200), 1, cv2.LINE_AA)
    return sheet
