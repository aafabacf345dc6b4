"""Under more load than it can carry, a server answers as many requests as before and refuses the rest at once."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.callers.caller import InputKind, caller_factory
from benchmarks.callers.pictures import drawn_picture
from benchmarks.measures.overload import measure_overload
from plate_nets.client import PlateClient
from plate_nets.contract import PLATE_RECOGNITION
from tests.serve import Serve, Start

PROMISED = 0.9
"""Share of the maximum, on an idle machine."""
ENOUGH = 0.6
"""Share of the maximum in the short form: other work beside `make test` may take the cores from one load."""


@pytest.fixture
def serve(start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Serve]:
    """With all readers and the usual threads, as users have it: an answer must take longer than a refusal."""
    monkeypatch.delenv("PLATES_YOLO_THREADS")
    with start(tmp_path, ("--scheme", "world")) as running:
        yield running


@pytest.mark.parametrize(
    ("seconds", "enough"),
    [
        pytest.param(4, ENOUGH, marks=pytest.mark.alone, id="short"),
        pytest.param(20, PROMISED, marks=pytest.mark.soak, id="full length"),
    ],
)
def test_four_times_the_maximum_load(serve: Serve, seconds: float, enough: float) -> None:
    """At most three times, until it answers the share ``enough`` of its maximum under the load."""
    picture = drawn_picture(2)
    asked = caller_factory(serve.http_url, PLATE_RECOGNITION.name, InputKind.encoded)
    for _ in range(3):
        found = measure_overload(asked, [picture], seconds)
        sys.stdout.write(f"{found}\n")
        assert found["refused"] > 0 and found["failed"] == []
        if found["ratio"] >= enough:
            break
    assert found["ratio"] >= enough, found
    assert found["refusal_ms"][0] < found["answer_ms"][0] / 2, found
    assert serve.events("heal") == serve.events("restart") == []
    with PlateClient(serve.http_url, retries=0) as client:
        assert len(client.read(picture.encoded)) == 2
