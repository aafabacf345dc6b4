"""`python -m benchmarks.sinks`, with few events."""

import json

from benchmarks.sinks import main
from tests.commands import succeed


def test_each_sink_is_measured_and_all_at_once() -> None:
    alone, *each, together = map(json.loads, succeed(main, "--events", 20).stdout.splitlines())
    names = ["jsonl", "csv", "sqlite", "parquet", "webhook", "mqtt"]
    assert alone["sinks"] == "outbox alone" and [line["sinks"] for line in each] == names
    assert together["sinks"] == " ".join(names)
    for line in (alone, *each, together):
        assert line["faults"] == [] and 0 < line["events_per_s"] <= line["stored_per_s"], line
