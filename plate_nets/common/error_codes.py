"""The server's error answers: the table that docs/reference/errors.md copies.

Server and client take their codes from here. The server turns an exception into a code (`answer_for`); nested calls and
the client turn an answer into an exception (`find_answer`). The code starts the message and stays in it through nested
calls (BLS), where Triton loses the status.
"""

import re
from dataclasses import dataclass

from plate_nets.common.errors import (
    AccessDenied,
    DeadlineExceeded,
    InputError,
    InputTooLarge,
    ModelDied,
    PlateError,
    ServerError,
    ServerOverloaded,
    ServerUnavailable,
    SharedMemoryFull,
)

_SHARED_MEMORY_FULL = "Failed to increase the shared memory pool"
"""Triton's message."""
_REGION = re.compile(r"key '[^']*'|\bplates_\d+_[0-9a-f]+_\w*|\btriton_python_backend_shm\w*")
"""How Triton's errors name the shared memory of its Python models."""


@dataclass(frozen=True)
class ErrorAnswer:
    """One kind of error answer.

    ``phrase``: the part of its message that identifies it: our code, or Triton's text; empty if the status does.
    ``http``, ``grpc``: its status; empty if that protocol has none.
    ``error``: the exception that `PlateClient` raises for it.
    """

    phrase: str
    http: str
    grpc: str
    error: type[PlateError]
    meaning: str

    @property
    def retry(self) -> bool:
        """Whether the same request may be answered later; recognition changes nothing, so repeating it is safe."""
        return issubclass(self.error, ServerUnavailable)

    def fits(self, message: str, status: str) -> bool:
        """Whether an answer is of this kind: by its phrase, or by its status if it has no phrase."""
        return self.phrase in message if self.phrase else bool(status) and status in (self.http, self.grpc)


_REFUSED, _LATER, _FAULT = ("400", "INVALID_ARGUMENT"), ("503", "UNAVAILABLE"), ("500", "INTERNAL")
"""HTTP and gRPC status of most answers."""

TOO_LARGE = ErrorAnswer(
    "PLATES_TOO_LARGE",
    *_REFUSED,
    InputTooLarge,
    "the picture has too many bytes or pixels; checked before it is decoded",
)
BAD_INPUT = ErrorAnswer(
    "PLATES_BAD_INPUT",
    *_REFUSED,
    InputError,
    "the picture or frame cannot be accepted; the message says what was expected",
)
OVERLOADED = ErrorAnswer("PLATES_OVERLOADED", *_LATER, ServerOverloaded, "the queue of a model of the pipeline is full")
SHARED_MEMORY = ErrorAnswer(
    "PLATES_SHARED_MEMORY",
    *_LATER,
    SharedMemoryFull,
    "the frames in progress fill the server's shared memory: send fewer at once, or raise a container's `--shm-size`",
)
UNAVAILABLE = ErrorAnswer("PLATES_UNAVAILABLE", *_LATER, ServerUnavailable, "a model of the pipeline is being loaded")
MODEL_DIED = ErrorAnswer(
    "PLATES_MODEL_DIED",
    *_LATER,
    ModelDied,
    "a model's process died, perhaps because of this picture; it is being restarted: send another, or try later",
)
TIMED_OUT = ErrorAnswer(
    "PLATES_TIMED_OUT",
    *_LATER,
    DeadlineExceeded,
    "the caller hung up, or the request's own `timeout` ran out; the rest of the work was skipped",
)
INTERNAL = ErrorAnswer(
    "PLATES_INTERNAL",
    *_FAULT,
    ServerError,
    "a fault of the server; the same picture would most likely cause it again. The server's log says more",
)

OURS = (TOO_LARGE, BAD_INPUT, SHARED_MEMORY, OVERLOADED, UNAVAILABLE, MODEL_DIED, TIMED_OUT, INTERNAL)
"""Answers of our models. A subclass comes before its base."""

CONTROL_KEY = ErrorAnswer(
    " is restricted, expecting header",
    "403",
    "UNAVAILABLE",
    AccessDenied,
    "model control, shared memory, statistics, trace or logging without the control key",
)

TRITONS = (
    ErrorAnswer("Exceeds maximum queue size", *_LATER, ServerOverloaded, "the queue is full"),
    ErrorAnswer("Request timeout expired", *_LATER, ServerOverloaded, "waited too long in the queue"),
    ErrorAnswer(
        "Request for unknown model",
        "404",
        "NOT_FOUND",
        ServerUnavailable,
        "the model is being loaded or unloaded, or the server is stopping",
    ),
    ErrorAnswer(" is not ready", "", "", ServerUnavailable, "the same, from one model to another"),
    ErrorAnswer("Server not ready", "", "", ServerUnavailable, "the same, while the server is stopping"),
    ErrorAnswer(
        _SHARED_MEMORY_FULL, *_FAULT, SharedMemoryFull, "`PLATES_SHARED_MEMORY`, if Triton itself runs into it"
    ),
    ErrorAnswer(" is not healthy", *_FAULT, ModelDied, "the model's process died, perhaps because of this picture"),
    CONTROL_KEY,
    ErrorAnswer("", *_REFUSED, InputError, "a tensor with a wrong name, dtype or shape"),
    ErrorAnswer("", "404", "NOT_FOUND", ServerError, "no model or version with this name"),
    ErrorAnswer("", "", "RESOURCE_EXHAUSTED", InputTooLarge, "the message is larger than gRPC allows"),
    ErrorAnswer("", "", "DEADLINE_EXCEEDED", DeadlineExceeded, "no answer within the caller's deadline"),
    ErrorAnswer("", "", "CANCELLED", DeadlineExceeded, "the caller hung up"),
    ErrorAnswer("", *_LATER, ServerUnavailable, "the server is starting, stopping or missing"),
)
"""Triton's own answers. Phrases come before bare statuses."""

PROXIES = (
    ErrorAnswer("", "401", "UNAUTHENTICATED", AccessDenied, "no token, or a wrong one"),
    ErrorAnswer("", "403", "PERMISSION_DENIED", AccessDenied, "not allowed"),
    ErrorAnswer("", "413", "", InputTooLarge, "the body is larger than the proxy allows"),
    ErrorAnswer("", "429", "", ServerOverloaded, "too many requests"),
    ErrorAnswer("", "502", "", ServerUnavailable, "no server behind the proxy"),
    ErrorAnswer("", "504", "", DeadlineExceeded, "the server behind the proxy did not answer in time"),
)
"""Answers of a proxy in front of Triton."""

WEB = (
    ErrorAnswer(
        "PLATES_TOO_LARGE", "413", "", InputTooLarge, "a file or picture is too large, or there are too many files"
    ),
    ErrorAnswer("PLATES_NO_ACCESS", "401", "", AccessDenied, "no token, or a wrong one"),
    ErrorAnswer(
        "PLATES_NOT_ALLOWED",
        "403",
        "",
        AccessDenied,
        "a request from another site, or an address that is not on the list",
    ),
    ErrorAnswer("PLATES_NOT_FOUND", "404", "", InputError, "nothing with this name"),
    ErrorAnswer("PLATES_WRONG_METHOD", "405", "", InputError, "the address takes another method"),
    ErrorAnswer(
        "PLATES_TOO_MANY",
        "429",
        "",
        ServerOverloaded,
        "more than the token may send; `Retry-After` says when to try again",
    ),
)
"""Answers of `plates web` only, or with another status than the models' own."""

NO_ACCESS, NOT_ALLOWED, NOT_FOUND, WRONG_METHOD, TOO_MANY = WEB[1:]


def answer_for(error: Exception) -> ErrorAnswer:
    """Return the entry of `OURS` for an exception in the server."""
    if _SHARED_MEMORY_FULL in str(error):  # Triton also raises this as an exception
        return SHARED_MEMORY
    return next((each for each in OURS if isinstance(error, each.error)), INTERNAL)


def find_answer(message: str, status: str = "") -> tuple[ErrorAnswer, str]:
    """The message of an answer, and its status as HTTP number or gRPC name -> its kind and its explanation.

    The explanation leaves out our code, but keeps Triton's text, without the names of its shared memory.
    """
    message = without_regions(message)
    for each in OURS:
        _, found, fault = message.partition(f"{each.phrase}: ")
        if found:
            return each, fault
    return next((each for each in TRITONS + PROXIES if each.fits(message, status)), INTERNAL), message


def without_regions(message: str) -> str:
    return _REGION.sub("its shared memory", message)
