"""The `plate_recognition` model: `PlateReader` over the other models of the repository (BLS)."""

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from plate_nets.common.control_key import KEY_VARIABLE, probe_token
from plate_nets.contract import (
    APPEARANCE,
    CHARACTERS,
    COUNTRY,
    LOGITS,
    PLATES,
    PROBE,
    READERS,
    SCHEMES,
    STN,
    VEHICLE_ROWS,
    YOLO,
    ModelSpec,
)
from plate_nets.countries import load_schemes
from plate_nets.recognition.decoding import DecodingSettings
from plate_nets.recognition.options import ReadOptions
from plate_nets.recognition.pipeline import PlateReader, take_rows
from plate_nets.recognition.schemes import SchemeDecoder
from plate_nets.recognition.second_look import looks_at
from plate_nets.recognition.stages import Stages
from plate_nets.recognition.vehicles import rows_of
from plate_nets.triton.backend.metrics import RecognitionMetrics
from plate_nets.triton.backend.request_picture import picture_of
from plate_nets.triton.backend.settings import ModelArgs, SchemeSettings
from plate_nets.triton.backend.stages import RequestStages
from plate_nets.triton.backend.triton import (
    Request,
    Response,
    Tensor,
    answer,
    call,
    from_dlpack,
    parameters,
    starting,
    tensor,
)
from plate_nets.triton.backend.watchdog import Watchdog, WatchdogSettings
from plate_nets.types import STEPS, Boxes, Plate, PlateCrops, Scene, Scores, VehicleRows

_CROPS = STN.inputs[0]


class TensorReader(Protocol):
    """The pipeline for Triton's tensors: a `PlateReader` or a substitute."""

    def scene(self, picture: Tensor, /, options: ReadOptions, stages: Stages) -> Scene:
        """The caller's picture as sent -> its plates, and its vehicles if requested."""


def bls_reader(model: ModelArgs, decoder: SchemeDecoder) -> PlateReader[Tensor, Tensor]:
    """The pipeline over the models `yolo`, `stn`, `country` and the readers."""
    readers = {name: partial(read, spec) for name, spec in READERS.items()}
    return PlateReader(detect, rectify, readers, decoder, take, look_again, partial(read, COUNTRY))


class Recognition:
    """Picture, raw or encoded -> plates, and the evidence behind their readings if requested.

    The picture goes to `yolo` unchanged. `yolo` checks it, because it can also be called directly.

    ``make_reader``: Triton's arguments and the decoder -> the pipeline.
    """

    def __init__(
        self,
        args: Mapping[str, str],
        make_reader: Callable[[ModelArgs, SchemeDecoder], TensorReader] = bls_reader,
    ) -> None:
        with starting(args, SchemeSettings, DecodingSettings, WatchdogSettings) as model:
            self._watchdog = Watchdog(model.settings(WatchdogSettings))
            schemes = load_schemes(model.settings(SchemeSettings).scheme, Path(model.folder).parent)
            self._no_logits = np.zeros((0, min(scheme.classes for scheme in schemes), STEPS), np.float32)
            decoder = SchemeDecoder(schemes, model.settings(DecodingSettings))
            self._reader = make_reader(model, decoder)
        self._metrics = RecognitionMetrics()
        key = os.environ.get(KEY_VARIABLE)
        self._probe_token = probe_token(key) if key else ""

    def answer(self, request: Request) -> Response:
        """Answer one request; never raises."""
        with self._watchdog.working():
            return self._answer(request)

    def _answer(self, request: Request) -> Response:
        stages = RequestStages(request)
        if self._probe_token and parameters(request).get(PROBE) == self._probe_token:
            return answer(request, lambda _: self._respond(request, stages)[1])
        try:
            return answer(request, lambda _: self._counted(request, stages), self._metrics.failed)
        finally:
            self._metrics.observe(stages.seconds, stages.spent)

    def _counted(self, request: Request, stages: Stages) -> list[Tensor]:
        plates, outputs = self._respond(request, stages)
        self._metrics.answered(plates)
        return outputs

    def _respond(self, request: Request, stages: Stages) -> tuple[list[Plate], list[Tensor]]:
        requested = request.requested_output_names()
        options = ReadOptions.of_request(requested, parameters(request))
        scene = self._reader.scene(picture_of(request), options, stages)
        plates = scene.plates
        outputs = pack(plates)
        if options.evidence:
            logits = [plate.logits for plate in plates if plate.logits is not None]
            outputs.append(tensor(LOGITS, np.stack(logits) if logits else self._no_logits))
        if CHARACTERS.name in requested:
            outputs.append(tensor(CHARACTERS, pad([plate.reading.characters for plate in plates])))
        if SCHEMES.name in requested:
            names = [" ".join(plate.reading.schemes or (plate.reading.scheme,)) for plate in plates]
            outputs.append(tensor(SCHEMES, np.array(names, np.object_).reshape(-1, 1)))
        if options.appearance:
            outputs += [output for output in describe(plates) if output.name() in requested]
        if options.vehicles:
            outputs.append(tensor(VEHICLE_ROWS, rows_of(scene.vehicles)))
        return plates, outputs


def detect(picture: Tensor, stages: Stages, vehicles: bool) -> tuple[PlateCrops[Tensor], Boxes, Scores, VehicleRows]:
    """Picture -> crops on the device of `yolo`, boxes, scores, and vehicles if requested.

    The caller's own tensor is passed on: its memory is shared already, and `yolo` decodes an encoded picture only once.
    The stages inside `yolo` are not visible here.
    """
    leave_out = () if vehicles else (VEHICLE_ROWS,)
    crops, boxes, scores, corners, as_one, upright, *rows = call(YOLO, [picture], leave_out=leave_out)
    cut = PlateCrops(crops, corners.as_numpy(), as_one, upright)
    return cut, boxes.as_numpy(), scores.as_numpy(), rows[0].as_numpy() if rows else rows_of(())


def rectify(crops: Tensor) -> Tensor:
    """Crops -> straightened crops on the device of `stn`."""
    return call(STN, [from_dlpack(_CROPS, crops)])[0]


def read(reader: ModelSpec, crops: Tensor) -> NDArray[np.float32]:
    """Crops, straightened ones for a reader -> the logits of a network, in host memory for the decoder."""
    logits: NDArray[np.float32] = call(reader, [from_dlpack(reader.inputs[0], crops)], to_host=True)[0].as_numpy()
    return logits


def take(crops: Tensor, rows: Sequence[int]) -> Tensor:
    """Crops and row numbers -> these rows in host memory: few plates are read more than once."""
    if crops.is_cpu():
        return tensor(_CROPS, take_rows(crops.as_numpy(), rows))
    from torch.utils.dlpack import from_dlpack as to_torch  # only crops that lie on a GPU need it

    return tensor(_CROPS, to_torch(crops)[list(rows)].cpu().numpy())


def look_again(crops: Tensor) -> Tensor:
    return tensor(_CROPS, looks_at(crops.as_numpy()))


def pack(plates: Sequence[Plate]) -> list[Tensor]:
    """Plates -> `PLATES`; without plates (0, 4), (0, 1), (0,), (0,), (0, 1) and (0, 8)."""
    readings = [plate.reading for plate in plates]
    columns = (
        np.array([p.box.sides for p in plates], np.float32).reshape(-1, 4),
        np.array([reading.text for reading in readings], np.object_).reshape(-1, 1),
        np.array([plate.score for plate in plates], np.float32),
        np.array([reading.confidence for reading in readings], np.float32),
        np.array([reading.best for reading in readings], np.object_).reshape(-1, 1),
        np.array([plate.corners for plate in plates], np.float32).reshape(-1, 8),
    )
    return [tensor(spec, column) for spec, column in zip(PLATES, columns, strict=True)]


def describe(plates: Sequence[Plate]) -> list[Tensor]:
    readings = [plate.reading for plate in plates]
    columns = (
        np.array([reading.country for reading in readings], np.object_).reshape(-1, 1),
        np.array([reading.country_confidence for reading in readings], np.float32),
        np.array([reading.ground for reading in readings], np.object_).reshape(-1, 1),
        np.array([reading.ground_confidence for reading in readings], np.float32),
    )
    return [tensor(spec, column) for spec, column in zip(APPEARANCE, columns, strict=True)]


def pad(rows: Sequence[Sequence[float]]) -> NDArray[np.float32]:
    """N rows -> (N, length of the longest), padded with 0."""
    padded = np.zeros((len(rows), max(map(len, rows), default=0)), np.float32)
    for into, row in zip(padded, rows, strict=True):
        into[: len(row)] = row
    return padded
