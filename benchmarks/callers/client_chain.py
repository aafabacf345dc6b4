"""The pipeline chained by the client: it calls `yolo`, `stn` and `lprnet` itself and decodes."""

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plate_nets.client import parse_url
from plate_nets.client.transports import ServerAccess, open_transport
from plate_nets.client.transports.calls import Input, infer
from plate_nets.common.contexts import Closing
from plate_nets.contract import FRAME, IMAGE, LPRNET, STN, VEHICLE_ROWS, YOLO, ModelSpec
from plate_nets.countries import main_scheme
from plate_nets.recognition.decoding import DecodingSettings
from plate_nets.recognition.pipeline import PlateReader, take_rows
from plate_nets.recognition.schemes import SchemeDecoder
from plate_nets.recognition.second_look import looks_at
from plate_nets.recognition.stages import Stages
from plate_nets.recognition.vehicles import rows_of
from plate_nets.types import Boxes, Crops, Frame, Plate, PlateCrops, Scores, VehicleRows

TIMEOUT = 30.0
"""Seconds for each call of a caller."""


class ClientChain(Closing):
    """The same pipeline as `plate_recognition`, chained by the client; crops and logits cross the network.

    Args:
        url: as for `PlateClient`.
    """

    def __init__(self, url: str, timeout: float = TIMEOUT, decoding: DecodingSettings = DecodingSettings()) -> None:
        self._transport = open_transport(ServerAccess(parse_url(url)))
        self._timeout = timeout
        self._reader: PlateReader[Frame | bytes, Crops] = PlateReader(
            self._detect,
            partial(self._one, STN),
            {LPRNET.name: partial(self._one, LPRNET)},
            SchemeDecoder([main_scheme()], decoding),
            take_rows,
            look_again=looks_at,
        )

    def close(self) -> None:
        self._transport.close()

    def read(self, image: Frame | bytes) -> list[Plate]:
        """A BGR frame (H, W, 3) uint8, or an encoded picture -> its plates.

        Raises:
            ServerError: the server failed, or nothing answers.
            InputError: the bytes are no picture.
        """
        return self._reader.scene(image).plates

    def _detect(
        self, image: Frame | bytes, stages: Stages, vehicles: bool
    ) -> tuple[PlateCrops[Crops], Boxes, Scores, VehicleRows]:
        sent = Input(IMAGE, np.frombuffer(image, np.uint8)) if isinstance(image, bytes) else Input(FRAME, image)
        crops, boxes, scores, corners, as_one, upright = self._ask(YOLO, sent)
        return PlateCrops(crops, corners, as_one, upright), boxes, scores, rows_of(())

    def _one(self, model: ModelSpec, rows: Crops) -> Crops:
        (answer,) = self._ask(model, Input(model.inputs[0], rows))
        return answer

    def _ask(self, model: ModelSpec, sent: Input) -> list[NDArray[Any]]:
        """The outputs of a model in the order of its contract, without vehicles."""
        outputs = [each for each in model.outputs if each != VEHICLE_ROWS]
        return list(self._transport.send(infer(model, sent, outputs=outputs), self._timeout).values())
