"""The server that is measured: one that runs already, or an embedded one for the time."""

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from benchmarks.processes import ServerProcesses, find_server
from benchmarks.server_side import Statistics, by_model
from benchmarks.variants.contract import PLATE_RECOGNITION_ENSEMBLE, PLATE_RECOGNITION_PYTHON
from plate_nets.client import WireProtocol, parse_url
from plate_nets.client.transports import ServerAccess, calls, open_transport
from plate_nets.client.transports.calls import Call, is_model_ready, server_metadata, statistics
from plate_nets.contract import MODELS
from plate_nets.control_key import KEY_VARIABLE
from plate_nets.errors import ServerError, ServerStartError
from plate_nets.server import EmbeddedTriton, response_cache_options

OTHER_WIRINGS = (PLATE_RECOGNITION_ENSEMBLE.name, PLATE_RECOGNITION_PYTHON.name)
"""Models with the inputs and outputs of `plate_recognition` that only the comparison of wirings needs."""
PACKAGE = Path(__file__).resolve().parent
WIRINGS = PACKAGE / "model_repository"
"""Where they are in a checkout."""
_LOADING = 120.0
"""Seconds that a model may take to load."""

T = TypeVar("T")


@dataclass(frozen=True)
class Target:
    """A server: its address, the key of its control endpoints, and its processes where they can be seen."""

    url: str
    """With protocol, as `PlateClient` takes it."""
    control_key: str
    processes: ServerProcesses | None
    start_seconds: float | None
    """From start to every production model ready, warm-up included; None where it ran already."""

    def ask(self, call: Call[T], seconds: float = 30.0) -> T:
        """A call to the server, with the key -> what it answers."""
        with open_transport(ServerAccess(parse_url(self.url), control_key=self.control_key)) as transport:
            return transport.send(call, seconds)

    def statistics(self) -> Statistics | None:
        """Triton's statistics of each model, or None where the key does not open them."""
        try:
            return by_model(self.ask(statistics()))
        except ServerError:
            return None

    def answers(self) -> bool:
        """Whether anything answers at the address."""
        try:
            self.facts()
        except ServerError:
            return False
        return True

    def facts(self) -> dict[str, Any]:
        """What the server says it is, JSON-ready."""
        server = self.ask(server_metadata())
        return {
            "name": server.get("name"),
            "version": server.get("version"),
            "embedded": self.start_seconds is not None,
            "start_seconds": self.start_seconds,
        }

    def need(self, models: Sequence[str], load: bool = False) -> None:
        """Raises ServerError where the server lacks one of these models; with ``load`` it is asked to load it first."""
        for model in models:
            if load and not self.ask(is_model_ready(model)):
                self.ask(calls.load(model), _LOADING)
            if not self.ask(is_model_ready(model)):
                raise ServerError(f"{self.url}: has no model {model} that is ready")


@contextmanager
def target(
    url: str | None,
    protocol: WireProtocol,
    repository: Path | None,
    *,
    wirings: Path | None = None,
    response_cache: int = 0,
    log: Path | None = None,
) -> Iterator[Target]:
    """The server at ``url``, or an embedded one in explicit mode with the production models.

    ``wirings``: a second repository, of which nothing is loaded yet. ``response_cache``: bytes of the embedded
    server's cache, 0 for none.

    Raises:
        ServerStartError: the embedded server did not become ready.
        ServerUnavailable: nothing answers at the address.
    """
    if url is not None:
        address = parse_url(url, protocol)
        yield Target(address.url, os.environ.get(KEY_VARIABLE, ""), find_server(str(address)), None)
        return
    if wirings is not None and not wirings.is_dir():
        raise ServerStartError(f"{wirings}: no such model repository; run it in a checkout")
    server = EmbeddedTriton(
        repository,
        model_repositories=[wirings] if wirings else [],
        packages=[PACKAGE] if wirings else [],
        model_control="explicit",
        load=list(MODELS),
        options=response_cache_options(response_cache) if response_cache else (),
        log=log,
        exit_timeout=0,
    )
    started = time.perf_counter()
    with server:
        seconds = time.perf_counter() - started
        listens = server.http_url if protocol == "http" else server.grpc_url
        yield Target(f"{protocol}://{listens}", server.control_key, find_server(listens), seconds)
