"""Every error this package raises on purpose.

    PlateError
    +-- InputError          the caller's picture or argument is not what is accepted
    +-- WeightsError        a weights file is missing, damaged, or of another network
    +-- ContractError       a model's configuration or tensors differ from `contract.py`
    +-- DatasetError        a labelled folder cannot be used
    +-- ServerError         a Triton server could not be started, reached, or did not answer
        +-- ServerStartError    the embedded server did not become ready
        +-- ServerUnavailable   nothing answers at the address
        +-- DeadlineExceeded    no answer within the deadline

Messages name where, what, what was expected and what was found.
"""


class PlateError(Exception):
    """Base of all errors of this package."""


class InputError(PlateError):
    """The caller's picture or argument is not what is accepted."""


class WeightsError(PlateError):
    """A weights file is missing, damaged, or of another network."""


class ContractError(PlateError):
    """A model's configuration or tensors differ from `contract.py`."""


class DatasetError(PlateError):
    """A labelled folder cannot be used."""


class ServerError(PlateError):
    """A Triton server could not be started, reached, or did not answer."""


class ServerStartError(ServerError):
    """The embedded server did not become ready."""


class ServerUnavailable(ServerError):
    """Nothing answers at the address."""


class DeadlineExceeded(ServerError):
    """No answer within the deadline."""
