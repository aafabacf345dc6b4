"""Whether a server that refuses the probe gets work done: one whose model hangs refuses as an overloaded one does."""

import http.client
import time
import urllib.request
from collections import Counter
from collections.abc import Callable

from prometheus_client.parser import text_string_to_metric_families

from plate_nets.contract import PLATE_RECOGNITION

_ENDED, _WAITING = "nv_inference_exec_count", "nv_inference_pending_request_count"


class Progress:
    """What the models do while the server refuses, by Triton's own metrics; for one thread.

    Args:
        metrics: reads them, as Prometheus' text; may raise OSError or HTTPException.
        longest: seconds that a run may take.
    """

    def __init__(self, metrics: Callable[[], str], longest: float) -> None:
        self._metrics = metrics
        self._longest = longest
        self._since = 0.0
        self._before: dict[str, int] | None = None

    def forget(self) -> None:
        """The server did not refuse."""
        self._before = None

    def hanging(self) -> tuple[str, ...]:
        """It refused just now -> models with requests waiting that ended no run for ``longest`` seconds.

        None before it has refused for so long, and where the metrics cannot be read.
        """
        try:
            runs = _runs_of_awaited(self._metrics())
        except (OSError, http.client.HTTPException, ValueError):
            return ()
        now, before = time.monotonic(), self._before
        if before is not None and now - self._since < self._longest:
            return ()
        self._since, self._before = now, runs
        standing = [model for model, count in runs.items() if before is not None and before.get(model) == count]
        # Who calls a model that hangs stands still too
        return tuple(model for model in standing if model != PLATE_RECOGNITION.name) or tuple(standing)


def read_metrics(url: str, timeout: float) -> str:
    """What a server shows at its metrics port."""
    with urllib.request.urlopen(url, timeout=timeout) as answer:
        text: str = answer.read().decode()
    return text


def _runs_of_awaited(metrics: str) -> dict[str, int]:
    """Models with requests waiting -> the runs that each has ended; versions and devices are added up."""
    counts: dict[str, Counter[str]] = {_ENDED: Counter(), _WAITING: Counter()}
    for family in text_string_to_metric_families(metrics):
        # by the family: of a counter the parser ends the names of samples with _total
        for sample in family.samples if family.name in counts else ():
            counts[family.name][sample.labels.get("model", "")] += int(sample.value)
    return {model: counts[_ENDED][model] for model, waiting in counts[_WAITING].items() if waiting}
