"""Every error this package raises on purpose.

    PlateError
    +-- InputError          the caller's picture or argument cannot be accepted
    |   +-- InputTooLarge       it has too many bytes or pixels
    +-- SchemeError         a scheme file is not valid
    +-- WeightsError        a weights file is missing, damaged, or belongs to another network or scheme
    +-- ConversionError     a converted model cannot be built or read, or does not give the network's numbers
    +-- ContractError       a model's configuration or tensors differ from `contract.py`
    +-- DatasetError        a labelled folder cannot be used
    +-- SourceError         a camera or a video file gives no pictures
    +-- SinkError           a sink cannot take events at the moment
    |   +-- RecordRefused       it will never take this event
    +-- BatchError          a batch cannot continue: its source, its folder or its settings
    +-- MissingExtra        an extra of this package is not installed
    +-- ServerError         a Triton server could not be started or reached, failed, or did not answer
        +-- ServerStartError    the embedded server did not become ready
        +-- ServerUnavailable   nothing answers, or a model is missing at the moment: try again later
        |   +-- ServerOverloaded    it is too busy: try again later
        |       +-- SharedMemoryFull    the frames in progress do not fit into its shared memory
        +-- ModelDied           a process died while working on the request, or was not replaced yet
        |   +-- ConnectionLost      the connection broke while the server was working on the request
        +-- DeadlineExceeded    no answer within the deadline
        +-- AccessDenied        a key or token is missing or wrong
        +-- SwapError           a new version was not put into service; the former one still answers

A message says where the error is, what was expected and what was found. `error_codes.py` and docs/reference/errors.md
say which answer of a server becomes which of these.
"""


class PlateError(Exception):
    """Base of all errors of this package."""


class InputError(PlateError):
    """The caller's picture or argument cannot be accepted."""


class InputTooLarge(InputError):
    """The caller's picture has too many bytes or pixels."""


class SchemeError(PlateError):
    """A scheme file is not valid."""


class WeightsError(PlateError):
    """A weights file is missing, damaged, or belongs to another network or scheme."""


class ConversionError(PlateError):
    """A converted model cannot be built or read, or does not give the network's numbers."""


class ContractError(PlateError):
    """A model's configuration or tensors differ from `contract.py`."""


class DatasetError(PlateError):
    """A labelled folder cannot be used."""


class SourceError(PlateError):
    """A camera or a video file gives no pictures.

    ``unreachable``: nothing answered. Otherwise something answered, but refused or did not send a video.
    """

    def __init__(self, message: str, *, unreachable: bool = False) -> None:
        super().__init__(message)
        self.unreachable = unreachable


class SinkError(PlateError):
    """A sink cannot take events at the moment; they are kept and sent again.

    ``retry_after``: seconds after which the other side wants to be asked again, if it said so.
    """

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class RecordRefused(SinkError):
    """A sink will never take the first of the records that it was sent; that record is skipped."""


class BatchError(PlateError):
    """A batch cannot continue: its source or folder cannot be used, or its settings differ from those it began with."""


class MissingExtra(PlateError):
    """An extra of this package is not installed."""

    def __init__(self, extra: str, purpose: str, package: str) -> None:
        super().__init__(f'{purpose} needs {package}: pip install "plate-nets[{extra}]"')


class ServerError(PlateError):
    """A Triton server could not be started or reached, failed, or did not answer."""


class ServerStartError(ServerError):
    """The embedded server did not become ready."""


class ServerUnavailable(ServerError):
    """Nothing answers at the address, or a model is missing at the moment. You may send the same request later."""


class ServerOverloaded(ServerUnavailable):
    """The server is too busy. You may send the same request later."""


class SharedMemoryFull(ServerOverloaded):
    """The frames in progress do not fit into the server's shared memory. You may send the same request later.

    If a single frame causes it, the server has too little shared memory for that frame at any time.
    """


class ModelDied(ServerError):
    """A process of the server died while working on the request, or had died and was not replaced yet.

    The request may be the reason, so the client does not repeat it.
    """


class ConnectionLost(ModelDied):
    """The connection broke, or went silent, after the request was sent and before its answer came.

    The request may have ended the server. The client repeats it once if it has several servers, otherwise not.
    """


class DeadlineExceeded(ServerError):
    """No answer within the deadline."""


class AccessDenied(ServerError):
    """A key or token is missing or wrong."""


class SwapError(ServerError):
    """A new version was not put into service; the former one still answers."""
