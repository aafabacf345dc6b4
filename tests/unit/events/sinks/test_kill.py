"""`kill -9` at any moment, with absent sinks: nothing is lost, and nothing comes twice once keys are known."""

import contextlib
import itertools
import json
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.events import event
from tests.receiver import Receiver

_RECORDS = """
import itertools, sys, time
from pathlib import Path
from plate_nets.events.sinks.recorder import Recorder
from plate_nets.events.sinks.settings import JsonlSettings, SqliteSettings, WebhookSettings
from tests.events import event

url, first, count, pause = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])
sinks = [WebhookSettings(url=url), JsonlSettings(path=Path("events.jsonl")), SqliteSettings(path=Path("events.sqlite"))]
recorder = Recorder(Path("outbox.sqlite"), sinks, lambda line: print(line, file=sys.stderr))
for number in range(first, first + count) if count else itertools.count(first):
    recorder.record(event(number))
    print(event(number).key, flush=True)
    time.sleep(pause)
recorder.close()
"""


class Process:
    """Records events endlessly, or ``count`` of them, and prints the key of each once it is safe.

    ``pause``: seconds between two.
    """

    def __init__(self, folder: Path, receiver_url: str, first: int, count: int = 0, pause: float = 0.0) -> None:
        arguments = [sys.executable, "-c", _RECORDS, receiver_url, str(first), str(count), str(pause)]
        self._process = subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True, cwd=folder)

    def said(self, count: int) -> list[str]:
        """Its next keys, once there are so many."""
        assert self._process.stdout is not None
        return [self._process.stdout.readline().strip() for _ in range(count)]

    def killed_after(self, count: int) -> list[str]:
        """Its keys until it was killed, which happens some time after so many."""
        said = self.said(count)
        self._process.kill()
        said += self._process.communicate()[0].splitlines()
        return [key for key in said if len(key) == len(event().key)]  # the last line may be incomplete

    def ended(self) -> list[str]:
        """Its keys, after a normal end."""
        said = self._process.communicate(timeout=120)[0].splitlines()
        assert self._process.returncode == 0
        return said


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    receiver = Receiver()
    yield receiver
    receiver.close()


_AWAY_FOR_A_MINUTE = pytest.param(600, 0.05, marks=[pytest.mark.soak, pytest.mark.timeout(900)])


@pytest.mark.parametrize(("count", "pause"), [(30, 0.0), _AWAY_FOR_A_MINUTE], ids=["short", "away_for_a_minute"])
def test_nothing_is_lost_or_delivered_twice(
    tmp_path: Path, receiver: Receiver, count: int, pause: float, capsys: pytest.CaptureFixture[str]
) -> None:
    receiver.close()  # nothing answers there yet
    recorded = Process(tmp_path, receiver.url, first=0, pause=pause).killed_after(count)
    second = Process(tmp_path, receiver.url, first=100_000, pause=pause)
    recorded += second.said(count)
    back = Receiver(receiver.port)
    back.wait(20)  # killed during delivery
    recorded += second.killed_after(30)
    for first in itertools.count(200_000, 100):  # at its end, each has ten seconds for the rest
        recorded += Process(tmp_path, receiver.url, first=first, count=5).ended()
        received = [each.headers["webhook-id"] for each in back.received]
        if set(recorded) <= set(received):
            break

    once = list(dict.fromkeys(received))
    assert [key for key in once if key in set(recorded)] == recorded, "the order of the camera"
    bodies = {(each.headers["webhook-id"], each.body) for each in back.received}
    assert len(bodies) == len(once), "a key is of one record"
    back.close()

    lines = [json.loads(line) for line in (tmp_path / "events.jsonl").read_text(encoding="utf-8").splitlines()]
    written = list(dict.fromkeys(f"{line['id']}-{line['revision']}" for line in lines))
    assert [key for key in written if key in set(recorded)] == recorded
    with contextlib.closing(sqlite3.connect(tmp_path / "events.sqlite")) as store:
        stored = [key for (key,) in store.execute("SELECT id || '-' || revision FROM events ORDER BY sequence")]
    assert len(stored) == len(set(stored)), "a store has each once, whatever came twice"
    assert set(recorded) <= set(stored)
    with capsys.disabled():
        sys.stdout.write(f"\n{len(recorded)} events, 2 kills, 0 lost; {len(received) - len(once)} came twice by key\n")
