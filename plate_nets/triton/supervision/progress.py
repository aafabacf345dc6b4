"""Distinguishes an overloaded server from a hanging model: both refuse the probe, but only the first makes progress."""

import http.client
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from prometheus_client.parser import text_string_to_metric_families

from plate_nets.common.proxies import open_url
from plate_nets.contract import PLATE_RECOGNITION

_ENDED, _WAITING = "nv_inference_exec_count", "nv_inference_pending_request_count"
_ANSWERED = "plates_frames"
"""Frames, without those of probes. The parser drops the ``_total`` at the end of counter names."""


@dataclass(frozen=True)
class Work:
    """What a server did between two checks."""

    answers: bool = False
    """Whether it answered frames."""
    hanging: tuple[str, ...] = ()
    """Models with waiting requests that finished no run."""


class Progress:
    """What a server does while it refuses the probe, according to its metrics. For one thread.

    Args:
        metrics: reads them, as Prometheus' text; may raise OSError or HTTPException.
        longest: seconds that a run may take.
    """

    def __init__(self, metrics: Callable[[], str], longest: float) -> None:
        self._metrics = metrics
        self._longest = longest
        self._since = 0.0
        self._before: tuple[int, dict[str, int]] | None = None

    def forget(self) -> None:
        """Note that the server did not refuse."""
        self._before = None

    def check(self) -> Work:
        """Call this after the server refused -> what it did since the previous refusal.

        A model hangs after ``longest`` seconds without a run. The first check knows nothing, and neither does one that
        cannot read the metrics.
        """
        try:
            answered, runs = _read(self._metrics())
        except (OSError, http.client.HTTPException, ValueError):
            return Work()
        now, before = time.monotonic(), self._before
        answers = before is not None and answered not in (0, before[0])  # 0: a new server's
        if before is not None and now - self._since < self._longest:
            return Work(answers)
        self._since, self._before = now, (answered, runs)
        standing = [model for model, count in runs.items() if before is not None and before[1].get(model) == count]
        # A model that calls a hanging model finishes no run either
        return Work(answers, tuple(model for model in standing if model != PLATE_RECOGNITION.name) or tuple(standing))


def read_metrics(url: str, timeout: float) -> str:
    with open_url(url, timeout) as answer:
        return answer.read().decode()


def _read(metrics: str) -> tuple[int, dict[str, int]]:
    """Answered frames, and runs of models with waiting requests; versions and devices are added up."""
    counts: dict[str, Counter[str]] = {_ENDED: Counter(), _WAITING: Counter(), _ANSWERED: Counter()}
    for family in text_string_to_metric_families(metrics):
        # by the family, because the parser appends _total to the samples of a counter
        for sample in family.samples if family.name in counts else ():
            counts[family.name][sample.labels.get("model", "")] += int(sample.value)
    runs = {model: counts[_ENDED][model] for model, waiting in counts[_WAITING].items() if waiting}
    return counts[_ANSWERED].total(), runs
