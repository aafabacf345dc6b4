"""Every error this package raises on purpose.

    PlateError
    +-- InputError          the caller's picture or argument is not what is accepted
    |   +-- InputTooLarge       it is over a bound of bytes or pixels
    +-- SchemeError         a file of a plate scheme is not as it should be
    +-- WeightsError        a weights file is missing, damaged, of another network or another scheme
    +-- ConversionError     a converted model cannot be built, read, or does not give the network's numbers
    +-- ContractError       a model's configuration or tensors differ from `contract.py`
    +-- DatasetError        a labelled folder cannot be used
    +-- SourceError         a camera or a video file gives no pictures
    +-- SinkError           a place for events does not take them now
    |   +-- RecordRefused       it will never take this one
    +-- BatchError          a batch cannot go on: its source, its folder or its settings
    +-- MissingExtra        a package that an extra of this one brings is not installed
    +-- ServerError         a Triton server could not be started or reached, failed, or did not answer
        +-- ServerStartError    the embedded server did not become ready
        +-- ServerUnavailable   nothing answers, or a model is not there for the moment: ask again later
        |   +-- ServerOverloaded    it has more to do than it can: ask again later
        |       +-- SharedMemoryFull    the frames at work do not fit into its shared memory
        +-- ModelDied           a process ended at work on the question, or before it was replaced
        |   +-- ConnectionLost      the connection broke while the server was at work on the question
        +-- DeadlineExceeded    no answer within the deadline
        +-- AccessDenied        a key or token is missing or wrong
        +-- SwapError           a new version was not put into service; the former one answers

Messages name where, what, what was expected and what was found. What a server answers, and which of these it becomes:
`answers.py` and docs/reference/errors.md.
"""


class PlateError(Exception):
    """Base of all errors of this package."""


class InputError(PlateError):
    """The caller's picture or argument is not what is accepted."""


class InputTooLarge(InputError):
    """The caller's picture is over a bound of bytes or pixels."""


class SchemeError(PlateError):
    """A file of a plate scheme is not as it should be."""


class WeightsError(PlateError):
    """A weights file is missing, damaged, of another network or of another scheme."""


class ConversionError(PlateError):
    """A converted model cannot be built, read, or does not give the network's numbers."""


class ContractError(PlateError):
    """A model's configuration or tensors differ from `contract.py`."""


class DatasetError(PlateError):
    """A labelled folder cannot be used."""


class SourceError(PlateError):
    """A camera or a video file gives no pictures.

    ``unreachable``: nobody answered; otherwise somebody did, and refused or sent what is no video.
    """

    def __init__(self, message: str, *, unreachable: bool = False) -> None:
        super().__init__(message)
        self.unreachable = unreachable


class SinkError(PlateError):
    """A place for events does not take them now; they are kept and offered again."""


class RecordRefused(SinkError):
    """A place for events will never take the first of the records it was offered, which is left out."""


class BatchError(PlateError):
    """A batch cannot go on: its source or its folder cannot be used, or its settings are not those it began with."""


class MissingExtra(PlateError):
    """A package that an extra of this one brings is not installed."""

    def __init__(self, extra: str, purpose: str, package: str) -> None:
        super().__init__(f'{purpose} needs {package}: pip install "plate-nets[{extra}]"')


class ServerError(PlateError):
    """A Triton server could not be started or reached, failed, or did not answer."""


class ServerStartError(ServerError):
    """The embedded server did not become ready."""


class ServerUnavailable(ServerError):
    """Nothing answers at the address, or a model is not there for the moment: the same question may be asked later."""


class ServerOverloaded(ServerUnavailable):
    """The server has more to do than it can: the same question may be asked later."""


class SharedMemoryFull(ServerOverloaded):
    """The frames at work do not fit into the server's shared memory: the same question may be asked later.

    Where it is met by a frame alone, the server has too little for it, whenever that is asked.
    """


class ModelDied(ServerError):
    """A process of the server ended at work on the question, or had ended and was not replaced yet.

    What was asked may be the reason, so it is not asked again by itself.
    """


class ConnectionLost(ModelDied):
    """The connection broke, or nobody answered at it any more, after the question was sent and before its answer.

    The server may have ended of it. One of several servers is asked once more, a server alone is not.
    """


class DeadlineExceeded(ServerError):
    """No answer within the deadline."""


class AccessDenied(ServerError):
    """A key or token is missing or wrong."""


class SwapError(ServerError):
    """A new version was not put into service; the former one answers."""
