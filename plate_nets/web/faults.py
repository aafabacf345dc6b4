"""What went wrong -> the answer of the API: code, status and one line, by the tables of `answers.py`."""

from dataclasses import asdict, dataclass

from starlette.responses import JSONResponse

from plate_nets.answers import NOT_ALLOWED, OURS, WEB, ErrorAnswer, answer_for
from plate_nets.errors import AccessDenied, PlateError


class Refused(PlateError):
    """A request that is not answered, with the row of the table for it.

    ``retry_after``: whole seconds after which the same may be asked again, where that is known.
    """

    def __init__(self, answer: ErrorAnswer, message: str, retry_after: int | None = None) -> None:
        super().__init__(message)
        self.answer = answer
        self.retry_after = retry_after


@dataclass(frozen=True)
class Fault:
    """An error as the API says it."""

    code: str
    message: str
    retry: bool


def answer_of(error: Exception) -> ErrorAnswer:
    """An exception -> its row: that of `plates web` where there is one, else that of the models."""
    if isinstance(error, Refused):
        return error.answer
    if isinstance(error, AccessDenied):  # the server behind refused us
        return NOT_ALLOWED
    return row_of(answer_for(error).says)


def row_of(code: str) -> ErrorAnswer:
    """A code -> its row: that of `plates web` where there is one, else that of the models."""
    return next(each for each in (*WEB, *OURS) if each.says == code)


def fault_of(error: Exception) -> Fault:
    """An exception -> what the caller is told: of a fault of ours nothing but that it is one."""
    answer = answer_of(error)
    known = isinstance(error, PlateError)
    return Fault(answer.says, str(error) if known else "a fault of the server; its log says more", answer.retry)


def error_response(error: Exception) -> JSONResponse:
    """An exception -> ``{"error": {...}}`` with its status."""
    wait = getattr(error, "retry_after", None)
    headers = {} if wait is None else {"Retry-After": str(wait)}
    return JSONResponse({"error": asdict(fault_of(error))}, int(answer_of(error).http), headers)
