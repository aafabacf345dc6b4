"""Callers: a picture to a variant of the served pipeline -> the number of plates in the answer."""

from collections.abc import Callable
from dataclasses import replace
from enum import StrEnum
from typing import Any, Protocol

import numpy as np

from benchmarks.callers.client_chain import TIMEOUT, ClientChain
from benchmarks.callers.pictures import Picture
from plate_nets.client import PlateClient, parse_url
from plate_nets.client.transports import ServerAccess, open_transport
from plate_nets.client.transports.calls import Input, infer
from plate_nets.common.errors import InputError
from plate_nets.contract import PLATE_RECOGNITION, PLATES, YOLO, ModelSpec

_RAW, _ENCODED = PLATE_RECOGNITION.inputs
CLIENT_CHAIN = "client_chain"


class InputKind(StrEnum):
    """How a picture is sent."""

    raw = "raw"
    encoded = "encoded"
    shm = "shm"


class Caller(Protocol):
    def __call__(self, picture: Picture) -> int:
        """Send a picture -> the number of plates in the answer. Raises PlateError."""
        ...

    def close(self) -> None:
        """Close its connection."""
        ...


CallerFactory = Callable[[], Caller]
"""Creates a caller for one thread."""


def caller_factory(url: str, variant: str, kind: InputKind, control_key: str = "") -> CallerFactory:
    """A factory for a variant of the server at ``url`` (the name of its model or `CLIENT_CHAIN`) and a kind of input.

    ``control_key`` opens the server's endpoints for shared memory.

    Raises:
        InputError: this variant has no shared-memory input.
    """
    if kind is InputKind.shm:
        if variant != PLATE_RECOGNITION.name:
            raise InputError(f"--input shm: only {PLATE_RECOGNITION.name} takes it, not {variant}")
        options: dict[str, Any] = {"retries": 0, "shared_memory": True, "control_key": control_key}
        return lambda: _Reader(PlateClient(url, timeout=TIMEOUT, **options), raw=True)
    if variant == CLIENT_CHAIN:
        return lambda: _Reader(ClientChain(url), raw=kind is InputKind.raw)
    model = YOLO if variant == YOLO.name else replace(PLATE_RECOGNITION, name=variant, outputs=PLATES)
    return lambda: _Model(url, model, kind is InputKind.raw)


class _Model:
    def __init__(self, url: str, spec: ModelSpec, raw: bool) -> None:
        self._transport = open_transport(ServerAccess(parse_url(url)))
        self._spec = spec
        self._raw = raw

    def __call__(self, picture: Picture) -> int:
        encoded = np.frombuffer(picture.encoded, np.uint8)
        sent = Input(_RAW, picture.frame) if self._raw else Input(_ENCODED, encoded)
        found = self._transport.send(infer(self._spec, sent), TIMEOUT)
        return len(found[self._spec.outputs[-1].name])

    def close(self) -> None:
        self._transport.close()


class _Reader:
    """A client that reads the frame of a picture (``raw``), or its encoded bytes."""

    def __init__(self, client: PlateClient | ClientChain, raw: bool) -> None:
        self._client = client
        self._raw = raw

    def __call__(self, picture: Picture) -> int:
        return len(self._client.read(picture.frame if self._raw else picture.encoded))

    def close(self) -> None:
        self._client.close()
