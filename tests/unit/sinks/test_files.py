"""Files of events: whole lines whatever tears them, and tables that say what the events say."""

import csv
import json
from pathlib import Path

import pytest
from pyarrow import parquet

from plate_nets.errors import InputError
from plate_nets.sinks.base import Record
from plate_nets.sinks.files import COLUMNS, CsvSink, JsonlSink, ParquetSink
from tests.events import event


def records(*numbers: int) -> list[Record]:
    events = [event(number, listed=True) for number in numbers]
    return [Record(number + 1, each.key, each.camera_id, each.to_json()) for number, each in enumerate(events)]


def test_lines_of_json_are_the_events(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    for numbers in ((0, 1), (2,)):  # a later run goes on
        with JsonlSink(path) as sink:
            sink.send(records(*numbers))
    found = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert found == [event(number, listed=True).to_dict() for number in range(3)]


def test_a_torn_line_is_taken_away(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    whole = event(0).to_json() + "\n"
    path.write_text(whole + event(1).to_json()[:50], encoding="utf-8")
    with JsonlSink(path) as sink:
        sink.send(records(1))
    assert path.read_text(encoding="utf-8") == whole + event(1, listed=True).to_json() + "\n"


def test_a_table_has_a_header_once(tmp_path: Path) -> None:
    path = tmp_path / "events.csv"
    for number in range(2):
        with CsvSink(path) as sink:
            sink.send(records(number))
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert tuple(rows[0]) == COLUMNS
    assert [row["plate"] for row in rows] == ["A000BC77", "A001BC77"]
    assert (rows[0]["lists"], rows[0]["xmax"], rows[0]["subject"]) == ("staff", "110", "77")


def test_another_table_is_not_written_to(tmp_path: Path) -> None:
    path = tmp_path / "cars.csv"
    path.write_text("plate,colour\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"cars.csv: expected a table of events"):
        CsvSink(path)
    assert path.read_text(encoding="utf-8") == "plate,colour\n"


def test_a_batch_that_comes_again_replaces_its_parquet_file(tmp_path: Path) -> None:
    with ParquetSink(tmp_path / "events") as sink:
        for _ in range(2):
            sink.send(records(0, 1))
        sink.send(records(2))
    table = parquet.read_table(tmp_path / "events").sort_by("timestamp")
    assert table.column_names == [*COLUMNS, "document"]
    assert table["timestamp"].to_pylist() == [event(number).timestamp for number in range(3)]
    assert json.loads(table["document"][2].as_py()) == event(2, listed=True).to_dict()


@pytest.mark.parametrize("sink", [JsonlSink, CsvSink])
def test_a_file_that_cannot_be_written_is_named(tmp_path: Path, sink: type[JsonlSink]) -> None:
    with pytest.raises(InputError, match=r"nowhere.*No such file or directory$"):
        sink(tmp_path / "nowhere" / "events")
