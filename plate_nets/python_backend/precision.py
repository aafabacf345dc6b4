"""The precision of a network in a stub: chosen as in any process, and said in the server's log."""

from pathlib import Path

from plate_nets.python_backend.triton import log
from plate_nets.runtimes.openvino import Precision
from plate_nets.runtimes.precision import choose


def chosen_precision(network: str, path: Path) -> Precision:
    """A network, by its name and its converted file -> what `choose` says, logged.

    Raises:
        ContractError: the setting is none that there is.
        WeightsError: the file is missing or does not load.
    """
    choice = choose(network, path)
    log(f"{network}: {choice.precision}: {choice.why}")
    return choice.precision
