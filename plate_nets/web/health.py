"""The state of the server behind the page: the known picture, its models, its supervisor, its metrics."""

import asyncio
import http.client
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from prometheus_client.parser import text_string_to_metric_families

from plate_nets.client.transports import ServerAccess, open_transport
from plate_nets.client.transports.calls import is_model_ready, server_metadata
from plate_nets.client.url import parse_url
from plate_nets.common import threads
from plate_nets.common.errors import PlateError
from plate_nets.contract import needed
from plate_nets.countries import PlateScheme, default_plates
from plate_nets.recognition.health import check_health
from plate_nets.recognition.reader import VehicleReader
from plate_nets.triton.supervision.events import Status
from plate_nets.triton.supervision.progress import read_metrics

_FRESH = 5.0
"""Seconds for which an answer is reused, however many viewers there are."""
_SECONDS = 5.0

Facts = dict[str, Any]


@dataclass(frozen=True)
class Backend:
    """Where pictures are read: in this process, or by a server.

    ``url``: of a server, with its protocol; empty for this process. ``metrics_url``: of its Prometheus metrics, if
    available. ``status``: of its supervisor, if available. ``scheme``: the scheme that it reads, or several
    as one, see `joined`.
    """

    reader: VehicleReader
    kind: str
    """"local", "embedded" or "server"."""
    url: str = ""
    metrics_url: str = ""
    status: Status | None = None
    scheme: PlateScheme = field(default_factory=default_plates)


class Health:
    """Checks the backend on request, and reuses a recent answer."""

    def __init__(self, backend: Backend, more: Sequence[Callable[[], Facts]] = ()) -> None:
        self._backend = backend
        self._more = more
        self._lock = asyncio.Lock()
        self._thread = ThreadPoolExecutor(1, "health")  # its own, as slow requests may take all that they share
        self._known: tuple[float, Facts] | None = None

    def close(self) -> None:
        self._thread.shutdown(wait=False)

    async def facts(self) -> Facts:
        """Everything known, as JSON-ready values."""
        facts = await self._fresh() | {name: value for more in self._more for name, value in more().items()}
        return facts | {"threads": threads.failing()}

    async def is_well(self) -> bool:
        """Whether plates are being read, and every thread is working."""
        return (await self._fresh())["state"] == "serving" and not threads.failing()

    async def _fresh(self) -> Facts:
        async with self._lock:  # so that one check at a time takes a thread, however long the backend hangs
            if self._known is None or time.monotonic() - self._known[0] > _FRESH:
                facts = await asyncio.get_running_loop().run_in_executor(self._thread, self._ask)
                self._known = (time.monotonic(), facts)
            return self._known[1]

    def _ask(self) -> Facts:
        backend = self._backend
        started = time.perf_counter()
        fault = ""
        try:
            check_health(backend.reader)
        except PlateError as error:
            fault = str(error)
        return {
            "state": "failing" if fault else "serving",
            "fault": fault,
            "known_picture_milliseconds": None if fault else round((time.perf_counter() - started) * 1000, 1),
            "asked": time.time(),
            "backend": {"kind": backend.kind, "url": backend.url},
            **(self._ask_server(backend) if backend.url else {}),
            "supervisor": backend.status.summary() if backend.status else None,
            "stages": _stage_means(backend.metrics_url) if backend.metrics_url else {},
        }

    def _ask_server(self, backend: Backend) -> Facts:
        names = needed(backend.scheme.members or [backend.scheme])
        try:
            with open_transport(ServerAccess(parse_url(backend.url))) as transport:
                version = transport.send(server_metadata(), _SECONDS).get("version", "")
                models = [{"name": each, "ready": transport.send(is_model_ready(each), _SECONDS)} for each in names]
        except PlateError as error:
            return {"version": "", "models": [], "models_fault": str(error)}
        return {"version": version, "models": models}


def _stage_means(url: str) -> dict[str, float]:
    """A Triton's metrics -> mean milliseconds of each stage of its requests; empty if they cannot be read."""
    sums: Counter[str] = Counter()
    counts: Counter[str] = Counter()
    try:
        for family in text_string_to_metric_families(read_metrics(url, _SECONDS)):
            for sample in family.samples if family.name == "plates_stage_seconds" else ():
                totals = sums if sample.name.endswith("_sum") else counts if sample.name.endswith("_count") else None
                if totals is not None:
                    totals[sample.labels["stage"]] += sample.value  # type: ignore[assignment]
    except (OSError, http.client.HTTPException, ValueError):
        return {}
    return {stage: round(sums[stage] / count * 1000, 1) for stage, count in counts.items() if count}
