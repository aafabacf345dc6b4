"""What a load asks: a picture to a wiring -> how many plates were answered."""

from collections.abc import Callable
from enum import StrEnum
from typing import Protocol

import numpy as np

from plate_nets.bench.client_chain import ClientChain
from plate_nets.bench.connection import Connection
from plate_nets.bench.frames import Picture, known_crops
from plate_nets.client import PlateClient
from plate_nets.contract import FRAME, PLATE_RECOGNITION, YOLO
from plate_nets.errors import InputError
from plate_nets.wirings.contract import PLATE_TEXT

_RAW, _ENCODED = PLATE_RECOGNITION.inputs
CLIENT_CHAIN = "client_chain"


class InputKind(StrEnum):
    """How a picture is handed over."""

    raw = "raw"
    encoded = "encoded"
    shm = "shm"


class Caller(Protocol):
    """Asks about pictures, one at a time, from one thread."""

    def __call__(self, picture: Picture) -> int:
        """A picture -> how many plates were answered; raises PlateError."""
        ...

    def close(self) -> None:
        """End its connection."""
        ...


Subject = Callable[[], Caller]
"""Makes a caller for one thread."""


def subject(url: str, wiring: str, kind: InputKind, control_key: str = "", timeout: float = 30.0) -> Subject:
    """A wiring of the server at ``url``, by the name of its model or `CLIENT_CHAIN`, and a kind of input.

    ``control_key`` opens the server's endpoints for shared memory.

    Raises:
        InputError: this wiring has no shared-memory input.
    """
    if kind is InputKind.shm:
        if wiring != PLATE_RECOGNITION.name:
            raise InputError(f"--input shm: only {PLATE_RECOGNITION.name} is asked so, not {wiring}")
        return lambda: _SharedMemory(url, timeout, control_key)
    if wiring == CLIENT_CHAIN:
        return lambda: _Chain(url, kind, timeout)
    if wiring == YOLO.name:
        return lambda: _Detector(url, timeout)
    if wiring == PLATE_TEXT.name:
        return lambda: _Crops(url, timeout)
    return lambda: _Model(url, wiring, kind, timeout)


class _Model:
    """A model with the inputs and outputs of `plate_recognition`."""

    def __init__(self, url: str, model: str, kind: InputKind, timeout: float) -> None:
        self._connection = Connection(url, timeout)
        self._model = model
        self._kind = kind

    def __call__(self, picture: Picture) -> int:
        if self._kind is InputKind.raw:
            given = (_RAW, picture.frame)
        else:
            given = (_ENCODED, np.frombuffer(picture.encoded, np.uint8))
        return len(self._connection.infer(self._model, [given], PLATE_RECOGNITION.outputs)[0])

    def close(self) -> None:
        self._connection.close()


class _Detector:
    """`yolo` alone, which takes raw frames."""

    def __init__(self, url: str, timeout: float) -> None:
        self._connection = Connection(url, timeout)

    def __call__(self, picture: Picture) -> int:
        return len(self._connection.infer(YOLO.name, [(FRAME, picture.frame)], YOLO.outputs)[1])

    def close(self) -> None:
        self._connection.close()


class _Crops:
    """`plate_text`, which takes crops: as many of the known plate as the picture has plates."""

    def __init__(self, url: str, timeout: float) -> None:
        self._connection = Connection(url, timeout)

    def __call__(self, picture: Picture) -> int:
        crops = known_crops(picture.plates or 1)
        return len(self._connection.infer(PLATE_TEXT.name, [(PLATE_TEXT.inputs[0], crops)], PLATE_TEXT.outputs)[0])

    def close(self) -> None:
        self._connection.close()


class _Chain:
    def __init__(self, url: str, kind: InputKind, timeout: float) -> None:
        self._chain = ClientChain(url, timeout)
        self._kind = kind

    def __call__(self, picture: Picture) -> int:
        return len(self._chain.read(picture.frame if self._kind is InputKind.raw else picture.encoded))

    def close(self) -> None:
        self._chain.close()


class _SharedMemory:
    def __init__(self, url: str, timeout: float, control_key: str) -> None:
        self._client = PlateClient(url, timeout=timeout, retries=0, shared_memory=True, control_key=control_key)

    def __call__(self, picture: Picture) -> int:
        return len(self._client.read(picture.frame))

    def close(self) -> None:
        self._client.close()
