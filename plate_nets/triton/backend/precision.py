"""Chooses the precision of a network in a stub, and logs it."""

from pathlib import Path

from plate_nets.networks.runtimes.openvino import Precision
from plate_nets.networks.runtimes.precision import choose
from plate_nets.triton.backend.triton import log


def chosen_precision(network: str, path: Path) -> Precision:
    """The precision from `choose` for a network, by its name and its converted file; also in the server's log.

    Raises:
        ContractError: the setting is invalid.
        WeightsError: the file is missing or does not load.
    """
    choice = choose(network, path)
    log(f"{network}: {choice.precision}: {choice.why}")
    return choice.precision
