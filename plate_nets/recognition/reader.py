"""What every reader of plates has in common, in this process or by a server; clients import it without OpenCV."""

from typing import Protocol

import numpy as np

from plate_nets.errors import InputError
from plate_nets.types import Frame, Plate


class Reader(Protocol):
    """A picture -> its plates: `LocalReader` in this process, `PlateClient` by a server."""

    def read(self, image: Frame | bytes, *, evidence: bool = False) -> list[Plate]:
        """A picture -> its plates, highest detector score first.

        Args:
            image: a BGR frame (H, W, 3) uint8 as ``cv2.imread`` gives it, or the bytes of a JPEG, PNG, WebP or
                BMP file.
            evidence: the plates have their ``logits`` and the ``characters`` of their readings.

        Raises:
            InputError: the picture is not accepted (InputTooLarge: by its size); the message says what was expected.
            PlateError: it cannot be read for another reason.
        """
        ...


def check_frame(image: object) -> Frame:
    """What a caller gives as a frame -> the same, contiguous in memory.

    Raises:
        InputError: not an array (H, W, 3) of uint8.
    """
    if not isinstance(image, np.ndarray) or image.dtype != np.uint8 or image.ndim != 3 or image.shape[2] != 3:
        got = f"{image.dtype} {image.shape}" if isinstance(image, np.ndarray) else type(image).__name__
        raise InputError(f"image: expected bytes, or a BGR frame of uint8 (height, width, 3), got {got}")
    return np.ascontiguousarray(image)
