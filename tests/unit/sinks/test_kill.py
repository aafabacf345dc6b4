"""`kill -9` in the middle, with sinks that are away: nothing is lost, and nothing comes twice once keys are known."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.events import event
from tests.receiver import Receiver

_RECORDS = """
import itertools, sys
from pathlib import Path
from plate_nets.sinks.recorder import Recorder
from plate_nets.sinks.settings import JsonlSettings, WebhookSettings
from tests.events import event

url, first, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
sinks = [WebhookSettings(url=url), JsonlSettings(path=Path("events.jsonl"))]
recorder = Recorder(Path("outbox.sqlite"), sinks, lambda line: print(line, file=sys.stderr))
for number in range(first, first + count) if count else itertools.count(first):
    recorder.record(event(number))
    print(event(number).key, flush=True)
recorder.close()
"""


class Process:
    """Records events without end, or ``count`` of them, and prints the key of each once it is safe."""

    def __init__(self, folder: Path, receiver_url: str, first: int, count: int = 0) -> None:
        arguments = [sys.executable, "-c", _RECORDS, receiver_url, str(first), str(count)]
        self._process = subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True, cwd=folder)

    def killed_after(self, count: int) -> list[str]:
        """Its keys until it was killed, which is after some more than these."""
        assert self._process.stdout is not None
        said = [self._process.stdout.readline().strip() for _ in range(count)]
        self._process.kill()
        said += self._process.communicate()[0].splitlines()
        return [key for key in said if len(key) == len(event().key)]  # the last line may be torn

    def ended(self) -> list[str]:
        """Its keys, after its regular end."""
        said = self._process.communicate(timeout=120)[0].splitlines()
        assert self._process.returncode == 0
        return said


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    receiver = Receiver()
    yield receiver
    receiver.close()


def test_nothing_is_lost_and_nothing_comes_twice(tmp_path: Path, receiver: Receiver) -> None:
    receiver.close()  # nobody answers there yet
    recorded = Process(tmp_path, receiver.url, first=0).killed_after(30)
    back = Receiver(receiver.port)
    second = Process(tmp_path, receiver.url, first=1000)
    back.wait(20)  # killed while it delivers
    recorded += second.killed_after(30)
    recorded += Process(tmp_path, receiver.url, first=5000, count=5).ended()

    received = [each.headers["webhook-id"] for each in back.received]
    once = list(dict.fromkeys(received))
    assert set(recorded) <= set(once)
    assert [key for key in once if key in set(recorded)] == recorded, "the order of the camera"
    bodies = {(each.headers["webhook-id"], each.body) for each in back.received}
    assert len(bodies) == len(once), "a key is of one record"
    back.close()

    lines = [json.loads(line) for line in (tmp_path / "events.jsonl").read_text(encoding="utf-8").splitlines()]
    written = list(dict.fromkeys(f"{line['id']}-{line['revision']}" for line in lines))
    assert [key for key in written if key in set(recorded)] == recorded
