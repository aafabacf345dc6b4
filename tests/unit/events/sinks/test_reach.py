"""Absent receivers, moved files, full disks and `kill -9`, again and again: no event is lost or comes twice by key."""

import csv
import json
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest

from tests.disk import SmallDisk, small_disk
from tests.events import event
from tests.receiver import Receiver
from tests.waiting import eventually

pytestmark = pytest.mark.slow

_RECORDS = """
import itertools, sys, time
from pathlib import Path
from plate_nets.events.sinks.recorder import Recorder
from plate_nets.events.sinks.settings import CsvSettings, JsonlSettings, SqliteSettings, WebhookSettings
from tests.events import event

disk, first, url = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
kinds = {"jsonl": JsonlSettings, "csv": CsvSettings, "sqlite": SqliteSettings}
sinks = [kind(path=disk / f"events.{name}") for name, kind in kinds.items()]
recorder = Recorder(Path("outbox.sqlite"), [*sinks, WebhookSettings(url=url)], lambda line: print(line, flush=True))
with open("keys", "a") as keys:
    for number in itertools.count(first):
        if Path("stop").exists():
            break
        recorder.record(event(number))
        print(event(number).key, file=keys, flush=True)
        time.sleep(0.005)
while any(each.state().waiting for each in recorder.deliveries):
    time.sleep(0.1)
recorder.close()
"""
_STEP = 10
"""Events between two faults."""
_NAMES = ("events.jsonl", "events.csv", "events.sqlite")


class Recording:
    """A process that records events to three kinds of file on a disk and to a receiver, and can be restarted."""

    def __init__(self, folder: Path, disk: SmallDisk, url: str) -> None:
        self._folder = folder
        self._disk = disk
        self._url = url
        self._keys = folder / "keys"
        self._kept = folder / "kept"
        self._kept.mkdir()
        self._begun = 0
        self._moved = 0
        self._begin()

    def keys(self) -> list[str]:
        """The keys of the recorded events; the last line may be incomplete."""
        lines = self._keys.read_text(encoding="utf-8").split("\n") if self._keys.exists() else []
        return [line for line in lines if len(line) == len(event().key)]

    def go_on(self) -> None:
        """Wait for some more events."""
        wanted = len(self.keys()) + _STEP
        assert eventually(lambda: len(self.keys()) >= wanted or self._process.poll() is not None, 240)
        assert self._process.poll() is None, (self._folder / "said").read_text(encoding="utf-8")

    def move(self) -> None:
        """Move the files as logrotate does. Of a database, only the file itself moves.

        The files of the move before leave the disk, because they would fill it. No process writes to them any more.
        """
        for path in self._disk.path.glob(f"{self._moved}.*"):
            shutil.move(path, self._kept)
        self._moved += 1
        for name in _NAMES:
            with suppress(FileNotFoundError):
                (self._disk.path / name).rename(self._disk.path / f"{self._moved}.{name}")

    def fill(self) -> None:
        self._disk.fill()
        self.go_on()
        self._disk.free()

    def kill(self) -> None:
        self.close()
        self._begin()

    def end(self) -> None:
        """Let it deliver everything, and end."""
        (self._folder / "stop").touch()
        assert self._process.wait(600) == 0

    def close(self) -> None:
        self._process.kill()
        self._process.wait()

    def _begin(self) -> None:
        self._begun += 1
        arguments = [sys.executable, "-c", _RECORDS, str(self._disk.path), str(self._begun * 1_000_000), self._url]
        with (self._folder / "said").open("a") as said:
            self._process = subprocess.Popen(arguments, cwd=self._folder, stdout=said, stderr=said)


@pytest.fixture
def recording(tmp_path: Path, receiver: Receiver) -> Iterator[Recording]:
    """Its receiver is away at first."""
    receiver.close()
    with small_disk(tmp_path / "disk", 256) as disk:
        recording = Recording(tmp_path, disk, receiver.url)
        yield recording
        recording.close()


def of_lines(path: Path) -> list[str]:
    found = []
    for line in path.read_text(encoding="utf-8").splitlines():
        with suppress(json.JSONDecodeError):  # torn by a kill, and moved before anyone read it
            each = json.loads(line)
            found.append(f"{each['id']}-{each['revision']}")
    return found


def of_table(path: Path) -> list[str]:
    with path.open(encoding="utf-8", newline="") as file:
        return [f"{row['id']}-{row['revision']}" for row in csv.DictReader(file)]


def of_store(path: Path) -> list[str]:
    with closing(sqlite3.connect(path)) as database:
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        stored = [key for (key,) in database.execute("SELECT id || '-' || revision FROM events ORDER BY sequence")]
    assert len(stored) == len(set(stored)), "a store has each once, whatever came twice"
    return stored


@pytest.mark.parametrize(
    "times", [3, pytest.param(100, marks=[pytest.mark.soak, pytest.mark.timeout(7200)])], ids=["short", "100_times"]
)
def test_nothing_is_lost(
    recording: Recording, receiver: Receiver, tmp_path: Path, times: int, capsys: pytest.CaptureFixture[str]
) -> None:
    blows: list[Callable[[], None]] = [recording.move, recording.fill, recording.kill]
    for blow in blows:
        recording.go_on()
        blow()
    with closing(Receiver(receiver.port)) as back:
        for blow in blows * (times - 1):
            recording.go_on()
            blow()
        recording.go_on()
        recording.end()
        keys = recording.keys()
        found = {"webhook": [[each.headers["webhook-id"] for each in back.wait(len(keys))]]}
        bodies = {(each.headers["webhook-id"], each.body) for each in back.received}
    for name, read in zip(_NAMES, (of_lines, of_table, of_store), strict=True):
        found[name] = [read(path) for path in tmp_path.rglob(f"*{name}")]
    lost = {name: len(set(keys) - set().union(*parts)) for name, parts in found.items()}
    with capsys.disabled():
        sys.stdout.write(f"\n{len(keys)} events, {times} times moved, full and killed, lost: {lost}\n")
    assert not any(lost.values())
    for part in (part for parts in found.values() for part in parts):
        once = list(dict.fromkeys(part))
        assert once == sorted(once), "the order of the camera"
    assert len(bodies) == len({key for key, _ in bodies}), "a key is of one record"
