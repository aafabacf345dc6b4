"""Writes picture files, and says so if that fails."""

from pathlib import Path

import cv2

from plate_nets.common.errors import InputError
from plate_nets.types import Frame


def save_picture(path: Path, picture: Frame) -> None:
    """Write a picture (H, W, 3) BGR in the format of its suffix; JPEG in quality 95, OpenCV's default.

    Raises:
        InputError: it cannot be written.
    """
    try:
        written = cv2.imwrite(str(path), picture)
    except cv2.error:
        written = False
    if not written:
        raise InputError(f"{path}: cannot be written; expected a .png or .jpg in an existing folder")
