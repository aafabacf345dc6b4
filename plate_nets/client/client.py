"""Asks a served pipeline: `PlateClient(url).read(picture)` -> plates.

The client sends the picture as it is and gets boxes in its pixels; it has no image code and needs no torch.
"""

import os
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from plate_nets.answers import find_answer
from plate_nets.client.retry import ask
from plate_nets.client.shared_memory import SharedMemoryTransport
from plate_nets.contract import CHARACTERS, EVIDENCE, LOGITS, PLATE_RECOGNITION, PLATES, TensorSpec
from plate_nets.control_key import KEY_VARIABLE
from plate_nets.control_key import headers as key_headers
from plate_nets.control_key import metadata as key_metadata
from plate_nets.errors import DeadlineExceeded, InputError, PlateError, ServerError, ServerUnavailable
from plate_nets.plates.formats import SCHEME, format_names
from plate_nets.recognition.reader import check_frame
from plate_nets.types import Box, Frame, Plate, Reading

WireProtocol = Literal["http", "grpc"]

_RAW, _ENCODED = PLATE_RECOGNITION.inputs
_DEFAULT_PORT = {"http": 8000, "grpc": 8001}


class PlateClient:
    """A client of one server; threads may share it.

    Args:
        url: ``host:port``, also with ``http://``, ``https://``, ``grpc://`` or ``grpcs://`` before it; the port may be
            left out where it is Triton's own (8000 or 8001).
        protocol: "http" or "grpc"; a ``grpc://`` or ``http://`` of the address comes first.
        timeout: seconds until `DeadlineExceeded`: for connecting, sending, waiting, receiving and all retries together.
        retries: how often the same picture is sent again where the server is not there or overloaded; 0 to do without.
        headers: sent with every request, such as the token that a proxy wants (gRPC: metadata, in lower case).
        ca: PEM file of the authority behind an encrypted server's certificate; by default those that the system trusts.
        shared_memory: hand pictures over in shared memory, to a server on this machine; needs its control key.
        control_key: of the server's restricted endpoints; by default what PLATES_CONTROL_KEY holds.
    """

    def __init__(
        self,
        url: str,
        protocol: WireProtocol = "http",
        timeout: float = 30.0,
        *,
        retries: int = 3,
        headers: Mapping[str, str] | None = None,
        ca: Path | None = None,
        shared_memory: bool = False,
        control_key: str | None = None,
    ) -> None:
        self.url, self.protocol, encrypted = parse_url(url, protocol)
        self.timeout = timeout
        self.retries = retries
        kind: type[_Http | _Grpc] = _Http if self.protocol == "http" else _Grpc
        key = control_key or os.environ.get(KEY_VARIABLE, "")
        transport = kind(self.url, encrypted, ca, dict(headers or {}), key)
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

    def read(self, image: Frame | bytes, *, evidence: bool = False) -> list[Plate]:
        """A picture -> its plates, highest detector score first.

        Args:
            image: a BGR frame (H, W, 3) uint8 as ``cv2.imread`` gives it, or the bytes of a JPEG, PNG, WebP or
                BMP file.
            evidence: the plates have their ``logits`` and the ``characters`` of their readings: 1.7 kB more a plate,
                which are not sent otherwise.

        Raises:
            InputError: the picture is not accepted (InputTooLarge: by its size); the message says what was expected.
            DeadlineExceeded: no answer in time.
            ServerUnavailable: no attempt was answered: nobody at the address, a model being loaded or healed, or
                (ServerOverloaded) too much to do.
            AccessDenied: a token is missing or wrong.
            ServerError: the server failed.
        """
        if isinstance(image, (bytes, bytearray, memoryview)):
            spec, array = _ENCODED, np.frombuffer(image, np.uint8)
        else:
            spec, array = _RAW, check_frame(image)
        outputs = (*PLATES, *EVIDENCE) if evidence else PLATES
        return plates(
            ask(lambda seconds: self._transport.infer(spec, array, outputs, seconds), self.timeout, self.retries)
        )

    def health(self) -> None:
        """Have the server recognise a known picture.

        Raises:
            ServerError: it is not ready, does not answer, or does not read the known picture right.
        """
        from plate_nets.recognition.health import check_health

        check_health(self)

    def is_ready(self) -> bool:
        """Whether the server says that all its models are ready; `health` knows whether that is true.

        It is asked once. Raises as `read` does.
        """
        return self._transport.is_ready(self.timeout)


def plates(outputs: Mapping[str, NDArray[Any]]) -> list[Plate]:
    """The outputs of `plate_recognition`, with `EVIDENCE` or without -> plates, row by row."""
    count = len(outputs["scores"])
    rows = zip(
        outputs["coordinates"],
        outputs["scores"],
        outputs["texts"].reshape(-1),
        outputs["readings"].reshape(-1),
        outputs["confidences"],
        outputs.get(CHARACTERS.name, np.empty((count, 0), np.float32)),
        outputs.get(LOGITS.name, [None] * count),
        strict=True,
    )
    return [
        Plate(Box(*map(float, box)), float(score), _reading(text.decode(), best.decode(), confidence, characters), own)
        for box, score, text, best, confidence, characters, own in rows
    ]


def _reading(text: str, best: str, confidence: np.float32, characters: NDArray[np.float32]) -> Reading:
    probabilities = tuple(characters[: len(best)].tolist())
    return Reading(text, best, float(confidence), probabilities, format_names(text), SCHEME)


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


class _Transport(Protocol):
    """``seconds``: the whole call ends within them."""

    def infer(
        self, spec: TensorSpec, array: NDArray[np.uint8], outputs: Sequence[TensorSpec], seconds: float
    ) -> dict[str, NDArray[Any]]: ...
    def is_ready(self, seconds: float) -> bool: ...
    def close(self) -> None: ...


def _fill(tensor: Any, array: NDArray[np.uint8], region: str | None) -> Any:
    """The `InferInput` of a picture with its bytes, or with the region of shared memory that holds them."""
    return tensor.set_shared_memory(region, array.nbytes) if region else tensor.set_data_from_numpy(array)


class _Http:
    """One tritonclient a thread: shared by threads it dies with a greenlet error."""

    def __init__(self, url: str, encrypted: bool, ca: Path | None, headers: dict[str, str], control_key: str) -> None:
        self._url = url
        self._encrypted = encrypted
        self._ca = ca
        self._headers = headers
        self._control = headers | (key_headers(control_key) if control_key else {})
        self._mine = threading.local()

    def infer(
        self,
        spec: TensorSpec,
        array: NDArray[np.uint8],
        outputs: Sequence[TensorSpec],
        seconds: float,
        region: str | None = None,
    ) -> dict[str, NDArray[Any]]:
        from tritonclient.http import InferInput, InferRequestedOutput

        tensor = _fill(InferInput(spec.name, array.shape, spec.dtype), array, region)
        wanted = [InferRequestedOutput(output.name) for output in outputs]
        answer = self._ask(
            lambda client: client.infer(
                PLATE_RECOGNITION.name,
                [tensor],
                outputs=wanted,
                timeout=_microseconds(seconds),
                headers=self._headers,
            ),
            seconds,
        )
        return _outputs(self._url, answer, outputs)

    def is_ready(self, seconds: float) -> bool:
        return bool(self._ask(lambda client: client.is_server_ready(headers=self._headers), seconds))

    def register(self, region: str, size: int, seconds: float) -> None:
        self._control_call(seconds, "register_system_shared_memory", region, f"/{region}", size)

    def unregister(self, region: str, seconds: float) -> None:
        self._control_call(seconds, "unregister_system_shared_memory", region)

    def registered(self, seconds: float) -> Collection[str]:
        return {region["name"] for region in self._control_call(seconds, "get_system_shared_memory_status")}

    def close(self) -> None:
        self._drop()
        self._mine = threading.local()  # other threads' clients close when nothing holds them any more

    def _drop(self) -> None:
        client = self._mine.__dict__.pop("client", None)
        if client is not None:
            client.close()

    def _control_call(self, seconds: float, name: str, *args: object) -> Any:
        return self._ask(lambda client: getattr(client, name)(*args, headers=self._control), seconds)

    def _ask(self, question: Callable[[Any], Any], seconds: float) -> Any:
        import gevent  # type: ignore[import-untyped]
        from geventhttpclient.response import HTTPParseError
        from tritonclient.utils import InferenceServerException

        # tritonclient's own limits are per connect, send and receive: a server that trickles would never meet one.
        limit = gevent.Timeout(seconds)
        try:
            with limit:
                return question(self._client())
        except InferenceServerException as error:
            raise _error(self._url, str(error.status()), error.message()) from error
        except gevent.Timeout as error:
            self._drop()
            if error is not limit:
                raise
            raise DeadlineExceeded(f"{self._url}: no answer within {seconds:.3g} s") from error
        except (OSError, HTTPParseError) as error:
            self._drop()
            raise ServerUnavailable(f"{self._url}: {error or type(error).__name__}") from error
        except ValueError as error:
            self._drop()
            raise ServerError(f"{self._url}: not an answer of Triton: {error}") from error

    def _client(self) -> Any:
        import gevent.ssl  # type: ignore[import-untyped]
        from tritonclient.http import InferenceServerClient

        client = getattr(self._mine, "client", None)
        if client is None:
            client = self._mine.client = InferenceServerClient(
                self._url,
                connection_timeout=None,
                network_timeout=None,
                ssl=self._encrypted,
                ssl_options={"ca_certs": str(self._ca)} if self._ca else None,
                ssl_context_factory=gevent.ssl.create_default_context,
            )
        return client


class _Grpc:
    """One channel for all threads."""

    def __init__(self, url: str, encrypted: bool, ca: Path | None, headers: dict[str, str], control_key: str) -> None:
        from tritonclient.grpc import InferenceServerClient

        self._url = url
        self._headers = headers
        self._control = headers | (key_metadata(control_key) if control_key else {})
        # gRPC's own pauses between two attempts to connect grow to 2 minutes, in which every call fails at once.
        options = [
            ("grpc.max_send_message_length", -1),
            ("grpc.max_receive_message_length", -1),
            ("grpc.initial_reconnect_backoff_ms", 100),
            ("grpc.max_reconnect_backoff_ms", 1000),
        ]
        self._client = InferenceServerClient(
            url, ssl=encrypted, root_certificates=str(ca) if ca else None, channel_args=options
        )

    def infer(
        self,
        spec: TensorSpec,
        array: NDArray[np.uint8],
        outputs: Sequence[TensorSpec],
        seconds: float,
        region: str | None = None,
    ) -> dict[str, NDArray[Any]]:
        from tritonclient.grpc import InferInput, InferRequestedOutput

        tensor = _fill(InferInput(spec.name, array.shape, spec.dtype), array, region)
        wanted = [InferRequestedOutput(output.name) for output in outputs]
        answer = self._ask(
            lambda: self._client.infer(
                PLATE_RECOGNITION.name,
                [tensor],
                outputs=wanted,
                timeout=_microseconds(seconds),
                client_timeout=seconds,
                headers=self._headers,
            )
        )
        return _outputs(self._url, answer, outputs)

    def is_ready(self, seconds: float) -> bool:
        return bool(self._ask(lambda: self._client.is_server_ready(client_timeout=seconds, headers=self._headers)))

    def register(self, region: str, size: int, seconds: float) -> None:
        self._control_call(seconds, "register_system_shared_memory", region, f"/{region}", size)

    def unregister(self, region: str, seconds: float) -> None:
        self._control_call(seconds, "unregister_system_shared_memory", region)

    def registered(self, seconds: float) -> Collection[str]:
        regions: Collection[str] = self._control_call(seconds, "get_system_shared_memory_status").regions
        return regions

    def close(self) -> None:
        self._client.close()

    def _control_call(self, seconds: float, name: str, *args: object) -> Any:
        call = getattr(self._client, name)
        return self._ask(lambda: call(*args, headers=self._control, client_timeout=seconds))

    def _ask(self, question: Callable[[], Any]) -> Any:
        from tritonclient.utils import InferenceServerException

        try:
            return question()
        except InferenceServerException as error:
            raise _error(self._url, str(error.status()), error.message()) from error


def _outputs(url: str, answer: Any, wanted: Sequence[TensorSpec]) -> dict[str, NDArray[Any]]:
    """An `InferResult` -> its outputs by name; Triton's response cache keeps errors as successes without any."""
    outputs = {output.name: answer.as_numpy(output.name) for output in wanted}
    missing = [name for name, array in outputs.items() if array is None]
    if missing:
        raise ServerError(f"{url}: an answer without {', '.join(missing)}")
    return outputs


def _microseconds(seconds: float) -> int:
    """Until when Triton may begin a request, and our models go on with it; 0 would be no limit."""
    return max(1, round(seconds * 1e6))


def _error(url: str, status: str, message: str) -> PlateError:
    """Triton's status (HTTP's number, gRPC's name) and message -> an error of our tree."""
    kind, fault = find_answer(message, status.removeprefix("StatusCode."))
    return kind.error(fault if issubclass(kind.error, InputError) else f"{url}: {fault}")
