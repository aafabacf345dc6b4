"""`plates health`: whether the server really recognises a known picture."""

import time

import typer

from plate_nets.cli.options import Protocol, Timeout, Url
from plate_nets.client import PlateClient
from plate_nets.errors import PlateError

UNHEALTHY = 1
DEFAULT_URL = {"http": "127.0.0.1:8000", "grpc": "127.0.0.1:8001"}


def health(url: Url = None, protocol: Protocol = "http", timeout: Timeout = 10.0) -> None:
    """Exit with 0 only if the server recognises a known picture; with 1 otherwise."""
    with PlateClient(url or DEFAULT_URL[protocol], protocol, timeout) as client:
        started = time.perf_counter()
        try:
            client.health()
        except PlateError as error:
            typer.echo(f"unhealthy: {error}", err=True)
            raise typer.Exit(UNHEALTHY) from error
        typer.echo(f"healthy: {client.url} read the known picture in {(time.perf_counter() - started) * 1000:.0f} ms")
