"""Another plate reader that a user might choose, in ONNX Runtime, which is not a dependency of the project."""

from importlib import import_module
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from plate_nets.common.errors import InputError
from plate_nets.types import Boxes, Frame

SYMBOLS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
# fmt: off
REGIONS = (
    "al", "ad", "ar", "am", "au", "at", "az", "bh", "by", "be", "ba", "br", "bg", "kh", "ca", "hr", "cy", "cz", "dk",
    "ee", "fi", "fr", "ge", "de", "gi", "gr", "gg", "hu", "is", "id", "ie", "il", "it", "lv", "li", "lt", "lu", "my",
    "mt", "mx", "md", "mc", "me", "nl", "nz", "mk", "no", "pl", "pt", "qa", "ro", "sm", "rs", "sg", "sk", "si", "es",
    "se", "ch", "th", "tr", "us", "ua", "gb", "vn",
)
# fmt: on
"""Of cct_xs_v2_global, in the order of its classes, as ISO 3166 has them; the class after the last: unknown."""
_HEIGHT, _WIDTH = 64, 128


def session(model: Path, threads: int, pixels: str) -> Any:
    """An ONNX file that takes pixels of a type, "uint8" or "float" -> a session of ONNX Runtime on the CPU.

    Raises:
        InputError: ONNX Runtime is not installed, or the file does not load or takes something else.
    """
    try:
        onnxruntime: Any = import_module("onnxruntime")
    except ModuleNotFoundError as error:
        raise InputError(f"{model}: needs onnxruntime: pip install onnxruntime") from error
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    try:
        loaded = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # ONNX Runtime has one class of exception per cause
        raise InputError(f"{model}: does not load: {error}") from error
    if [each.type for each in loaded.get_inputs()] != [f"tensor({pixels})"]:
        raise InputError(f"{model}: expected a network that takes {pixels} pixels; is it a reader, or a detector?")
    return loaded


class OtherReader:
    """A reader as fast-plate-ocr publishes them: uint8 (N, 64, 128, 3) RGB -> (N, slots, 37), "_" last, and regions.

    ``model``: its ONNX file.
    """

    def __init__(self, model: Path, threads: int) -> None:
        self._session = session(model, threads, "uint8")
        self._input = self._session.get_inputs()[0].name

    def cut(self, frame: Frame, boxes: Boxes) -> NDArray[np.uint8]:
        """Boxes (N, 4) xyxy of a frame, BGR -> the model's input."""
        height, width = frame.shape[:2]
        cut = []
        for x0, y0, x1, y1 in boxes.round().astype(int).clip(0, (width, height, width, height)).tolist():
            crop = cv2.resize(frame[y0 : max(y1, y0 + 1), x0 : max(x1, x0 + 1)], (_WIDTH, _HEIGHT))
            cut.append(cv2.cvtColor(crop, cv2.COLOR_BGR2RGB))
        return np.stack(cut).astype(np.uint8)

    def regions(self, crops: NDArray[np.uint8]) -> list[tuple[str, float]]:
        """Crops -> the country of each, empty if unknown, and its probability, 0..1."""
        (regions, *_) = self._session.run(["region"], {self._input: crops})
        best = regions.argmax(axis=1).tolist()
        return [((*REGIONS, "")[i], float(row[i])) for i, row in zip(best, regions, strict=True)]

    def read(self, crops: NDArray[np.uint8]) -> list[str]:
        """Crops -> texts; it cannot report that it is uncertain."""
        (slots, *_) = self._session.run(["plate"], {self._input: crops})
        return ["".join(SYMBOLS[i] for i in row if i < len(SYMBOLS)) for row in slots.argmax(axis=2).tolist()]
