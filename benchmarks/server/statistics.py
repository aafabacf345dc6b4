"""Triton's statistics of each model over a run, with the batches that were formed."""

from collections.abc import Mapping, Sequence
from typing import Any

from prometheus_client.parser import text_string_to_metric_families

PHASES = ("queue", "compute_input", "compute_infer", "compute_output")
Statistics = Mapping[str, Mapping[str, Any]]
"""Model name -> its numbers so far."""


def by_model(statistics: Sequence[Mapping[str, Any]]) -> Statistics:
    """An answer of Triton's statistics extension -> the numbers of each model, summed over its versions."""
    models: dict[str, dict[str, Any]] = {}
    for each in statistics:
        model = models.setdefault(each["name"], {"rows": 0, "executions": 0, "ns": {}, "requests": 0, "batches": {}})
        times = each.get("inference_stats", {})
        model["rows"] += int(each.get("inference_count", 0))
        model["executions"] += int(each.get("execution_count", 0))
        model["requests"] += int(times.get("success", {}).get("count", 0))
        for phase in ("success", *PHASES):
            model["ns"][phase] = model["ns"].get(phase, 0) + int(times.get(phase, {}).get("ns", 0))
        for batch in each.get("batch_stats", ()):
            size = int(batch["batch_size"])
            model["batches"][size] = model["batches"].get(size, 0) + int(batch["compute_infer"].get("count", 0))
    return models


def difference(before: Statistics, after: Statistics) -> dict[str, dict[str, Any]]:
    """Two readings -> the work of each model in between; idle models are left out.

    ``requests``, ``rows`` and ``executions`` are counts; ``queue_ms`` and the like are means per request; ``total_ms``
    is the time from arrival to answer; ``batches`` maps the rows of a batch to the number of its runs.
    """
    result = {}
    for name, late in after.items():
        early = before.get(name, {})
        requests = late["requests"] - early.get("requests", 0)
        if requests <= 0:
            continue
        spent = {phase: late["ns"][phase] - early.get("ns", {}).get(phase, 0) for phase in late["ns"]}
        batches = {size: count - early.get("batches", {}).get(size, 0) for size, count in late["batches"].items()}
        result[name] = {
            "requests": requests,
            "rows": late["rows"] - early.get("rows", 0),
            "executions": late["executions"] - early.get("executions", 0),
            "total_ms": spent["success"] / requests / 1e6,
            **{f"{phase.removeprefix('compute_')}_ms": spent[phase] / requests / 1e6 for phase in PHASES},
            "batches": {str(size): count for size, count in sorted(batches.items()) if count > 0},
        }
    return result


def stage_ms(metrics: str) -> dict[str, float]:
    """The text of a server's metrics -> milliseconds spent in each stage of `plate_recognition` so far."""
    spent: dict[str, float] = {}
    for family in text_string_to_metric_families(metrics):
        for sample in family.samples if family.name == "plates_stage_seconds" else ():
            if sample.name.endswith("_sum"):
                stage = sample.labels["stage"]
                spent[stage] = spent.get(stage, 0.0) + sample.value * 1000
    return spent
