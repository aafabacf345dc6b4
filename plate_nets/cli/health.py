"""`plates health`: checks that a server recognises a known picture."""

import http.client
import time
import urllib.error
from typing import Annotated

import typer

from plate_nets.cli.options import Protocol, Timeout, Url
from plate_nets.client import PlateClient
from plate_nets.common.errors import PlateError
from plate_nets.common.proxies import open_url
from plate_nets.triton.supervision.health_endpoint import HEALTH

UNHEALTHY = 1
THIS_MACHINE = "127.0.0.1"
"""The default address of a server, whose port follows from the protocol."""


def health(
    url: Url = None,
    protocol: Protocol = "http",
    timeout: Timeout = 10.0,
    supervisor: Annotated[
        str | None, typer.Option(help="Ask the supervisor of `plates serve` instead: host:port of its --health-port.")
    ] = None,
) -> None:
    """Check that a server reads a known picture.

    Without --url, it asks this machine: port 8000 for HTTP, 8001 for gRPC.

    Exit code: 0 if the server reads the picture, 1 if it does not.
    """
    if supervisor:
        _ask_supervisor(supervisor, timeout)
        return
    with PlateClient(url or THIS_MACHINE, protocol, timeout) as client:
        started = time.perf_counter()
        try:
            client.health()
        except PlateError as error:
            typer.echo(f"unhealthy: {error}", err=True)
            raise typer.Exit(UNHEALTHY) from error
        typer.echo(f"healthy: {client.url} read the known picture in {(time.perf_counter() - started) * 1000:.0f} ms")


def _ask_supervisor(supervisor: str, timeout: float) -> None:
    try:
        place = supervisor.removeprefix("http://").removesuffix(HEALTH).rstrip("/")
        with open_url(f"http://{place}{HEALTH}", timeout) as answer:
            typer.echo(f"healthy: {answer.read().decode().strip()}")
    except urllib.error.HTTPError as error:
        typer.echo(f"unhealthy: {error.read().decode().strip()}", err=True)
        raise typer.Exit(UNHEALTHY) from error
    except (OSError, ValueError, http.client.HTTPException) as error:
        typer.echo(f"unhealthy: {supervisor}: {getattr(error, 'reason', error)}", err=True)
        raise typer.Exit(UNHEALTHY) from error
