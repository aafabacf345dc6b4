"""What all ways to a Triton have in common, and the one place where a failed call becomes an error of ours."""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPException
from pathlib import Path
from typing import Any, TypeVar

from plate_nets.answers import CONTROL_KEY, find_answer
from plate_nets.client.retry import ask
from plate_nets.client.transports.calls import Call
from plate_nets.client.url import ServerAddress
from plate_nets.closing import Closing
from plate_nets.control_key import KEY_VARIABLE
from plate_nets.errors import ConnectionLost, InputError, ServerError, ServerUnavailable

QUIET = 8.0
"""Seconds without an answer after which a server is asked whether it is still there."""
SILENT = 5.0
"""Seconds that it then has to say so."""

_NO_KEY = (
    f"wants its control key, and got none: set {KEY_VARIABLE}, or name the file of `plates serve --control-key-file`"
)
_WRONG_KEY = f"wants its control key, and got a wrong one: look at {KEY_VARIABLE}, or at the file with the key"
_OTHER_PROTOCOLS = {
    "Expected HTTP/": "speaks no HTTP; for a gRPC port write grpc://{address}",
    "Failed parsing HTTP/2": "speaks no gRPC; for an HTTP port write http://{address}",
    "Socket closed": "closes connections of gRPC; for an HTTP port write http://{address}",
}
"""Words of the libraries for an answer in another protocol -> ours; Triton's HTTP port closes connections of gRPC."""

T = TypeVar("T")


@dataclass(frozen=True)
class ServerAccess:
    """Where a server listens, and what it wants of those who ask.

    ``headers``: sent with every call (gRPC: metadata, in lower case). ``ca``: PEM file of the authority behind an
    encrypted server's certificate; by default those that the system trusts. ``control_key``: of its restricted
    endpoints, and sent with calls to these alone. ``watched``: a server that falls silent while it is asked is left
    within `QUIET` + `SILENT` seconds (`ConnectionLost`), whatever the time for the call.
    """

    address: ServerAddress
    headers: Mapping[str, str] = field(default_factory=dict)
    ca: Path | None = None
    control_key: str = ""
    watched: bool = False


class Transport(Closing, ABC):
    """Sends calls to a server."""

    def __init__(self, address: ServerAddress) -> None:
        self.address = address

    @abstractmethod
    def send(self, call: Call[T], seconds: float) -> T:
        """A call -> what its answer means; it ends within ``seconds``.

        Raises:
            PlateError: it failed; which one, `plate_nets.answers` says.
        """

    def ask(self, call_for: Callable[[float], Call[T]], timeout: float, retries: int) -> T:
        """The call for the seconds that are left -> what its answer means; asked again as `retry.ask` says.

        Raises:
            PlateError: what the last attempt raised.
        """
        return ask(lambda seconds: self.send(call_for(seconds), seconds), timeout, retries)

    @abstractmethod
    def close(self) -> None:
        """Close the connections."""


class ClientTransport(Transport):
    """Sends calls by a client of NVIDIA's; threads may share it.

    Raises:
        InputError: there is no file of the authority, or a header that cannot be sent.
    """

    def __init__(self, access: ServerAccess) -> None:
        super().__init__(access.address)
        if access.ca is not None and not access.ca.is_file():
            raise InputError(f"ca: expected a PEM file, got {access.ca}")
        for name, value in access.headers.items():
            if not re.fullmatch(r"[\t -~]*", value):  # whoever refuses it later names it, and it may be a token
                raise InputError(f"headers: {name}: expected printable ASCII characters")
        self._headers = dict(access.headers)
        self._key_headers = self._headers_for(access.control_key) if access.control_key else {}

    def send(self, call: Call[T], seconds: float) -> T:
        """See `Transport.send`."""
        # NVIDIA's HTTP client writes into the headers that it is given.
        headers = self._headers | (self._key_headers if call.restricted else {})
        with our_errors(self.address, call.restricted, bool(self._key_headers)):
            return call.meaning(self._exchange(call, headers, seconds))

    @staticmethod
    @abstractmethod
    def _headers_for(key: str) -> dict[str, str]:
        """The control key -> the headers that carry it."""

    @abstractmethod
    def _exchange(self, call: Call[Any], headers: dict[str, str], seconds: float) -> Any:
        """Ask, and wait ``seconds`` at most -> the client's answer; raises what `our_errors` knows."""


@contextmanager
def our_errors(address: ServerAddress, restricted: bool = False, with_key: bool = False) -> Iterator[None]:
    """What fails in the block, by an answer of the server or for want of one -> an error of our tree.

    ``restricted``: a call to the restricted endpoints; it holds no picture, so no refusal is the picture's fault.
    ``with_key``: such a call carries a control key.
    """
    from tritonclient.utils import InferenceServerException

    try:
        yield
    except InferenceServerException as error:
        answer, fault = find_answer(error.message() or "", str(error.status()).removeprefix("StatusCode."))
        if answer is CONTROL_KEY:
            fault = _WRONG_KEY if with_key else _NO_KEY
        if not issubclass(answer.error, InputError):
            raise answer.error(_said(address, fault)) from error
        raise (ServerError(f"{address}: {fault}") if restricted else answer.error(fault)) from error
    except ServerError as error:
        raise type(error)(f"{address}: {error}") from error
    except (OSError, HTTPException) as error:
        broken = isinstance(error, (ConnectionResetError, BrokenPipeError, HTTPException))
        raise (ConnectionLost if broken else ServerUnavailable)(
            _said(address, str(error) or type(error).__name__)
        ) from error
    except (ValueError, KeyError) as error:
        raise ServerError(f"{address}: expected an answer of Triton, got something else: {error}") from error


def _said(address: ServerAddress, fault: str) -> str:
    """A fault with where it was, in our words where the libraries' say nothing to a user."""
    for words, ours in _OTHER_PROTOCOLS.items():
        if words in fault:
            fault = ours.format(address=address)
    return f"{address}: {fault}"
