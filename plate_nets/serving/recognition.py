"""The `plate_recognition` model: `PlateReader` over the other models of the repository (BLS)."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from plate_nets.contract import LPRNET, PLATE_RECOGNITION, PROBE, STN, YOLO
from plate_nets.errors import PlateError
from plate_nets.plates import load_scheme
from plate_nets.recognition.decoding import DecodingSettings, PlateDecoder
from plate_nets.recognition.pipeline import PlateReader, split_rows
from plate_nets.serving.metrics import RecognitionMetrics
from plate_nets.serving.request_picture import check_picture, picture_of
from plate_nets.serving.settings import FrameLimits, ModelArgs, SchemeSettings, read_settings, refuse_unknown
from plate_nets.serving.stages import Course
from plate_nets.serving.triton import (
    Request,
    Response,
    Tensor,
    answer,
    call,
    from_dlpack,
    model_args,
    parameters,
    start_fault,
    tensor,
)
from plate_nets.serving.watchdog import Watchdog, WatchdogSettings
from plate_nets.types import Boxes, Logits, Plate, Scores

_CROPS = STN.inputs[0]


def bls_reader(model: ModelArgs, decoder: PlateDecoder) -> PlateReader[Tensor, Tensor]:
    """The pipeline over the models `yolo`, `stn` and `lprnet`."""
    return PlateReader(detect, rectify, read, decoder, split, gather)


class Recognition:
    """Picture, raw or encoded -> coordinates, texts, scores, confidences and readings.

    ``make_reader``: what Triton tells of the model, and the decoder -> the pipeline, which takes the caller's picture
    as it came, checked.
    """

    def __init__(
        self,
        args: Mapping[str, str],
        make_reader: Callable[[ModelArgs, PlateDecoder], PlateReader[Tensor, Any]] = bls_reader,
    ) -> None:
        model = model_args(args)
        try:
            refuse_unknown(
                model.name, model.parameters, FrameLimits, SchemeSettings, DecodingSettings, WatchdogSettings
            )
            self._limits = read_settings(FrameLimits, model.name, model.parameters)
            self._watchdog = Watchdog(read_settings(WatchdogSettings, model.name, model.parameters))
            named = read_settings(SchemeSettings, model.name, model.parameters)
            scheme = load_scheme(named.scheme, Path(model.folder).parent)
            decoder = PlateDecoder(scheme, read_settings(DecodingSettings, model.name, model.parameters))
            self._reader = make_reader(model, decoder)
        except PlateError as error:
            raise start_fault(error) from error
        self._metrics = RecognitionMetrics()

    def answer(self, request: Request) -> Response:
        """One request -> its response; never raises."""
        with self._watchdog.working():
            return self._answer(request)

    def _answer(self, request: Request) -> Response:
        if parameters(request).get(PROBE) is True:
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
        picture = picture_of(request)
        check_picture(picture, self._limits)
        return self._reader.staged(course.stage).read(picture)


def detect(picture: Tensor) -> tuple[Tensor, Boxes, Scores]:
    """Picture -> crops where `yolo` left them, boxes and scores.

    The caller's own tensor is handed on: its memory is shared already, and an encoded one is decoded there, once.
    """
    crops, boxes, scores = call(YOLO, [picture])
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


def gather(ask: Callable[[Tensor], Logits], chunks: Iterable[Tensor]) -> Iterable[Logits]:
    """Chunks -> their logits in order, with all of them in flight at once."""
    waiting = list(chunks)
    if len(waiting) == 1:
        return [ask(waiting[0])]
    # A thread for each waits for its answers: what `async_exec` does too, under an event loop.
    with ThreadPoolExecutor(len(waiting)) as threads:
        return list(threads.map(ask, waiting))


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
