"""Files that move, disks that fill, processes that are killed, again and again: no event is lost."""

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
from tests.waiting import eventually

_RECORDS = """
import itertools, sys, time
from pathlib import Path
from plate_nets.events.sinks.recorder import Recorder
from plate_nets.events.sinks.settings import CsvSettings, JsonlSettings, SqliteSettings
from tests.events import event

disk, first = Path(sys.argv[1]), int(sys.argv[2])
kinds = {"jsonl": JsonlSettings, "csv": CsvSettings, "sqlite": SqliteSettings}
sinks = [kind(path=disk / f"events.{name}") for name, kind in kinds.items()]
recorder = Recorder(Path("outbox.sqlite"), sinks, lambda line: print(line, flush=True))
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
    """A process that records events to three kinds of file on a disk, and can be restarted."""

    def __init__(self, folder: Path, disk: SmallDisk) -> None:
        self._folder = folder
        self._disk = disk
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
        self._process.kill()
        self._process.wait()
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
        arguments = [sys.executable, "-c", _RECORDS, str(self._disk.path), str(self._begun * 1_000_000)]
        with (self._folder / "said").open("a") as said:
            self._process = subprocess.Popen(arguments, cwd=self._folder, stdout=said, stderr=said)


@pytest.fixture
def recording(tmp_path: Path) -> Iterator[Recording]:
    with small_disk(tmp_path / "disk", 256) as disk:
        recording = Recording(tmp_path, disk)
        yield recording
        recording.close()


def of_lines(path: Path) -> set[str]:
    found = set()
    for line in path.read_text(encoding="utf-8").splitlines():
        with suppress(json.JSONDecodeError):  # torn by a kill, and moved before anyone read it
            each = json.loads(line)
            found.add(f"{each['id']}-{each['revision']}")
    return found


def of_table(path: Path) -> set[str]:
    with path.open(encoding="utf-8", newline="") as file:
        return {f"{row['id']}-{row['revision']}" for row in csv.DictReader(file)}


def of_store(path: Path) -> set[str]:
    with closing(sqlite3.connect(path)) as database:
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        return {key for (key,) in database.execute("SELECT id || '-' || revision FROM events")}


@pytest.mark.parametrize(
    "times", [3, pytest.param(100, marks=[pytest.mark.soak, pytest.mark.timeout(7200)])], ids=["short", "100_times"]
)
def test_nothing_is_lost(recording: Recording, tmp_path: Path, times: int, capsys: pytest.CaptureFixture[str]) -> None:
    blows: list[Callable[[], None]] = [recording.move, recording.fill, recording.kill]
    for blow in blows * times:
        recording.go_on()
        blow()
    recording.go_on()
    recording.end()
    keys = recording.keys()
    lost = {}
    for name, read in zip(_NAMES, (of_lines, of_table, of_store), strict=True):
        lost[name] = set(keys) - set().union(*map(read, tmp_path.rglob(f"*{name}")))
    with capsys.disabled():
        sys.stdout.write(f"\n{len(keys)} events, {times} times moved, full and killed, lost: ")
        sys.stdout.write(f"{ {name: len(missing) for name, missing in lost.items()} }\n")
    assert not any(lost.values())
