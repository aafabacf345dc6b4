"""The base of all transports. The only place where a failed call becomes one of our errors."""

import itertools
import random
import re
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPException
from pathlib import Path
from typing import Any, TypeVar

from plate_nets.client.transports.calls import Call
from plate_nets.client.url import ServerAddress
from plate_nets.common.contexts import Closing
from plate_nets.common.control_key import KEY_VARIABLE
from plate_nets.common.error_codes import CONTROL_KEY, find_answer
from plate_nets.common.errors import ConnectionLost, DeadlineExceeded, InputError, ServerError, ServerUnavailable
from plate_nets.common.proxies import Proxy

FIRST_PAUSE = 0.1
"""Maximum seconds before the second attempt; doubled for each further one."""
LONGEST_PAUSE = 2.0
QUIET = 8.0
"""Seconds without an answer after which the client checks that the server is alive."""
SILENT = 5.0
"""Seconds within which the server must answer this check."""

_NO_KEY = (
    f"expected its control key, got none; set {KEY_VARIABLE}, or name the file of `plates serve --control-key-file`"
)
_WRONG_KEY = f"expected its control key, got a wrong one; check {KEY_VARIABLE}, or the file with the key"
_OTHER_PROTOCOLS = {
    "Expected HTTP/": "does not speak HTTP; for a gRPC port write grpc://{address}",
    "Failed parsing HTTP/2": "does not speak gRPC; for an HTTP port write http://{address}",
    "Socket closed": "closes gRPC connections; for an HTTP port write http://{address}",
}
"""The libraries' messages about an answer in another protocol -> ours. Triton's HTTP port closes gRPC connections."""

T = TypeVar("T")


@dataclass(frozen=True)
class ServerAccess:
    """The address of a server, and how to access it.

    ``headers``: sent with every call (gRPC: metadata, in lower case). ``ca``: PEM file of the authority behind an
    encrypted server's certificate; by default the system's authorities. ``control_key``: the key of its restricted
    endpoints, sent only to these. ``watched``: give up on a server that does not respond for `QUIET` + `SILENT` seconds
    (`ConnectionLost`), even if the call has more time.
    """

    address: ServerAddress
    headers: Mapping[str, str] = field(default_factory=dict)
    ca: Path | None = None
    control_key: str = ""
    watched: bool = False


def pause_after(attempt: int) -> float:
    """Seconds before the next attempt, counted from 0.

    The pause is random up to its limit ("full jitter"), so that clients that were refused together do not all come back
    together.
    """
    return random.uniform(0, min(LONGEST_PAUSE, FIRST_PAUSE * 2**attempt))


class Transport(Closing, ABC):
    def __init__(self, address: ServerAddress) -> None:
        self.address = address

    @abstractmethod
    def send(self, call: Call[T], seconds: float) -> T:
        """Send a call, and return its result within ``seconds``.

        Raises:
            PlateError: it failed; see `plate_nets.common.error_codes` for which error.
        """

    def ask(self, call_for: Callable[[float], Call[T]], timeout: float, retries: int) -> T:
        """Send the call for the remaining seconds -> its result, after at most ``retries`` retries.

        It takes at most ``timeout`` seconds. Only `ServerUnavailable` leads to a retry: an invalid picture stays
        invalid, and a fault of the server happens again.

        Raises:
            PlateError: the error of the last attempt.
        """
        deadline = time.monotonic() + timeout
        for attempt in itertools.count():
            left = max(0.0, deadline - time.monotonic())
            try:
                return self.send(call_for(left), left)
            except ServerUnavailable:
                pause = pause_after(attempt)
                if attempt >= retries or time.monotonic() + pause >= deadline:
                    raise
                time.sleep(pause)
        raise AssertionError("unreachable")

    @abstractmethod
    def close(self) -> None:
        """Close the connections."""


class ClientTransport(Transport):
    """Sends calls with one of NVIDIA's clients. Thread-safe. ``key_headers``: the control key -> the headers with it.

    Raises:
        InputError: the file of the authority is missing, or a header cannot be sent.
    """

    def __init__(self, access: ServerAccess, key_headers: Callable[[str], dict[str, str]]) -> None:
        super().__init__(access.address)
        if access.ca is not None and not access.ca.is_file():
            raise InputError(f"ca: expected a PEM file, got {access.ca}")
        for name, value in access.headers.items():
            if not re.fullmatch(r"[\t -~]*", value):  # a later error would quote it, and it may be a token
                raise InputError(f"headers: {name}: expected printable ASCII characters")
        self._headers = dict(access.headers)
        self._proxy: Proxy | None = None
        """The proxy that the connections go through."""
        self._key_headers = key_headers(access.control_key) if access.control_key else {}

    def send(self, call: Call[T], seconds: float) -> T:
        # A new dictionary, because NVIDIA's HTTP client changes it
        headers = self._headers | (self._key_headers if call.restricted else {})
        with our_errors(self.address, call.restricted, bool(self._key_headers), self._proxy):
            return call.parse(self._exchange(call, headers, seconds))

    @abstractmethod
    def _exchange(self, call: Call[Any], headers: dict[str, str], seconds: float) -> Any:
        """Send a call, wait at most ``seconds`` -> the client's answer. Raises what `our_errors` handles."""


@contextmanager
def our_errors(
    address: ServerAddress, restricted: bool = False, with_key: bool = False, proxy: Proxy | None = None
) -> Iterator[None]:
    """Turn a failure in the block into one of our errors.

    ``restricted``: a call to the restricted endpoints. It has no picture, so a refusal is never the picture's fault.
    ``with_key``: the call carries a control key. ``proxy``: what it goes through.
    """
    from tritonclient.utils import InferenceServerException

    try:
        yield
    except InferenceServerException as error:
        answer, fault = find_answer(error.message() or "", str(error.status()).removeprefix("StatusCode."))
        if answer is CONTROL_KEY:
            fault = _WRONG_KEY if with_key else _NO_KEY
        if proxy and issubclass(answer.error, (ServerUnavailable, DeadlineExceeded)):
            fault = f"{fault}, through {proxy}"
        if not issubclass(answer.error, InputError):
            raise answer.error(_message(address, fault)) from error
        raise (ServerError(f"{address}: {fault}") if restricted else answer.error(fault)) from error
    except ServerError as error:
        raise type(error)(f"{address}: {error}") from error
    except (OSError, HTTPException) as error:
        broken = isinstance(error, (ConnectionResetError, BrokenPipeError, HTTPException))
        raise (ConnectionLost if broken else ServerUnavailable)(
            _message(address, str(error) or type(error).__name__)
        ) from error
    except (ValueError, KeyError) as error:
        raise ServerError(f"{address}: expected an answer from Triton, got something else: {error}") from error


def _message(address: ServerAddress, fault: str) -> str:
    """A fault with the server's address; replaces messages of libraries that do not help a user."""
    for words, ours in _OTHER_PROTOCOLS.items():
        if words in fault:
            fault = ours.format(address=address)
    return f"{address}: {fault}"
