"""``python -m benchmarks.sinks``: how many events a second each sink takes from the outbox, and all at once.

The webhook's receiver and the broker run on this machine; the broker is Debian's mosquitto.
"""

import json
import multiprocessing
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Annotated, Any

import typer

from plate_nets.events.sinks.recorder import Recorder
from plate_nets.events.sinks.settings import (
    CsvSettings,
    JsonlSettings,
    MqttSettings,
    ParquetSettings,
    SinkSettings,
    SqliteSettings,
    WebhookSettings,
)
from tests.broker import Broker
from tests.events import event
from tests.receiver import Receiver
from training.command import errors_in_one_line

_LONGEST = 600.0
"""Seconds for all events."""


@errors_in_one_line()
def main(
    events: Annotated[int, typer.Option(min=1, help="How many cars, each with one event.")] = 10_000,
) -> None:
    """Print a line of JSON for each sink, and for all at once."""
    with tempfile.TemporaryDirectory() as name, _receiver() as address, closing(Broker(Path(name))) as broker:
        folder = Path(name)
        sinks: list[SinkSettings] = [
            JsonlSettings(path=folder / "events.jsonl"),
            CsvSettings(path=folder / "events.csv"),
            SqliteSettings(path=folder / "events.sqlite", keep_days=36_500),
            ParquetSettings(folder=folder / "parquet"),
            WebhookSettings(url=address, secret="a secret"),
            MqttSettings(url=broker.url()),
        ]
        for number, taken in enumerate([[], *([each] for each in sinks), sinks]):
            typer.echo(json.dumps(_measure(folder / f"outbox-{number}.sqlite", taken, events)))


@contextmanager
def _receiver() -> Iterator[str]:
    """The address of a receiver in a process of its own, as that of a user is."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=_receive, args=(there,))
    process.start()
    try:
        yield here.recv()
    finally:
        here.send(None)
        process.join()


def _receive(user: Connection) -> None:
    with closing(Receiver()) as receiver:
        user.send(receiver.url)
        user.recv()


def _measure(outbox: Path, sinks: Sequence[SinkSettings], events: int) -> dict[str, Any]:
    """Record events as fast as the outbox takes them, and wait until the sinks have them."""
    cars = [event(number) for number in range(events)]
    faults: list[str] = []
    began, worked = time.perf_counter(), time.process_time()
    with Recorder(outbox, sinks, faults.append) as recorder:
        for car in cars:
            recorder.record(car)
        stored = time.perf_counter() - began
        # Parquet waits for more: its end is that of the recorder
        waited_for = [each for each in recorder.deliveries if each.name != ParquetSettings.type]
        while any(each.state().waiting for each in waited_for) and time.perf_counter() < began + _LONGEST:
            time.sleep(0.1)
    seconds = time.perf_counter() - began
    names = [each.type for each in sinks]
    return {
        "sinks": " ".join(names) or "outbox alone",
        "stored_per_s": round(events / stored),
        "events_per_s": round(events / seconds),
        "cpu_ms": round(1000 * (time.process_time() - worked) / events, 2),
        "faults": faults,
    }


if __name__ == "__main__":
    typer.run(main)
