"""Drawn plates that replace labelled ones in tests of trainings."""

import cv2
import numpy as np

from plate_nets.countries import main_scheme
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
