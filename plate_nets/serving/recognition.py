"""The `plate_recognition` model: `PlateReader` over the other models of the repository (BLS)."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from plate_nets.contract import FRAME, LPRNET, PLATE_RECOGNITION, STN, YOLO
from plate_nets.decoding import DecodingSettings, PlateDecoder
from plate_nets.errors import InputError, PlateError
from plate_nets.pipeline import PlateReader, split_rows
from plate_nets.serving.course import Course
from plate_nets.serving.frames import check_frame, decode_image
from plate_nets.serving.metrics import RecognitionMetrics
from plate_nets.serving.settings import FrameLimits, read_settings, refuse_unknown
from plate_nets.serving.triton import (
    Request,
    Response,
    Tensor,
    answer,
    call,
    find,
    from_dlpack,
    model_args,
    start_fault,
    tensor,
)
from plate_nets.types import Boxes, Frame, Logits, Plate, Reading, Scores

_RAW, _ENCODED = PLATE_RECOGNITION.inputs
_CROPS = STN.inputs[0]


PROBE = "plates_probe"
"""The parameter, true, of a request that the metrics leave out: the supervisor's own."""


@dataclass(frozen=True)
class _Decoder:
    decode: Callable[[Logits], Sequence[Reading]]


class Recognition:
    """Frame or encoded picture -> coordinates, texts, scores, confidences and readings."""

    def __init__(self, args: Mapping[str, str]) -> None:
        model = model_args(args)
        try:
            refuse_unknown(model.name, model.parameters, FrameLimits, DecodingSettings)
            self._limits = read_settings(FrameLimits, model.name, model.parameters)
            self._decoder = PlateDecoder(read_settings(DecodingSettings, model.name, model.parameters))
        except PlateError as error:
            raise start_fault(error) from error
        self._metrics = RecognitionMetrics()

    def answer(self, request: Request) -> Response:
        """One request -> its response; never raises."""
        if json.loads(request.parameters() or "{}").get(PROBE):
            return answer(request, lambda _: pack(self._read(request, Course(request))))
        course = Course(request)
        try:
            return answer(request, lambda _: self._counted(self._read(request, course)), self._metrics.failed)
        finally:
            self._metrics.took(course.seconds, course.stages)

    def _counted(self, plates: list[Plate]) -> list[Tensor]:
        outputs = pack(plates)
        self._metrics.answered(plates)
        return outputs

    def _read(self, request: Request, course: Course) -> list[Plate]:
        frame = self._frame(request, course)
        reader = PlateReader(
            course.stage("detect", detect),
            course.stage("rectify", rectify),
            course.stage("read", read),
            _Decoder(course.stage("decode_text", self._decoder.decode)),
            split,
        )
        return reader.read(frame)

    def _frame(self, request: Request, course: Course) -> Frame:
        raw, encoded = find(request, _RAW), find(request, _ENCODED)
        if raw is not None and encoded is None:
            return check_frame(raw.as_numpy(), self._limits)
        if encoded is not None and raw is None:
            return course.stage("decode_picture", decode_image)(encoded.as_numpy().tobytes(), self._limits)
        got = "neither" if raw is None else "both"
        raise InputError(f"expected exactly one of {_RAW.name} and {_ENCODED.name}, got {got}")


def detect(frame: Frame) -> tuple[Tensor, Boxes, Scores]:
    """Frame -> crops where `yolo` left them, boxes and scores."""
    crops, boxes, scores = call(YOLO, [tensor(FRAME, frame)])
    return crops, boxes.as_numpy(), scores.as_numpy()


def rectify(crops: Tensor) -> Tensor:
    """Crops -> straightened crops where `stn` left them."""
    return call(STN, [from_dlpack(_CROPS, crops)])[0]


def read(crops: Tensor) -> Logits:
    """Straightened crops -> logits, in host memory for the decoder."""
    logits: Logits = call(LPRNET, [from_dlpack(LPRNET.inputs[0], crops)], to_host=True)[0].as_numpy()
    return logits


def split(crops: Tensor, size: int) -> Iterator[Tensor]:
    """Crops -> chunks of at most ``size``, views of the same memory on the device where it lies."""
    if not crops.is_cpu():
        from torch.utils.dlpack import from_dlpack as to_torch  # only crops that lie on a GPU need it

        for start in range(0, len(rows := to_torch(crops)), size):
            yield from_dlpack(_CROPS, rows[start : start + size])
        return
    array = crops.as_numpy()
    if len(array) <= size:
        yield crops
        return
    for chunk in split_rows(array, size):
        # Not by DLPack: numpy's capsules crash Triton's stub, which renames a used one to "used_dlpack"
        # where numpy expects the standard's "used_dltensor".
        yield tensor(_CROPS, chunk)


def pack(plates: list[Plate]) -> list[Tensor]:
    """Plates -> the model's outputs; (0, 4), (0, 1) and (0,) where there is none."""
    columns = (
        np.array([(p.box.xmin, p.box.ymin, p.box.xmax, p.box.ymax) for p in plates], np.float32).reshape(-1, 4),
        np.array([p.text for p in plates], np.object_).reshape(-1, 1),
        np.array([p.score for p in plates], np.float32),
        np.array([p.confidence for p in plates], np.float32),
        np.array([p.reading for p in plates], np.object_).reshape(-1, 1),
    )
    return [tensor(spec, column) for spec, column in zip(PLATE_RECOGNITION.outputs, columns, strict=True)]
