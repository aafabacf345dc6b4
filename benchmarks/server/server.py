"""The server that is measured: one that runs already, or an embedded one for the time."""

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.callers.connection import Connection
from benchmarks.server.processes import ServerProcesses, find_server
from benchmarks.server.statistics import Statistics, by_model
from benchmarks.variants.contract import MODEL_REPOSITORY, PACKAGE
from plate_nets.client import WireProtocol, parse_url
from plate_nets.contract import MODELS
from plate_nets.control_key import KEY_VARIABLE
from plate_nets.errors import ServerError
from plate_nets.server import EmbeddedTriton


@dataclass(frozen=True)
class MeasuredServer:
    """A server: its address, the key of its control endpoints, and its processes where they can be seen."""

    url: str
    """With protocol, as `PlateClient` takes it."""
    control_key: str
    processes: ServerProcesses | None
    start_seconds: float | None
    """From start to every production model ready, warm-up included; None where it ran already."""

    def connection(self, timeout: float = 30.0) -> Connection:
        """A new connection with the key."""
        return Connection(self.url, timeout, self.control_key)

    def statistics(self) -> Statistics | None:
        """Triton's statistics of each model, or None where the key does not open them."""
        connection = self.connection()
        try:
            return by_model(connection.statistics())
        except ServerError:
            return None
        finally:
            connection.close()

    def answers(self) -> bool:
        """Whether anything answers at the address."""
        try:
            self.facts()
        except ServerError:
            return False
        return True

    def facts(self) -> dict[str, Any]:
        """What the server says it is, JSON-ready."""
        connection = self.connection()
        try:
            server = connection.server()
            return {
                "name": server.get("name"),
                "version": server.get("version"),
                "embedded": self.start_seconds is not None,
                "start_seconds": self.start_seconds,
            }
        finally:
            connection.close()

    def need(self, models: Sequence[str], load: bool = False) -> None:
        """Raises ServerError where the server lacks one of these models; with ``load`` it is asked to load it first."""
        connection = self.connection(timeout=120)
        try:
            for model in models:
                if load and not connection.is_model_ready(model):
                    connection.load(model)
                if not connection.is_model_ready(model):
                    raise ServerError(f"{self.url}: has no model {model} that is ready")
        finally:
            connection.close()


@contextmanager
def measured_server(
    url: str | None,
    protocol: WireProtocol,
    repository: Path | None,
    *,
    variants: bool = False,
    log: Path | None = None,
) -> Iterator[MeasuredServer]:
    """The server at ``url``, or an embedded one in explicit mode with the production models.

    ``variants``: the embedded one also knows the models of `benchmarks/model_repository/`; none of them is loaded yet.

    Raises:
        ServerStartError: the embedded server did not become ready.
        ServerUnavailable: nothing answers at the address.
    """
    if url is not None:
        address, wire, encrypted = parse_url(url, protocol)
        full = f"{wire}{'s' * encrypted}://{address}"
        yield MeasuredServer(full, os.environ.get(KEY_VARIABLE, ""), find_server(address), None)
        return
    server = EmbeddedTriton(
        repository,
        model_repositories=[MODEL_REPOSITORY] if variants else [],
        packages=[PACKAGE] if variants else [],
        model_control="explicit",
        load=list(MODELS),
        log=log,
        exit_timeout=0,
    )
    started = time.perf_counter()
    with server:
        seconds = time.perf_counter() - started
        address = server.http_url if protocol == "http" else server.grpc_url
        yield MeasuredServer(f"{protocol}://{address}", server.control_key, find_server(address), seconds)
