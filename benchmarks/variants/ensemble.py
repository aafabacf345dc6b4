"""The Python models of `plate_recognition_ensemble`: the steps between and after the networks."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.variants.contract import ENSEMBLE_CROPS, ENSEMBLE_PLATES
from plate_nets.contract import CROP_DIMS, ModelSpec
from plate_nets.countries import main_scheme
from plate_nets.recognition.decoding import DecodingSettings, PlateDecoder
from plate_nets.recognition.pipeline import join
from plate_nets.recognition.quads import lines_of
from plate_nets.triton.backend.recognition import pack
from plate_nets.triton.backend.triton import Request, Response, Tensor, answer, starting, tensor


def at_least_one_crop(request: Request) -> list[Tensor]:
    """Crops -> the same, or a grey one."""
    (crops,) = arrays(request, ENSEMBLE_CROPS)
    return [tensor(ENSEMBLE_CROPS.outputs[0], crops if len(crops) else np.zeros((1, *CROP_DIMS), np.float32))]


class EnsemblePlates:
    """Logits, boxes, scores and corners -> plates."""

    def __init__(self, args: Mapping[str, str]) -> None:
        with starting(args, DecodingSettings) as model:
            self._decoder = PlateDecoder(main_scheme(), model.settings(DecodingSettings))

    def answer(self, request: Request) -> Response:
        """One request -> its response; never raises."""
        return answer(request, self._respond)

    def _respond(self, request: Request) -> list[Tensor]:
        logits, boxes, scores, corners = arrays(request, ENSEMBLE_PLATES)
        readings = self._decoder.decode(logits[: len(boxes)], lines_of(corners.reshape(-1, 4, 2)))
        return pack(join(boxes, scores, corners, readings))


def arrays(request: Request, spec: ModelSpec) -> list[NDArray[Any]]:
    """A request checked by Triton -> its arrays in the order of the contract."""
    found = {each.name(): each.as_numpy() for each in request.inputs()}
    return [found[each.name] for each in spec.inputs]
