"""Asks a served pipeline: `PlateClient(url).read(picture)` -> plates.

The client sends the picture as it is and gets boxes in its pixels; it has no image code and needs no torch.
"""

import os
import threading
from collections.abc import Callable, Collection, Mapping
from types import TracebackType
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from plate_nets.contract import PLATE_RECOGNITION, TensorSpec
from plate_nets.control import KEY_VARIABLE, headers, metadata
from plate_nets.errors import DeadlineExceeded, InputError, PlateError, ServerError, ServerUnavailable
from plate_nets.serving.messages import BAD_INPUT
from plate_nets.shared_memory import SharedMemoryTransport
from plate_nets.types import Box, Frame, Plate

WireProtocol = Literal["http", "grpc"]

_RAW, _ENCODED = PLATE_RECOGNITION.inputs
_DEFAULT_PORT = {"http": 8000, "grpc": 8001}


class PlateClient:
    """A client of one server; threads may share it.

    Args:
        url: ``host:port``, also with ``http://``, ``https://``, ``grpc://`` or ``grpcs://`` before it; the port may be
            left out where it is Triton's own (8000 or 8001).
        protocol: "http" or "grpc"; a ``grpc://`` or ``http://`` of the address comes first.
        timeout: seconds until `DeadlineExceeded`.
        shared_memory: hand pictures over in shared memory, to a server on this machine; needs its control key.
        control_key: of the server's restricted endpoints; by default what PLATES_CONTROL_KEY holds.
    """

    def __init__(
        self,
        url: str,
        protocol: WireProtocol = "http",
        timeout: float = 30.0,
        *,
        shared_memory: bool = False,
        control_key: str | None = None,
    ) -> None:
        self.url, self.protocol, encrypted = parse_url(url, protocol)
        self.timeout = timeout
        kind: type[_Http | _Grpc] = _Http if self.protocol == "http" else _Grpc
        transport = kind(self.url, timeout, encrypted, control_key or os.environ.get(KEY_VARIABLE, ""))
        self._transport: _Transport = SharedMemoryTransport(transport, self.url) if shared_memory else transport

    def __enter__(self) -> "PlateClient":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._transport.close()

    def read(self, image: Frame | bytes) -> list[Plate]:
        """A picture -> its plates, highest detector score first.

        Args:
            image: a BGR frame (H, W, 3) uint8 as ``cv2.imread`` gives it, or the bytes of a JPEG, PNG, WebP or
                BMP file.

        Raises:
            InputError: the picture is not accepted; the message says what was expected.
            DeadlineExceeded: no answer in time.
            ServerUnavailable: nothing answers at the address.
            ServerError: the server failed.
        """
        if isinstance(image, (bytes, bytearray, memoryview)):
            spec, array = _ENCODED, np.frombuffer(image, np.uint8)
        else:
            spec, array = _RAW, _frame(image)
        return plates(self._transport.infer(spec, array))

    def health(self) -> None:
        """Have the server recognise a known picture.

        Raises:
            ServerError: it is not ready, does not answer, or does not read the known picture right.
        """
        from plate_nets.health import check_health

        check_health(self)

    def is_ready(self) -> bool:
        """Whether the server says that all its models are ready; `health` knows whether that is true."""
        return self._transport.is_ready()


def plates(outputs: Mapping[str, NDArray[Any]]) -> list[Plate]:
    """The outputs of `plate_recognition` -> plates, row by row."""
    rows = zip(
        outputs["coordinates"],
        outputs["scores"],
        outputs["texts"].reshape(-1),
        outputs["readings"].reshape(-1),
        outputs["confidences"],
        strict=True,
    )
    return [
        Plate(Box(*map(float, box)), float(score), text.decode(), reading.decode(), float(confidence))
        for box, score, text, reading, confidence in rows
    ]


def parse_url(url: str, protocol: str) -> tuple[str, WireProtocol, bool]:
    """An address -> ``host:port``, protocol, and whether it is encrypted.

    Raises:
        InputError: not an address, or a protocol other than http and grpc.
    """
    scheme, found, rest = url.partition("://")
    if found:
        protocol, url = scheme, rest
    encrypted = protocol in ("https", "grpcs")
    wire = protocol.removesuffix("s") if encrypted else protocol
    host, _, port = url.rstrip("/").partition(":")
    if not host or (port and not port.isdecimal()):
        raise InputError(f"url: expected host:port, got {url!r}")
    if wire == "http":
        return f"{host}:{port or _DEFAULT_PORT[wire]}", "http", encrypted
    if wire == "grpc":
        return f"{host}:{port or _DEFAULT_PORT[wire]}", "grpc", encrypted
    raise InputError(f"protocol: expected http or grpc, got {protocol!r}")


def _frame(image: Frame) -> Frame:
    if not isinstance(image, np.ndarray) or image.dtype != np.uint8 or image.ndim != 3 or image.shape[2] != 3:
        got = f"{image.dtype} {image.shape}" if isinstance(image, np.ndarray) else type(image).__name__
        raise InputError(f"image: expected bytes, or a BGR frame of uint8 (height, width, 3), got {got}")
    return np.ascontiguousarray(image)


class _Transport(Protocol):
    def infer(self, spec: TensorSpec, array: NDArray[np.uint8]) -> dict[str, NDArray[Any]]: ...
    def is_ready(self) -> bool: ...
    def close(self) -> None: ...


def _fill(tensor: Any, array: NDArray[np.uint8], region: str | None) -> Any:
    """The `InferInput` of a picture with its bytes, or with the region of shared memory that holds them."""
    return tensor.set_shared_memory(region, array.nbytes) if region else tensor.set_data_from_numpy(array)


class _Http:
    """One tritonclient a thread: shared by threads it dies with a greenlet error."""

    def __init__(self, url: str, timeout: float, encrypted: bool, control_key: str) -> None:
        self._url = url
        self._timeout = timeout
        self._encrypted = encrypted
        self._control = headers(control_key) if control_key else {}
        self._mine = threading.local()

    def infer(self, spec: TensorSpec, array: NDArray[np.uint8], region: str | None = None) -> dict[str, NDArray[Any]]:
        from tritonclient.http import InferInput, InferRequestedOutput

        tensor = _fill(InferInput(spec.name, array.shape, spec.dtype), array, region)
        outputs = [InferRequestedOutput(output.name) for output in PLATE_RECOGNITION.outputs]
        answer = self._ask(lambda client: client.infer(PLATE_RECOGNITION.name, [tensor], outputs=outputs))
        return {output.name: answer.as_numpy(output.name) for output in PLATE_RECOGNITION.outputs}

    def is_ready(self) -> bool:
        return bool(self._ask(lambda client: client.is_server_ready()))

    def register(self, region: str, size: int) -> None:
        self._control_call("register_system_shared_memory", region, f"/{region}", size)

    def unregister(self, region: str) -> None:
        self._control_call("unregister_system_shared_memory", region)

    def registered(self) -> Collection[str]:
        return {region["name"] for region in self._control_call("get_system_shared_memory_status")}

    def close(self) -> None:
        self._drop()
        self._mine = threading.local()  # other threads' clients close when nothing holds them any more

    def _drop(self) -> None:
        client = self._mine.__dict__.pop("client", None)
        if client is not None:
            client.close()

    def _control_call(self, name: str, *args: object) -> Any:
        return self._ask(lambda client: getattr(client, name)(*args, headers=self._control))

    def _ask(self, question: Callable[[Any], Any]) -> Any:
        from geventhttpclient.response import HTTPParseError
        from tritonclient.http import InferenceServerClient
        from tritonclient.utils import InferenceServerException

        client = getattr(self._mine, "client", None)
        if client is None:
            client = self._mine.client = InferenceServerClient(
                self._url, connection_timeout=self._timeout, network_timeout=self._timeout, ssl=self._encrypted
            )
        try:
            return question(client)
        except InferenceServerException as error:
            raise _error(self._url, str(error.status()), error.message()) from error
        except TimeoutError as error:
            self._drop()
            raise DeadlineExceeded(f"{self._url}: no answer within {self._timeout:g} s") from error
        except (OSError, HTTPParseError) as error:
            self._drop()
            raise ServerUnavailable(f"{self._url}: {error or type(error).__name__}") from error
        except ValueError as error:
            self._drop()
            raise ServerError(f"{self._url}: not an answer of Triton: {error}") from error


class _Grpc:
    """One channel for all threads."""

    def __init__(self, url: str, timeout: float, encrypted: bool, control_key: str) -> None:
        from tritonclient.grpc import InferenceServerClient

        self._url = url
        self._timeout = timeout
        self._control = metadata(control_key) if control_key else {}
        self._client = InferenceServerClient(url, ssl=encrypted)

    def infer(self, spec: TensorSpec, array: NDArray[np.uint8], region: str | None = None) -> dict[str, NDArray[Any]]:
        from tritonclient.grpc import InferInput, InferRequestedOutput

        tensor = _fill(InferInput(spec.name, array.shape, spec.dtype), array, region)
        outputs = [InferRequestedOutput(output.name) for output in PLATE_RECOGNITION.outputs]
        answer = self._ask(
            lambda: self._client.infer(PLATE_RECOGNITION.name, [tensor], outputs=outputs, client_timeout=self._timeout)
        )
        return {output.name: answer.as_numpy(output.name) for output in PLATE_RECOGNITION.outputs}

    def is_ready(self) -> bool:
        return bool(self._ask(lambda: self._client.is_server_ready(client_timeout=self._timeout)))

    def register(self, region: str, size: int) -> None:
        self._control_call("register_system_shared_memory", region, f"/{region}", size)

    def unregister(self, region: str) -> None:
        self._control_call("unregister_system_shared_memory", region)

    def registered(self) -> Collection[str]:
        regions: Collection[str] = self._control_call("get_system_shared_memory_status").regions
        return regions

    def close(self) -> None:
        self._client.close()

    def _control_call(self, name: str, *args: object) -> Any:
        call = getattr(self._client, name)
        return self._ask(lambda: call(*args, headers=self._control, client_timeout=self._timeout))

    def _ask(self, question: Callable[[], Any]) -> Any:
        from tritonclient.utils import InferenceServerException

        try:
            return question()
        except InferenceServerException as error:
            raise _error(self._url, str(error.status()), error.message()) from error


def _error(url: str, status: str, message: str) -> PlateError:
    """Triton's status (HTTP's number, gRPC's name) and message -> an error of our tree."""
    _, found, fault = message.partition(f"{BAD_INPUT}: ")
    if found:
        return InputError(fault)
    kind = status.removeprefix("StatusCode.")
    if kind in ("400", "INVALID_ARGUMENT"):
        return InputError(message)
    if kind in ("DEADLINE_EXCEEDED", "504", "499", "CANCELLED"):
        return DeadlineExceeded(f"{url}: {message}")
    if kind in ("UNAVAILABLE", "502", "503"):
        return ServerUnavailable(f"{url}: {message}")
    return ServerError(f"{url}: {message} ({kind})")
