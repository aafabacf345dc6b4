"""Exceptions -> error answers of the API: code, status and one line, from the tables in `error_codes.py`."""

from collections.abc import Sequence
from typing import Any

from pydantic import ValidationError
from starlette.responses import JSONResponse

from plate_nets.common.error_codes import NOT_ALLOWED, OURS, WEB, ErrorAnswer, answer_for
from plate_nets.common.errors import AccessDenied, InputError, PlateError
from plate_nets.web.bodies import Fault


class Refused(PlateError):
    """A refused request, with its row of the error table.

    ``retry_after``: whole seconds after which the request may be repeated, if known.
    """

    def __init__(self, answer: ErrorAnswer, message: str, retry_after: int | None = None) -> None:
        super().__init__(message)
        self.answer = answer
        self.retry_after = retry_after


def answer_of(error: Exception) -> ErrorAnswer:
    """The error row for an exception: that of `plates web` if it has one, else that of the models."""
    if isinstance(error, Refused):
        return error.answer
    if isinstance(error, AccessDenied):  # the server behind refused us
        return NOT_ALLOWED
    return row_of(answer_for(error).phrase)


def row_of(code: str) -> ErrorAnswer:
    """The error row for a code: that of `plates web` if it has one, else that of the models."""
    return next(each for each in (*WEB, *OURS) if each.phrase == code)


def fault_of(error: Exception) -> Fault:
    """An exception -> what the caller may see; internal errors give no details."""
    answer = answer_of(error)
    known = isinstance(error, PlateError)
    message = str(error) if known else "a fault of the server; its log says more"
    return Fault(code=answer.phrase, message=message, retry=answer.retry)


def invalid(faults: Sequence[Any]) -> InputError:
    """What pydantic found in a request -> the first of it, in one line."""
    where = faults[0]["loc"] if faults[0]["loc"][0] == "body" else faults[0]["loc"][1:]
    return InputError(": ".join([*map(str, where), faults[0]["msg"]]))


def invalid_body(error: ValidationError) -> InputError:
    """What pydantic found in a body that it read itself -> the first of it, in one line."""
    return invalid([{**each, "loc": ("body", *each["loc"])} for each in error.errors()])


def error_response(error: Exception) -> JSONResponse:
    """An exception -> ``{"error": {...}}`` with its status."""
    wait = getattr(error, "retry_after", None)
    headers = {} if wait is None else {"Retry-After": str(wait)}
    return JSONResponse({"error": fault_of(error).model_dump()}, int(answer_of(error).http), headers)
