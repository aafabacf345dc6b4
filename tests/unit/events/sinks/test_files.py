"""Files of events: whole lines despite any interruption, and tables that match the events."""

import csv
import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from pyarrow import parquet

from plate_nets.common.errors import InputError, SinkError
from plate_nets.events.event import ZoneVisit
from plate_nets.events.sinks.base import Record
from plate_nets.events.sinks.files import COLUMNS, CsvSink, JsonlSink, ParquetSink
from tests.disk import SmallDisk
from tests.events import MOMENT, event, record

TERABYTE = 1 << 40


@pytest.fixture(params=[JsonlSink, CsvSink])
def sink(request: pytest.FixtureRequest) -> type[JsonlSink]:
    """The sinks whose files grow."""
    kind: type[JsonlSink] = request.param
    return kind


def records(*numbers: int) -> list[Record]:
    return [record(event(each, listed=True), number) for number, each in enumerate(numbers, 1)]


def test_lines_of_json_are_the_events(tmp_path: Path) -> None:
    """Also if a later run continues after a line that an interruption tore."""
    path = tmp_path / "events.jsonl"
    for numbers in ((0, 1), (2,)):
        with JsonlSink(path) as sink:
            sink.send(records(*numbers))
        whole = path.read_text(encoding="utf-8")
        path.write_text(whole + event(3).to_json()[:50], encoding="utf-8")
    JsonlSink(path).close()
    expected = [event(number, listed=True).to_json() for number in range(3)]
    assert path.read_text(encoding="utf-8") == "".join(f"{line}\n" for line in expected)


def table(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))


def test_a_table_has_a_header_once(tmp_path: Path) -> None:
    path = tmp_path / "events.csv"
    for number in range(2):
        with CsvSink(path) as sink:
            sink.send(records(number))
    zones = tuple(ZoneVisit(zone, MOMENT, None) for zone in ("drive", "gate", "drive"))
    with CsvSink(path) as sink:
        sink.send([record(replace(event(2), plate="京A88731", zones=zones))])
    rows = table(path)
    assert tuple(rows[0]) == COLUMNS
    assert [row["plate"] for row in rows] == ["A000BC77", "A001BC77", "京A88731"]
    assert [row["latin"] for row in rows] == ["", "", "BJ-A88731"]
    assert (rows[0]["lists"], rows[0]["xmax"], rows[0]["subject"]) == ("staff", "110", "77")
    assert [row["zones"] for row in rows] == ["", "", "drive gate"]


def test_a_table_of_an_earlier_version_keeps_its_columns(tmp_path: Path) -> None:
    path = tmp_path / "events.csv"
    of_0_3 = COLUMNS[: COLUMNS.index("vehicle_type")]
    for header in (COLUMNS, of_0_3, COLUMNS[:-1]):
        path.write_text(",".join(header) + "\n", encoding="utf-8")
        for number in range(2):
            with CsvSink(path) as sink:
                sink.send(records(number))
        plates = [(tuple(row), row["plate"]) for row in table(path)]
        assert plates == [(header, "A000BC77"), (header, "A001BC77")]
    for foreign in (COLUMNS[:1], COLUMNS[:24], (*of_0_3, "colour"), (*COLUMNS, "colour"), COLUMNS[1:]):
        path.write_text(",".join(foreign) + "\n", encoding="utf-8")
        with pytest.raises(InputError, match="got another first line"):
            CsvSink(path)


def plates(sink: type[JsonlSink] | type[CsvSink], path: Path) -> list[str]:
    """The texts in a file, which must have only whole lines."""
    text = path.read_text(encoding="utf-8")
    assert text.endswith("\n")
    return [row["plate"] for row in (table(path) if sink is CsvSink else map(json.loads, text.splitlines()))]


def away(path: Path) -> Path:
    return path.rename(path.with_name("events.1"))


def another_there(path: Path) -> Path:
    path.with_name("fresh").touch()
    moved = away(path)
    path.with_name("fresh").rename(path)
    return moved


@pytest.mark.parametrize("rotate", [away, another_there])
def test_a_moved_file_is_created_again(tmp_path: Path, sink: type[JsonlSink], rotate: Callable[[Path], Path]) -> None:
    path = tmp_path / "events"
    with sink(path) as opened:
        opened.send(records(0))
        moved = rotate(path)
        for number in (1, 2):
            opened.send(records(number))
    assert plates(sink, moved) == ["A000BC77"]
    assert plates(sink, path) == ["A001BC77", "A002BC77"]


def test_a_deleted_or_emptied_file_is_created_again(tmp_path: Path, sink: type[JsonlSink]) -> None:
    path = tmp_path / "events"
    with sink(path) as opened:
        for change in (path.unlink, lambda: os.truncate(path, 0)):
            opened.send(records(0))
            change()
            opened.send(records(1))
            assert plates(sink, path) == ["A001BC77"]


def test_a_missing_folder_is_reported_and_used_once_it_is_back(tmp_path: Path, sink: type[JsonlSink]) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    with sink(folder / "events") as opened:
        folder.rename(tmp_path / "elsewhere")
        with pytest.raises(SinkError, match=r"No such file or directory$"):
            opened.send(records(0))
        folder.mkdir()
        opened.send(records(1))
    assert plates(sink, folder / "events") == ["A001BC77"]


@pytest.mark.parametrize(
    "content", [b"a note\nits last line", b"one line", bytes(range(256)) * 9, b"\x89PNG\n" * 9, b"{}\n[", b"\n"]
)
def test_a_foreign_file_is_not_changed(tmp_path: Path, sink: type[JsonlSink], content: bytes) -> None:
    path = tmp_path / "notes"
    path.write_bytes(content)
    before = path.stat()
    with pytest.raises(InputError, match=r"notes: expected (lines|a table) of events, got another first line"):
        sink(path)
    assert (path.read_bytes(), path.stat().st_mtime_ns) == (content, before.st_mtime_ns)


def test_a_foreign_file_that_appears_at_the_path_is_not_changed(tmp_path: Path, sink: type[JsonlSink]) -> None:
    path = tmp_path / "events"
    with sink(path) as opened:
        path.unlink()
        path.write_bytes(b"a note")
        with pytest.raises(SinkError, match="got another first line"):
            opened.send(records(0))
    assert path.read_bytes() == b"a note"


@pytest.mark.timeout(60)
def test_something_other_than_a_regular_file_is_refused_at_once(tmp_path: Path, sink: type[JsonlSink]) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    link = tmp_path / "link"
    link.symlink_to("/dev/full")
    for path in (Path("/dev/full"), Path("/dev/zero"), link, pipe, tmp_path):
        with pytest.raises(InputError, match=r"expected a regular file$"):
            sink(path)


@pytest.mark.timeout(60)
def test_a_terabyte_without_a_newline_is_refused_at_once(tmp_path: Path, sink: type[JsonlSink]) -> None:
    path = tmp_path / "events"
    with sink(path) as opened:
        opened.send(records(0))
    os.truncate(path, TERABYTE)
    with pytest.raises(InputError, match="got a last line over 1 MiB"):
        sink(path)
    assert path.stat().st_size == TERABYTE


def test_a_full_disk_is_reported_and_leaves_only_whole_lines(small_disk: SmallDisk, sink: type[JsonlSink]) -> None:
    path = small_disk.path / "events"
    with sink(path) as opened:
        opened.send(records(0))
        small_disk.fill()
        for _ in range(3):
            with pytest.raises(SinkError, match=r"events: No space left on device$"):
                opened.send(records(*range(1, 30)))
            assert plates(sink, path) == ["A000BC77"]
        small_disk.free()
        opened.send(records(1))
    assert plates(sink, path) == ["A000BC77", "A001BC77"]


def test_a_sink_can_start_on_a_full_disk(small_disk: SmallDisk, sink: type[JsonlSink]) -> None:
    small_disk.fill()
    with sink(small_disk.path / "events") as opened:
        small_disk.free()
        opened.send(records(1))
    assert plates(sink, small_disk.path / "events") == ["A001BC77"]


def test_two_sinks_can_write_to_the_same_file(tmp_path: Path) -> None:
    path = tmp_path / "events"
    with JsonlSink(path) as one, JsonlSink(path) as other:
        for number in range(4):
            (one, other)[number % 2].send(records(number))
    assert len(plates(JsonlSink, path)) == 4


def test_a_repeated_batch_replaces_its_parquet_file(tmp_path: Path) -> None:
    with ParquetSink(tmp_path / "events") as sink:
        for _ in range(2):
            sink.send(records(0, 1))
        sink.send(records(2))
    table = parquet.read_table(tmp_path / "events").sort_by("timestamp")
    assert table.column_names == [*COLUMNS, "document"]
    assert table["timestamp"].to_pylist() == [event(number).timestamp for number in range(3)]
    assert json.loads(table["document"][2].as_py()) == event(2, listed=True).to_dict()


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path, sink: type[JsonlSink]) -> None:
    with pytest.raises(InputError, match=r"nowhere.*No such file or directory$"):
        sink(tmp_path / "nowhere" / "events")
