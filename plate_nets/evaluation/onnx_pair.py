"""A detector and a reader of plates as ONNX files, as fast-alpr runs them: of open-image-models and fast-plate-ocr.

Formats: https://github.com/ankandrew/open-image-models and https://github.com/ankandrew/fast-plate-ocr .
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from glob import escape
from pathlib import Path
from typing import Any, Literal

import cv2
import numpy as np
from numpy.typing import NDArray
from pydantic import TypeAdapter, ValidationError

from plate_nets.common.errors import InputError
from plate_nets.common.extras import needs
from plate_nets.common.intake.files import check_file
from plate_nets.common.intake.yaml_file import read_yaml
from plate_nets.common.spelling import normalize
from plate_nets.evaluation.other_reader import OtherPlate
from plate_nets.recognition.geometry import GREY
from plate_nets.types import Box, Boxes, Frame

SUFFIX = ".onnx"
_SCORE = 0.4
"""Minimum score of a box: the default of fast-alpr."""


@dataclass(frozen=True)
class ReaderConfig:
    """What fast-plate-ocr says of a reader, with its defaults; what it may say besides is not known here."""

    alphabet: str
    pad_char: str
    max_plate_slots: int
    img_height: int
    img_width: int
    image_color_mode: Literal["rgb", "grayscale"] = "grayscale"
    keep_aspect_ratio: Literal[False] = False
    interpolation: Literal["linear"] = "linear"


class OnnxDetector:
    """A detector of open-image-models: float32 (1, 3, S, S) RGB 0..1, letterboxed in the middle -> rows (N, 7) of
    picture, xyxy, class and score, after non-maximum suppression.

    Args:
        model: its ONNX file.
        threads: of the CPU; 0: as many as ONNX Runtime takes.

    Raises:
        InputError: the file is missing, or no such detector.
        MissingExtra: ONNX Runtime is not installed.
    """

    def __init__(self, model: Path, threads: int = 0) -> None:
        self._session = _session(model, threads)
        given, rows = self._session.get_inputs()[0], self._session.get_outputs()[0].shape
        self._input, self._side = given.name, given.shape[-1]
        expected = [1, 3, self._side, self._side]
        if given.type != "tensor(float)" or given.shape != expected or len(rows) != 2 or rows[1] != 7:
            raise InputError(f"{model}: expected a detector of open-image-models, which takes float (1, 3, S, S)")

    def find(self, frame: Frame) -> Boxes:
        """A frame (H, W, 3) BGR -> boxes (N, 4) xyxy of its plates, in pixels."""
        height, width = frame.shape[:2]
        scale = self._side / max(height, width)
        high, wide = round(height * scale), round(width * scale)
        top, left = (self._side - high) // 2, (self._side - wide) // 2
        square = np.full((self._side, self._side, 3), GREY, np.uint8)
        square[top : top + high, left : left + wide] = cv2.resize(frame, (wide, high))
        picture = square[None, ..., ::-1].transpose(0, 3, 1, 2).astype(np.float32) / 255
        rows: NDArray[np.float32] = self._session.run(None, {self._input: np.ascontiguousarray(picture)})[0]
        boxes = rows[rows[:, 6] >= _SCORE, 1:5]
        return np.asarray((boxes - np.array([left, top, left, top])) / scale, np.float32)


class OnnxReader:
    """A reader of fast-plate-ocr: uint8 (N, H, W, 1 or 3) -> probabilities (N, slots, symbols).

    Args:
        model: its ONNX file; its configuration lies beside it, ``*_config.yaml``.
        threads: of the CPU; 0: as many as ONNX Runtime takes.

    Raises:
        InputError: a file is missing, or no such reader.
        MissingExtra: ONNX Runtime is not installed.
    """

    def __init__(self, model: Path, threads: int = 0) -> None:
        self._session = _session(model, threads)
        self._config = config = _config_of(model)
        given, told = self._session.get_inputs()[0], self._session.get_outputs()
        self._input = given.name
        output = next((each for each in told if each.name == "plate"), told[0])  # newer ones also tell a region
        self._output = output.name
        channels = 3 if config.image_color_mode == "rgb" else 1
        takes = [config.img_height, config.img_width, channels]
        gives = config.max_plate_slots * len(config.alphabet)
        sizes = [each for each in output.shape[1:] if isinstance(each, int)]
        if given.type != "tensor(uint8)" or given.shape[1:] != takes or math.prod(sizes) != gives:
            shape = ", ".join(map(str, takes))
            raise InputError(f"{model}: expected a reader of fast-plate-ocr, which takes uint8 (N, {shape})")

    def cut(self, frame: Frame, boxes: Boxes) -> NDArray[np.uint8]:
        """Boxes (N, 4) xyxy of a frame (H, W, 3) BGR -> the model's input."""
        height, width = frame.shape[:2]
        size, grey = (self._config.img_width, self._config.img_height), self._config.image_color_mode == "grayscale"
        most = (width - 1, height - 1, width, height)
        crops = np.empty((len(boxes), size[1], size[0], 1 if grey else 3), np.uint8)
        for crop, (x0, y0, x1, y1) in zip(crops, boxes.round().astype(int).clip(0, most).tolist(), strict=True):
            part = cv2.resize(frame[y0 : max(y1, y0 + 1), x0 : max(x1, x0 + 1)], size)
            crop[:] = cv2.cvtColor(part, cv2.COLOR_BGR2GRAY)[..., None] if grey else part[..., ::-1]
        return crops

    def rated(self, crops: NDArray[np.uint8]) -> list[tuple[str, float]]:
        """Crops -> texts, and the mean probability of the symbols of each, 0..1."""
        alphabet = np.array(list(self._config.alphabet))
        (told,) = self._session.run([self._output], {self._input: crops})
        slots = told.reshape(-1, self._config.max_plate_slots, len(alphabet))
        symbols, sure = alphabet[slots.argmax(2)], slots.max(2)
        kept = symbols != self._config.pad_char
        return [
            ("".join(text[here]), float(by_symbol[here].mean()) if here.any() else 0.0)
            for text, by_symbol, here in zip(symbols, sure, kept, strict=True)
        ]


class OnnxPair:
    """Finds plates with a detector and reads them with a reader.

    ``files``: DETECTOR.onnx,READER.onnx.

    Raises:
        InputError: these are not two, or one of them is missing or no such model.
        MissingExtra: ONNX Runtime is not installed.
    """

    def __init__(self, files: str) -> None:
        paths = [Path(each) for each in files.split(",")]
        if len(paths) != 2:
            raise InputError(f"--with: expected DETECTOR.onnx,READER.onnx, got {files}")
        self.name = files
        self._detector, self._reader = OnnxDetector(paths[0]), OnnxReader(paths[1])

    def read(self, frame: Frame) -> Sequence[OtherPlate]:
        """A frame (H, W, 3) BGR -> its plates with a text."""
        boxes = self._detector.find(frame)
        if not len(boxes):
            return []
        rated = self._reader.rated(self._reader.cut(frame, boxes))
        return [
            OtherPlate(Box(*box), normalize(text), sure)
            for box, (text, sure) in zip(boxes.tolist(), rated, strict=True)
            if text
        ]


def _session(model: Path, threads: int) -> Any:
    with needs("onnx", f"{model.name}"):
        import onnxruntime
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3  # errors: they come as exceptions too
    try:
        return onnxruntime.InferenceSession(str(check_file(model)), options, providers=["CPUExecutionProvider"])
    except OSError as error:
        raise InputError(f"{model}: {error.strerror}") from error
    except Exception as error:  # ONNX Runtime has one class of exception per cause
        raise InputError(f"{model}: does not load: {str(error).splitlines()[0]}") from error


def _config_of(model: Path) -> ReaderConfig:
    named = f"{escape(model.stem)}*_config.yaml"
    found = sorted(model.parent.glob(named)) or sorted(model.parent.glob("*_config.yaml"))  # older ones: other names
    if len(found) != 1:
        raise InputError(f"{model}: expected one *_config.yaml of fast-plate-ocr beside it, got {len(found)}")
    try:
        return TypeAdapter(ReaderConfig).validate_python(read_yaml(found[0]))
    except ValidationError as error:
        fault = error.errors(include_input=False)[0]
        raise InputError(f"{found[0]}: {'.'.join(map(str, fault['loc'])) or 'the file'}: {fault['msg']}") from error
