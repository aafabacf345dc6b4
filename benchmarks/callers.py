"""What a load asks: a picture to a wiring -> how many plates were answered."""

from collections.abc import Callable
from dataclasses import replace
from enum import StrEnum
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from benchmarks.client_chain import ClientChain
from benchmarks.connection import Connection
from benchmarks.frames import Picture, known_crops
from benchmarks.variants.contract import PLATE_TEXT
from plate_nets.client import PlateClient
from plate_nets.contract import PLATE_RECOGNITION, PLATES, YOLO, ModelSpec, TensorSpec
from plate_nets.errors import InputError

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
    if wiring == PLATE_TEXT.name:
        return lambda: _Model(url, PLATE_TEXT, _crops, timeout)
    model = YOLO if wiring == YOLO.name else replace(PLATE_RECOGNITION, name=wiring, outputs=PLATES)
    return lambda: _Model(url, model, _raw if kind is InputKind.raw else _encoded, timeout)


Given = tuple[TensorSpec, NDArray[Any]]
"""An input and what is sent for it."""


def _raw(picture: Picture) -> Given:
    return _RAW, picture.frame


def _encoded(picture: Picture) -> Given:
    return _ENCODED, np.frombuffer(picture.encoded, np.uint8)


def _crops(picture: Picture) -> Given:
    """As many of the known plate as the picture has plates."""
    return PLATE_TEXT.inputs[0], known_crops(picture.plates or 1)


class _Model:
    """One model, asked with one input; its last output has a row a plate."""

    def __init__(self, url: str, spec: ModelSpec, given: Callable[[Picture], Given], timeout: float) -> None:
        self._connection = Connection(url, timeout)
        self._spec = spec
        self._given = given

    def __call__(self, picture: Picture) -> int:
        return len(self._connection.infer(self._spec.name, [self._given(picture)], self._spec.outputs)[-1])

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
