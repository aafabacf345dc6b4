"""Pictures after JPEG, and smaller ones."""

import cv2
import numpy as np

from plate_nets.types import Frame


def code_jpeg(picture: Frame, quality: int) -> Frame:
    """Encode and decode a picture (H, W, 3) BGR as JPEG of a quality from 0 to 100."""
    coded = cv2.imencode(".jpg", picture, [cv2.IMWRITE_JPEG_QUALITY, quality])[1]
    return np.asarray(cv2.imdecode(coded, cv2.IMREAD_COLOR), np.uint8)


def reduced(picture: Frame, scale: float) -> Frame:
    """Reduce a picture by area; one that would not get smaller stays as it is."""
    if scale >= 1:
        return picture
    size = (max(1, round(picture.shape[1] * scale)), max(1, round(picture.shape[0] * scale)))
    return np.asarray(cv2.resize(picture, size, interpolation=cv2.INTER_AREA), np.uint8)
