"""Counters of the page and the API, for Prometheus and for the section Health."""

from collections import Counter
from collections.abc import Callable

import prometheus_client
from prometheus_client import CollectorRegistry, Gauge, Histogram

from plate_nets.triton.supervision.metrics import ThreadFaults
from plate_nets.web import bodies


class WebMetrics:
    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.registry.register(ThreadFaults())
        self._pictures = prometheus_client.Counter("plates_web_pictures", "Pictures read", registry=self.registry)
        self._errors = prometheus_client.Counter(
            "plates_web_errors", "Pictures refused or failed, by code", ["code"], registry=self.registry
        )
        self._seconds = Histogram(
            "plates_web_picture_seconds", "Time of a picture, without its upload", registry=self.registry
        )

    def read(self, picture: bodies.Picture) -> None:
        if picture.error is not None:
            self._errors.labels(picture.error.code).inc()
        elif picture.milliseconds is not None:
            self._pictures.inc()
            self._seconds.observe(picture.milliseconds / 1000)

    def watch(self, name: str, text: str, value: Callable[[], float]) -> None:
        """Register a gauge whose value is computed when it is read."""
        Gauge(f"plates_web_{name}", text, registry=self.registry).set_function(value)

    def facts(self) -> dict[str, float]:
        """Every sample of counters and gauges by name, summed over labels."""
        facts: Counter[str] = Counter()
        for family in self.registry.collect():
            for sample in family.samples if family.type in ("counter", "gauge") else ():
                if not sample.name.endswith("_created"):
                    facts[sample.name] += sample.value  # type: ignore[assignment]
        return dict(facts)
