"""The outbox: nothing is lost, the order is kept, the disk is not filled."""

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from plate_nets.common.errors import InputError, SinkError
from plate_nets.events.sinks.outbox import Outbox
from tests.disk import SmallDisk
from tests.events import event, later


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "outbox.sqlite"


@pytest.fixture
def outbox(path: Path) -> Iterator[Outbox]:
    outbox = Outbox(path, ["fast", "slow"])
    yield outbox
    outbox.close()


def filled(path: Path, said: list[str], count: int = 60) -> Outbox:
    outbox = Outbox(path, ["fast", "slow"], notice=said.append)
    for number in range(count):
        outbox.append(event(number))
    return outbox


def keys(outbox: Outbox, sink: str) -> list[str]:
    return [record.key for record in outbox.waiting(sink, 10_000)]


def change(path: Path, statement: str) -> None:
    """Change a database behind the outbox."""
    with contextlib.closing(sqlite3.connect(path)) as database, database:
        database.execute(statement)


def test_each_sink_gets_every_event_in_order_and_a_new_process_continues_where_it_ended(path: Path) -> None:
    first = filled(path, [], count=3)
    first.acknowledge("fast", first.waiting("fast", 2)[-1].sequence)
    assert (first.backlog("fast"), first.backlog("slow")) == (1, 3)
    first.close()
    with contextlib.closing(Outbox(path, ["fast", "slow"])) as second:
        assert keys(second, "fast") == [event(2).key]
        assert [each.document for each in second.waiting("slow", 9)] == [event(number).to_json() for number in range(3)]


def test_a_removed_sink_does_not_keep_records(path: Path) -> None:
    filled(path, [], count=1).close()
    with contextlib.closing(Outbox(path, ["fast"])) as second:
        second.acknowledge("fast", second.waiting("fast", 1)[0].sequence)
    with contextlib.closing(Outbox(path, ["slow"])) as third:
        assert keys(third, "slow") == []


def test_filtered_records_are_not_kept_for_a_sink(outbox: Outbox) -> None:
    listed = event(1, listed=True)
    for each in (event(0), listed, event(2, stage="provisional")):
        outbox.append(each)
    (record,) = outbox.waiting("fast", 10, matches_only=True)
    assert record.key == listed.key
    outbox.acknowledge("fast", record.sequence)
    assert outbox.waiting("fast", 10, matches_only=True) == []
    assert outbox.backlog("fast") == 0
    assert [record.event["stage"] for record in outbox.waiting("slow", 10, finals_only=True)] == ["final", "final"]


def test_replaced_records_are_dropped_before_the_oldest_ones(path: Path) -> None:
    outbox = Outbox(path, ["fast", "slow"], max_bytes=200_000)
    firsts = [event(number, stage="provisional") for number in range(150)]
    for first in firsts:
        outbox.append(first)
        outbox.append(later(first))
    replaced, kept = [first.key for first in firsts], [later(first).key for first in firsts]
    waiting = keys(outbox, "slow")
    assert path.stat().st_size < 300_000
    assert waiting[-1] == kept[-1] and waiting == sorted(waiting)
    # No last record of a car was dropped while there was a replaced one to drop
    lost_last, lost_first = (of.index(next(key for key in waiting if key in of)) for of in (kept, replaced))
    assert lost_last <= lost_first
    assert outbox.dropped("slow") == outbox.dropped("fast") == 300 - len(waiting) > 0
    outbox.close()


def test_any_number_of_records_is_dropped_at_once(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("plate_nets.events.sinks.outbox._SHARE_DROPPED", 1)
    Outbox(path, ["fast"]).close()
    with sqlite3.connect(path) as database:
        count = database.getlimit(sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER) + 1
        database.execute(
            "WITH RECURSIVE numbers (number) AS (SELECT 1 UNION ALL SELECT number + 1 FROM numbers WHERE number < ?)"
            " INSERT INTO records (id, revision, camera_id, matches, final, document)"
            " SELECT number, 1, 'gate', 0, 1, '{}' FROM numbers",
            (count,),
        )
    database.close()
    outbox = Outbox(path, ["fast"], max_bytes=100_000)
    outbox.append(event(0))
    assert outbox.dropped("fast") == count
    assert keys(outbox, "fast") == [event(0).key]
    outbox.close()


def test_a_second_process_is_refused(outbox: Outbox, path: Path) -> None:
    with pytest.raises(InputError, match=r"outbox.sqlite: another process uses it; choose another --outbox$"):
        Outbox(path, ["fast"])


def test_a_file_that_is_not_an_outbox_is_refused(path: Path) -> None:
    path.write_text("no database" * 1000, encoding="utf-8")
    with pytest.raises(InputError, match=r"outbox .*: file is not a database$"):
        Outbox(path, ["fast"])
    with pytest.raises(InputError, match=r"No such file or directory$"):
        Outbox(path.parent / "nowhere" / "outbox.sqlite", ["fast"])


@pytest.mark.parametrize("page", [1, 3, 20])
def test_readable_records_of_a_damaged_file_continue_in_a_new_one(path: Path, page: int) -> None:
    said: list[str] = []
    filled(path, said).close()
    with path.open("r+b") as file:  # as a failing disk would change it
        file.seek(page * 4096)
        file.write(bytes([0xA5]) * 4096)
    outbox = Outbox(path, ["fast", "slow"], notice=said.append)
    outbox.append(event(60))
    waiting = keys(outbox, "slow")
    assert waiting == sorted(set(waiting)) and waiting[-1] == event(60).key
    assert set(waiting) <= {event(number).key for number in range(61)}
    assert outbox.backlog("slow") == len(waiting)
    outbox.append(event(61))
    assert keys(outbox, "slow") == [*waiting, event(61).key]
    outbox.close()
    if page == 20:  # one page of records; all others are intact
        assert len(waiting) > 50
        assert [line.partition(" (")[0] for line in said] == [f"outbox {path}: is damaged"]
        aside = next(path.parent.glob("outbox.sqlite.damaged-*[0-9]"))
        assert said[0].endswith(f"was moved to {aside.name}")


def test_the_cursor_of_a_sink_survives_damage(path: Path) -> None:
    """What a sink takes while the file is being replaced is not confused with records of the new file."""
    outbox = filled(path, [], count=30)
    outbox.acknowledge("fast", 30)
    in_flight = outbox.waiting("slow", 10)
    change(path, "UPDATE records SET document = '{' WHERE sequence = 20")
    outbox.append(event(30))
    assert keys(outbox, "fast") == [event(30).key]
    everything = {event(number).key for number in range(31) if number != 19}
    assert set(keys(outbox, "slow")) == everything
    outbox.acknowledge("slow", in_flight[-1].sequence)
    assert set(keys(outbox, "slow")) == everything - {each.key for each in in_flight}
    outbox.close()


def test_a_text_that_is_not_utf8_counts_as_damage(path: Path) -> None:
    outbox = filled(path, [], count=3)
    change(path, "UPDATE records SET camera_id = CAST(x'ff41' AS TEXT) WHERE sequence = 2")
    assert keys(outbox, "fast") == [event(0).key, event(2).key]
    outbox.close()


@pytest.mark.parametrize("log", [False, True])
def test_the_content_of_a_moved_file_continues_in_a_new_one(path: Path, log: bool) -> None:
    said: list[str] = []
    outbox = filled(path, said, count=20)
    outbox.acknowledge("fast", 10)
    path.rename(path.with_name("elsewhere"))
    for ending in ("-wal", "-shm") if log else ():
        path.with_name(path.name + ending).rename(path.with_name(f"elsewhere{ending}"))
    outbox.append(event(20))
    outbox.close()
    with contextlib.closing(Outbox(path, ["fast", "slow"], notice=said.append)) as again:
        for sink, first in (("slow", 0), ("fast", 10)):
            assert keys(again, sink) == [event(number).key for number in range(first, 21)]
    assert said == [f"outbox {path}: was moved or deleted; continuing in a new one with 20 records"]


def test_a_foreign_file_at_the_path_is_not_changed(path: Path) -> None:
    outbox = filled(path, [], count=3)
    path.rename(path.with_name("elsewhere"))
    path.write_text("a note", encoding="utf-8")
    with pytest.raises(SinkError, match=r"another file is in its place; move that away$"):
        outbox.append(event(3))
    assert path.read_text(encoding="utf-8") == "a note"
    path.unlink()
    outbox.append(event(3))
    assert len(keys(outbox, "fast")) == 4
    outbox.close()


@pytest.mark.parametrize("exists", [False, True], ids=["new", "of_an_earlier_run"])
def test_a_start_on_a_full_disk_says_so(small_disk: SmallDisk, exists: bool) -> None:
    path = small_disk.path / "outbox.sqlite"
    if exists:
        Outbox(path, ["fast"]).close()
    small_disk.fill()
    with pytest.raises(InputError, match=r"outbox .*outbox.sqlite: its disk is full$"):
        Outbox(path, ["fast"])


def test_a_full_disk_is_reported_and_loses_no_earlier_event(small_disk: SmallDisk) -> None:
    outbox = Outbox(small_disk.path / "outbox.sqlite", ["fast"])
    outbox.append(event(0))
    small_disk.fill()
    with pytest.raises(SinkError, match=r"outbox .*outbox.sqlite: its disk is full$"):
        for number in range(1, 100):
            outbox.append(event(number))
    small_disk.free()
    outbox.append(event(100))
    waiting = keys(outbox, "fast")
    assert (waiting[0], waiting[-1]) == (event(0).key, event(100).key)
    outbox.close()


@pytest.mark.parametrize("room", range(0, 96 << 10, 8 << 10))
def test_a_move_while_the_disk_is_full_is_followed_later(small_disk: SmallDisk, room: int) -> None:
    path = small_disk.path / "outbox.sqlite"
    outbox = Outbox(path, ["fast"])
    outbox.append(event(0))
    small_disk.fill(room)
    path.rename(small_disk.path / "moved")
    for number in range(1, 20):
        with contextlib.suppress(SinkError):
            outbox.append(event(number))
    small_disk.free()
    outbox.append(event(20))
    waiting = keys(outbox, "fast")
    assert (waiting[0], waiting[-1]) == (event(0).key, event(20).key)
    outbox.close()


def test_a_foreign_database_is_not_changed(path: Path) -> None:
    change(path, "CREATE TABLE notes (text)")
    before = path.read_bytes()
    says = r"outbox.sqlite: expected an outbox, got a database of something else; choose another file$"
    with pytest.raises(InputError, match=says):
        Outbox(path, ["fast"])
    assert path.read_bytes() == before


def test_notes_of_a_sink_are_kept_in_a_file_of_1_0_and_after_a_move(path: Path) -> None:
    Outbox(path, ["hook", "mqtt"]).close()
    change(path, "ALTER TABLE cursors DROP COLUMN notes")
    with contextlib.closing(Outbox(path, ["hook", "mqtt"])) as outbox:
        assert outbox.notes("mqtt").read() == ""
        outbox.notes("mqtt").write("known")
        path.rename(path.with_name("moved"))
        outbox.append(event(1))
        assert outbox.notes("mqtt").read() == "known"
    with contextlib.closing(Outbox(path, ["hook", "mqtt"])) as outbox:
        assert [outbox.notes(name).read() for name in ("hook", "mqtt")] == ["", "known"]
