"""Pictures after H.264, and the movement between them."""

from collections.abc import Iterator, Sequence
from fractions import Fraction

import cv2
import numpy as np

from plate_nets.types import Frame


def code_h264(frames: Sequence[Frame], crf: int) -> list[Frame]:
    """Encode and decode frames (H, W, 3) BGR of one size as H.264 of constant quality ``crf``, 0 (best) to 51.

    Needs PyAV, from the `watch` extra.
    """
    import av  # late: only this needs it

    height, width = frames[0].shape[:2]
    encoder = av.CodecContext.create("libx264", "w")
    encoder.width, encoder.height, encoder.pix_fmt = width + width % 2, height + height % 2, "yuv420p"
    encoder.time_base, encoder.thread_count = Fraction(1, 25), 1
    encoder.options = {"crf": str(crf), "preset": "veryfast", "tune": "zerolatency"}
    even = (
        np.asarray(cv2.copyMakeBorder(each, 0, height % 2, 0, width % 2, cv2.BORDER_REPLICATE), np.uint8)
        for each in frames
    )
    packets = [packet for each in even for packet in encoder.encode(av.VideoFrame.from_ndarray(each, "bgr24"))]
    packets += encoder.encode(None)
    decoder = av.CodecContext.create("h264", "r")

    def decoded() -> Iterator[Frame]:
        for packet in (*packets, None):
            for frame in decoder.decode(packet):
                yield np.ascontiguousarray(frame.to_ndarray(format="bgr24")[:height, :width])

    return list(decoded())


def moved(picture: Frame, right: float, down: float) -> Frame:
    """Shift the content of a picture by this many px; the edge is repeated where nothing is left."""
    matrix = np.array([[1, 0, right], [0, 1, down]], np.float64)
    size = (picture.shape[1], picture.shape[0])
    return np.asarray(cv2.warpAffine(picture, matrix, size, borderMode=cv2.BORDER_REPLICATE), np.uint8)
