"""The measured server: a running one, or an embedded one for the duration."""

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from benchmarks.server.processes import ServerProcesses, find_server
from benchmarks.server.statistics import Statistics, by_model, stage_ms
from benchmarks.variants.contract import MODEL_REPOSITORY, PACKAGE
from plate_nets.client import parse_url
from plate_nets.client.transports import ServerAccess, calls, open_transport
from plate_nets.client.transports.calls import Call, is_model_ready, server_metadata, statistics
from plate_nets.common.control_key import KEY_VARIABLE
from plate_nets.common.errors import ServerError
from plate_nets.contract import MODELS
from plate_nets.triton.server import EmbeddedTriton
from plate_nets.triton.supervision.progress import read_metrics

_LOADING = 120.0
"""Maximum seconds for a model to load."""
_METRICS = 10.0
"""Maximum seconds for the metrics to arrive."""

T = TypeVar("T")


@dataclass(frozen=True)
class MeasuredServer:
    """A server: its address, the key of its control endpoints, and its processes if they are visible."""

    url: str
    """With protocol, as `PlateClient` takes it."""
    control_key: str
    processes: ServerProcesses | None
    start_seconds: float | None
    """From start to every production model ready, warm-up included; None if it was already running."""
    metrics_url: str | None = None
    """None if it was already running."""

    def ask(self, call: Call[T], seconds: float = 30.0) -> T:
        with open_transport(ServerAccess(parse_url(self.url), control_key=self.control_key)) as transport:
            return transport.send(call, seconds)

    def statistics(self) -> Statistics | None:
        """Triton's statistics of each model, or None if the key does not give access."""
        try:
            return by_model(self.ask(statistics()))
        except ServerError:
            return None

    def stage_ms(self) -> dict[str, float]:
        """Milliseconds spent in each stage of `plate_recognition` so far, by its own clock; empty without metrics."""
        return stage_ms(read_metrics(self.metrics_url, _METRICS)) if self.metrics_url else {}

    def answers(self) -> bool:
        try:
            self.facts()
        except ServerError:
            return False
        return True

    def facts(self) -> dict[str, Any]:
        """The server's name and version, and how it was started, JSON-ready."""
        server = self.ask(server_metadata())
        return {
            "name": server.get("name"),
            "version": server.get("version"),
            "embedded": self.start_seconds is not None,
            "start_seconds": self.start_seconds,
        }

    def need(self, models: Sequence[str], load: bool = False) -> None:
        """Raise ServerError if a model is not ready. With ``load``, load it first."""
        for model in models:
            if load and not self.ask(is_model_ready(model)):
                self.ask(calls.load(model), _LOADING)
            if not self.ask(is_model_ready(model)):
                raise ServerError(f"{self.url}: the model {model} is missing or not ready")


@contextmanager
def measured_server(url: str | None, *, variants: bool = False) -> Iterator[MeasuredServer]:
    """The server at ``url``, or an embedded one in explicit mode with the production models, over HTTP.

    ``variants``: the embedded one can also load the models of `benchmarks/model_repository/`; none is loaded yet.

    Raises:
        ServerStartError: the embedded server did not become ready.
        ServerUnavailable: nothing answers at the address.
    """
    if url is not None:
        address = parse_url(url)
        yield MeasuredServer(address.url, os.environ.get(KEY_VARIABLE, ""), find_server(str(address)), None)
        return
    server = EmbeddedTriton(
        model_repositories=[MODEL_REPOSITORY] if variants else [],
        packages=[PACKAGE] if variants else [],
        model_control="explicit",
        load=list(MODELS),
        exit_timeout=0,
    )
    started = time.perf_counter()
    with server:
        seconds = time.perf_counter() - started
        url = server.http_url
        yield MeasuredServer(f"http://{url}", server.control_key, find_server(url), seconds, server.metrics_url)
