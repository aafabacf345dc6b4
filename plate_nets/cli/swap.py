"""`plates swap`: puts a new version of a network into a running server."""

from pathlib import Path
from typing import Annotated

import typer

from plate_nets.cli.health import THIS_MACHINE
from plate_nets.cli.options import Timeout, Url
from plate_nets.client import PlateClient
from plate_nets.common.control_key import KEY_VARIABLE
from plate_nets.common.errors import InputError, PlateError, ServerUnavailable, SwapError
from plate_nets.common.extras import needs
from plate_nets.common.intake.files import read_text
from plate_nets.networks.registry import NETWORKS
from plate_nets.networks.runtimes.networks import INSTALLED
from plate_nets.triton.server import default_repository

REFUSED = 1


def swap(
    network: Annotated[
        str,
        typer.Argument(
            metavar="NETWORK",
            help=f"Network to replace: {', '.join(NETWORKS)}. yolo, yolo_fast and corners share versions.",
        ),
    ],
    weights: Annotated[
        Path | None,
        typer.Argument(metavar="[FILE]", help="New weights: safetensors of the same architecture."),
    ] = None,
    url: Url = None,
    control_key: Annotated[str | None, typer.Option(help="The server's control key.", envvar=KEY_VARIABLE)] = None,
    control_key_file: Annotated[Path | None, typer.Option(help="File with the control key.", dir_okay=False)] = None,
    model_repository: Annotated[
        Path | None,
        typer.Option(
            help="The server's own model repository; it must be writable.",
            envvar="PLATES_MODEL_REPOSITORY",
            file_okay=False,
        ),
    ] = None,
    keep: Annotated[int, typer.Option(help="How many previous versions to keep beside version 1.", min=0)] = 1,
    back: Annotated[
        bool, typer.Option("--back", help="Remove the latest version; the previous one answers again.")
    ] = False,
    list_: Annotated[bool, typer.Option("--list", help="List the versions, and which one answers.")] = False,
    timeout: Timeout = 120.0,
) -> None:
    """Replace the weights of a network in a running server, without losing a request.

    The weights are converted and compared as for a release, and must read a known picture, before the server sees them.
    Then they are loaded beside the version in service, and rolled back if the server does not read the known picture.

    Exit code: 0 if the weights are in service, 1 if they were refused or rolled back, 2 if the usage is wrong or no
    server answers.
    """
    if network not in NETWORKS:
        raise typer.BadParameter(f"expected {' or '.join(NETWORKS)}, got {network}", param_hint="NETWORK")
    model = NETWORKS[network].model.name
    if (weights is not None) + back + list_ != 1:
        raise InputError("plates swap needs exactly one of FILE, --back and --list")
    with needs("local", "a swap"):
        from plate_nets.networks.conversion.reference import REFERENCE
        from plate_nets.triton.swap import swap as swapping
    from plate_nets.triton.swap.controller import Controller
    from plate_nets.triton.swap.versions import versions

    repository = (model_repository or default_repository()).resolve()
    if repository == INSTALLED and not list_:
        raise SwapError(
            f"{repository} belongs to the installed package; copy it, "
            "and use --model-repository COPY for serve and swap"
        )
    address = url or THIS_MACHINE
    key = read_key(control_key_file) if control_key_file else control_key
    with Controller(address, key, timeout) as control, PlateClient(address, timeout=timeout) as client:
        states = control.states(model)  # checks access before the long work
        if list_:
            for version in versions(repository / model):
                typer.echo(f"{model} {version}  {states.get(version, 'not loaded').lower()}")
            return
        try:
            if weights:
                done = swapping.swap(network, weights, repository, control, client, keep)
            else:
                done = swapping.roll_back(model, repository, control, client)
        except ServerUnavailable:
            raise
        except KeyboardInterrupt:
            typer.echo(f"plates: interrupted; `plates swap {network} --list` says which version answers", err=True)
            raise
        except PlateError as error:
            typer.echo(f"plates: {error}", err=True)
            raise typer.Exit(REFUSED) from error
    for comparison in done.comparisons:
        typer.echo(f"{network}: {' + '.join(comparison.files)}, largest difference {comparison.difference:.1e}")
    if weights and not done.comparisons:
        typer.echo(
            f"{network}: not compared with its network, because there is no torch and no {REFERENCE} beside {weights}"
        )
    typer.echo(f"{model}: version {done.version} answers, {done.former} before")
    for version in done.removed:
        typer.echo(f"{model}: version {version} removed")


def read_key(path: Path) -> str:
    """Read the control key from a file.

    Raises:
        InputError: it does not open.
    """
    try:
        return read_text(path).strip()
    except InputError as error:
        raise InputError(f"--control-key-file {error}") from error
