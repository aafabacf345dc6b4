"""Puts a version into service under load, and rolls it back if it does not read.

The new folder appears all at once. The server loads it beside the old version, which keeps answering and finishes its
requests. Then a known picture is read, and the new version must be the one that read it.
"""

import time
from dataclasses import dataclass
from pathlib import Path

from plate_nets.client import PlateClient
from plate_nets.common.errors import PlateError, ServerError, SwapError
from plate_nets.networks.conversion.conversion import Comparison
from plate_nets.networks.registry import NETWORKS
from plate_nets.recognition.health import check_health
from plate_nets.triton.swap.controller import GONE, READY, Controller
from plate_nets.triton.swap.preparation import prepare
from plate_nets.triton.swap.versions import add, latest, locked, prune, remove, versions

CANARIES = 3
UNLOADED_WITHIN = 60.0
"""Seconds; Triton 24.10 needs 3 to 9 for a clean unload."""


@dataclass(frozen=True)
class Swapped:
    version: int
    former: int
    comparisons: tuple[Comparison, ...]
    removed: tuple[int, ...]
    """Old versions removed from the repository."""


def swap(
    network: str, weights: Path, repository: Path, control: Controller, client: PlateClient, keep: int = 1
) -> Swapped:
    """Put new weights of a network into service, as the next version of its model.

    ``keep``: how many earlier versions stay in the repository besides version 1.

    Raises:
        ContractError, WeightsError, ConversionError: see `prepare`; nothing was changed.
        SwapError: refused before anything was changed, or rolled back; the message says which.
    """
    model = NETWORKS[network].model.name
    folder = repository / model
    with locked(folder):
        former = latest(folder)
        with prepare(network, weights, repository) as (prepared, comparisons):
            version = add(prepared, folder)
            put_into_service(model, version, repository, control, client)  # before anything that Ctrl-C could end
        wait_until_unloaded(model, former, control)
        return Swapped(version, former, comparisons, tuple(prune(folder, keep)))


def roll_back(model: str, repository: Path, control: Controller, client: PlateClient) -> Swapped:
    """Remove the version in service; the previous one answers again.

    Raises:
        SwapError: there is no previous version.
        ServerError: the previous version does not load, or does not read the known picture either.
    """
    folder, texts = repository / model, reads_texts(client)
    with locked(folder):
        version = latest(folder)
        before = versions(folder)[:-1]
        if not before:
            raise SwapError(f"{model}: version {version} is the only one; there is none to go back to")
        remove(folder, version)
        control.load(model)
        canary(model, before[-1], control, client, texts)
        wait_until_unloaded(model, version, control)
    return Swapped(before[-1], version, (), (version,))


def put_into_service(model: str, version: int, repository: Path, control: Controller, client: PlateClient) -> None:
    """Have the server load a version from the repository, and test it.

    Raises:
        SwapError: it does not load or read; it was removed, and the previous version answers.
    """
    folder = repository / model
    try:
        texts = reads_texts(client)
        control.load(model)
        canary(model, version, control, client, texts)
    except BaseException as error:
        remove(folder, version)
        what = f"{model}: version {version} was rolled back"
        try:
            control.load(model)
        except PlateError as fault:
            raise SwapError(f"{what}, but the server did not load the previous one: {fault}; cause: {error}") from error
        if not isinstance(error, PlateError):
            raise
        raise SwapError(f"{what}, and {latest(folder)} answers again: {error}") from error


def reads_texts(client: PlateClient) -> bool | None:
    """True if the server reads the texts of the known picture, so that the next version must; else None.

    Afterwards its answer no longer tells: where one reader fails, one for other countries may answer.
    """
    try:
        check_health(client, texts=True)
    except PlateError:
        return None
    return True


def canary(model: str, version: int, control: Controller, client: PlateClient, texts: bool | None) -> None:
    """Raise ServerError if the known picture is not read, or not by this version. ``texts``: as in `check_health`."""
    states = control.states(model)
    if states.get(version) != READY:
        raise ServerError(
            f"{control.url} does not serve version {version} of {model}: {states.get(version, 'unknown to it')}; "
            "is it the server of this repository?"
        )
    before = control.answered(model, version)
    for _ in range(CANARIES):
        check_health(client, texts)
    if (count := control.answered(model, version) - before) < CANARIES:
        raise ServerError(f"version {version} of {model} read the known picture {count} of {CANARIES} times")


def wait_until_unloaded(model: str, version: int, control: Controller) -> None:
    """Wait until an old version has finished its last requests and is unloaded, or the deadline has passed."""
    deadline = time.monotonic() + UNLOADED_WITHIN
    while control.states(model).get(version, GONE) != GONE and time.monotonic() < deadline:
        time.sleep(0.2)
