"""The state of a server, and of a process's threads, as Prometheus metrics; see docs/reference/metrics.md."""

from collections.abc import Iterator, Mapping

from prometheus_client import Metric
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from plate_nets.common import threads
from plate_nets.triton.supervision.events import Status

_PREFIX = "plates_supervisor_"


class StatusCollector(Collector):
    """The state and counters of a server as metrics; the last recognition has no value before the first."""

    def __init__(self, status: Status) -> None:
        self._status = status

    def collect(self) -> Iterator[Metric]:
        """The present values. prometheus-client appends ``_total`` to the names of counters."""
        status = self._status
        yield GaugeMetricFamily(
            f"{_PREFIX}serving", "1 while the known picture is recognised", int(status.state == "serving")
        )
        yield GaugeMetricFamily(
            f"{_PREFIX}last_recognition_timestamp_seconds",
            "When the known picture was recognised last",
            status.last_recognition,
        )
        yield _counts(f"{_PREFIX}heals", "Models reloaded because they failed", "model", status.heals)
        text = "Models reloaded because their memory had grown"
        yield _counts(f"{_PREFIX}renewals", text, "model", status.renewals)
        yield CounterMetricFamily(f"{_PREFIX}restarts", "Starts of the server after the first", status.restarts)


class ThreadFaults(Collector):
    """How often a turn of each lasting thread of this process failed because of a bug."""

    def collect(self) -> Iterator[Metric]:
        text = "Turns of a thread that failed because of a bug"
        yield _counts("plates_thread_faults", text, "thread", threads.faults())


def _counts(name: str, text: str, label: str, counts: Mapping[str, int]) -> Metric:
    family = CounterMetricFamily(name, text, labels=[label])
    for each, count in counts.items():
        family.add_metric([each], count)
    return family
