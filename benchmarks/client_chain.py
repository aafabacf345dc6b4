"""The wiring without one on the server: the client calls `yolo`, `stn` and `lprnet` itself and decodes."""

from types import TracebackType

import numpy as np

from benchmarks.connection import Connection
from plate_nets.contract import FRAME, IMAGE, LPRNET, STN, YOLO, ModelSpec
from plate_nets.plates import default_scheme
from plate_nets.recognition.decoding import DecodingSettings, PlateDecoder
from plate_nets.recognition.pipeline import PlateReader, split_rows
from plate_nets.types import Boxes, Crops, Frame, Logits, Plate, Scores


class ClientChain:
    """The same pipeline as `plate_recognition`, chained by the client; crops and logits cross the network.

    Args:
        url: as for `PlateClient`.
    """

    def __init__(self, url: str, timeout: float = 30.0, decoding: DecodingSettings = DecodingSettings()) -> None:
        self._connection = Connection(url, timeout)
        self._reader: PlateReader[Frame | bytes, Crops] = PlateReader(
            self._detect, self._rectify, self._read, PlateDecoder(default_scheme(), decoding), split_rows
        )

    def __enter__(self) -> "ClientChain":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def read(self, image: Frame | bytes) -> list[Plate]:
        """A BGR frame (H, W, 3) uint8, or an encoded picture -> its plates.

        Raises:
            ServerError: the server failed, or nothing answers.
            InputError: the bytes are no picture.
        """
        return self._reader.read(image)

    def _detect(self, image: Frame | bytes) -> tuple[Crops, Boxes, Scores]:
        given = (IMAGE, np.frombuffer(image, np.uint8)) if isinstance(image, bytes) else (FRAME, image)
        crops, boxes, scores = self._connection.infer(YOLO.name, [given], YOLO.outputs)
        return crops, boxes, scores

    def _rectify(self, crops: Crops) -> Crops:
        return self._one(STN, crops)

    def _read(self, crops: Crops) -> Logits:
        return self._one(LPRNET, crops)

    def _one(self, model: ModelSpec, rows: Crops) -> Crops:
        (answer,) = self._connection.infer(model.name, [(model.inputs[0], rows)], model.outputs)
        return answer
