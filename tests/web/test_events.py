"""Events over HTTP: pages, search, corrections, streams, lists, labels; behind a real uvicorn and a real store."""

import csv
import json
import os
import socket
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import httpx
import pytest
from typer.testing import CliRunner

from plate_nets.cameras.list_entries import ListEntry
from plate_nets.cameras.privacy import without_texts
from plate_nets.cameras.watch_lists import load_watch_list
from plate_nets.cli import app
from plate_nets.countries import default_plates
from plate_nets.evaluation.dataset import load_dataset
from plate_nets.events.event import Crossed, Crossing, Images, Judged, PlateEvent
from plate_nets.events.sinks.base import Record
from plate_nets.events.sinks.sqlite import SqliteSink
from plate_nets.recognition.local import LocalReader
from plate_nets.web.app import create_app
from plate_nets.web.health import Backend
from plate_nets.web.labels import label_rows
from plate_nets.web.lists import ListKeeper
from plate_nets.web.parts import Sources
from plate_nets.web.server import WebServer
from plate_nets.web.settings import WebSettings
from plate_nets.web.store import EventStore
from tests.clips import TEXT, passing, still, write_clip
from tests.commands import Result
from tests.events import MOMENT, event, later
from tests.killing import kill
from tests.web.conftest import CAR, Seen, connected, seeing

EVENTS = "/api/v1/events"


def found(seen: Seen, **asked: str | int) -> list[str]:
    """The plates on a page of events."""
    answer = seen.client.get(EVENTS, params=asked)
    assert answer.status_code == 200, answer.text
    return [each["correction"] or each["plate"] for each in answer.json()["events"]]


def test_pages_come_newest_first_and_each_event_once(seen: Seen) -> None:
    seen.write(*(event(number) for number in range(7)))
    plates: list[str] = []
    cursor = ""
    for _ in range(3):
        page = seen.client.get(EVENTS, params={"limit": 3, "cursor": cursor}).json()
        plates += [each["plate"] for each in page["events"]]
        cursor = page["cursor"]
    assert plates == [f"A00{number}BC77" for number in range(6, -1, -1)]
    assert cursor == ""


def test_events_are_searched(seen: Seen) -> None:
    seen.write(*(event(number, camera=f"gate-{number % 2}", listed=number == 3) for number in range(120)))
    assert found(seen, text="A00", limit=3) == ["A009BC77", "A008BC77", "A007BC77"]
    assert found(seen, text="а 003 вс") == ["A003BC77"], "Cyrillic, small letters and spaces as people write them"
    assert found(seen, text="Ａ·003") == ["A003BC77"], "full-width signs, and what stands between parts"
    assert found(seen, text="*19BC77") == ["A119BC77", "A019BC77"]
    assert found(seen, text="A?03BC77") == ["A103BC77", "A003BC77"]
    assert found(seen, text="A003BC7", distance=1) == ["A003BC77"]
    assert found(seen, text="A003BX71", distance=2)[-1] == "A003BC77"
    assert found(seen, camera="gate-1", limit=2) == ["A119BC77", "A117BC77"]
    assert found(seen, list="staff") == ["A003BC77"]
    assert found(seen, since="2026-11-22T10:01:58Z") == ["A119BC77", "A118BC77"]
    assert found(seen, until="2026-11-22T10:00:01Z") == ["A000BC77"]
    assert seen.client.get(f"{EVENTS}/cameras").json() == {"cameras": ["gate-0", "gate-1"]}
    for hostile in ("' OR 1=1 --", "[A-Z]", "%", "*" * 60, "\x00"):
        assert found(seen, text=hostile, limit=1) in ([], ["A119BC77"])


def test_visits_of_a_plate_are_told_by_camera(seen: Seen) -> None:
    """By its corrected text or else the one that was read."""
    same = [replace(event(number, camera=camera), plate=TEXT) for number, camera in enumerate(("gate", "yard", "gate"))]
    other = event(3, camera="yard")
    seen.write(*same, other)
    for misread, true in ((same[2], "B777OP99"), (other, TEXT)):
        seen.client.put(f"{EVENTS}/{misread.id}/correction", json={"plate": true})
    assert visits(seen, TEXT) == {
        "plate": TEXT,
        "count": 3,
        "first": "2026-11-22T10:00:00.250Z",
        "last": "2026-11-22T10:00:03.250Z",
        "cameras": [
            {"camera_id": "yard", "count": 2, "first": "2026-11-22T10:00:01.250Z", "last": "2026-11-22T10:00:03.250Z"},
            {"camera_id": "gate", "count": 1, "first": "2026-11-22T10:00:00.250Z", "last": "2026-11-22T10:00:00.250Z"},
        ],
    }
    assert visits(seen, "B777OP99")["count"] == 1
    none: dict[str, object] = {"count": 0, "first": None, "last": None, "cameras": []}
    for text in (other.plate, "A12", "%", "' OR 1=1 --"):
        assert visits(seen, text) == {"plate": text, **none}


def test_a_hashed_plate_is_found_and_has_visits(seen: Seen) -> None:
    read = Judged(TEXT, 0.9)
    hashed = [without_texts(replace(event(number), plate=TEXT, own_reading=read), b"salt") for number in range(2)]
    assert TEXT not in hashed[0].to_json()
    seen.write(*hashed, event(2))
    assert found(seen, text=hashed[0].plate) == [hashed[0].plate] * 2
    assert visits(seen, hashed[0].plate)["count"] == 2
    assert visits(seen, TEXT)["count"] == 0


def visits(seen: Seen, plate: str) -> dict[str, object]:
    answer = seen.client.get(f"{EVENTS}/visits", params={"plate": plate})
    assert answer.status_code == 200, answer.text
    visits: dict[str, object] = answer.json()
    return visits


def test_events_of_a_search_are_counted_by_hour(seen: Seen) -> None:
    hour = 3600
    seen.write(*(event(number, camera=f"gate-{number % 2}") for number in (0, 1, 2, hour - 1, hour, 5 * hour)))
    seen.client.put(f"{EVENTS}/{event(0).id}/correction", json={"plate": "A000BC78"})
    day = {"since": "2026-11-22T15:30:00+05:30", "until": "2026-11-22T18:30:00+05:30"}

    def counts(**asked: str) -> list[int]:
        found: list[int] = seen.client.get(f"{EVENTS}/hours", params=day | asked).json()["counts"]
        return found

    assert counts() == [4, 1, 0]
    assert counts(camera="gate-0") == [2, 1, 0]
    assert counts(text="A000") == [1, 0, 0], "an event counts once, whether by its read or by its corrected text"
    assert counts(since="2026-11-22T10:00:02.200Z") == [3, 0, 0]
    assert counts(since="2026-11-22T12:59:59Z") == [0]


def crossing(minute: float, direction: Crossed = "left to right", line: str = "entry") -> Crossing:
    """A line that was crossed so many minutes after the first event."""
    return Crossing(line, direction, MOMENT + timedelta(minutes=minute))


def test_crossed_lines_are_counted_by_hour_and_direction(seen: Seen) -> None:
    """At the time of the crossing, whenever the car's best frame was taken."""
    parked = later(replace(event(0), crossings=(crossing(-5, "right to left"), crossing(90))))
    others = [replace(event(number, camera="yard"), crossings=(crossing(number),)) for number in (1, 2, 3)]
    seen.write(replace(event(0), crossings=(crossing(-5, "right to left"),)), parked, *others, event(4))
    seen.write(replace(event(5, camera="yard"), supersedes=others[0].id, crossings=(crossing(3),)))
    seen.client.put(f"{EVENTS}/{others[2].id}/correction", json={"plate": "B777OP99"})

    def lines(**asked: str) -> list[tuple[str, str, str, list[int]]]:
        day = {"since": "2026-11-22T10:00:00Z", "until": "2026-11-22T12:00:00Z"} | asked
        answer = seen.client.get(f"{EVENTS}/lines", params=day).raise_for_status()
        return [tuple(each.values()) for each in answer.json()["lines"]]

    at_yard = ("yard", "entry", "left to right", [3, 0])
    assert lines() == [("gate", "entry", "left to right", [0, 1]), at_yard]
    assert lines(since="2026-11-22T09:30:00Z", until="2026-11-22T10:30:00Z", camera="gate") == [
        ("gate", "entry", "right to left", [1])
    ]
    assert lines(camera="yard") == [at_yard]
    assert lines(text="B777") == [("yard", "entry", "left to right", [1, 0])]
    assert lines(text="A002BC7", distance="1") == [("yard", "entry", "left to right", [1, 0])]


def test_a_search_is_a_table_that_is_safe_in_a_spreadsheet(seen: Seen) -> None:
    seen.write(*(event(number, camera=("gate", "=1+1")[number % 2], listed=number == 4) for number in range(300)))
    seen.client.put(f"{EVENTS}/{event(4).id}/correction", json={"plate": "B777OP99"})
    answer = seen.client.get(f"{EVENTS}/table.csv")
    assert answer.headers["Content-Disposition"] == 'attachment; filename="events.csv"'
    rows = list(csv.DictReader(answer.text.splitlines()))
    assert [row["plate"] for row in rows] == [f"A{number:03}BC77" for number in range(299, -1, -1)]
    assert (rows[0]["camera_id"], rows[1]["camera_id"]) == ("'=1+1", "gate")
    (row,) = csv.DictReader(seen.client.get(f"{EVENTS}/table.csv?list=staff").text.splitlines())
    assert (row["correction"], row["lists"], row["xmin"]) == ("B777OP99", "staff", "10")


@pytest.mark.parametrize(
    ("path", "asked"),
    [
        ("", {"cursor": "%%%"}),
        ("", {"limit": "0"}),
        ("", {"limit": "x"}),
        ("", {"distance": "9"}),
        ("", {"since": "yesterday"}),
        ("/visits", {}),
        ("/table.csv", {"distance": "x"}),
        ("/hours", {"since": "2026-11-22T10:00:00Z"}),
        ("/hours", {"since": "2026-11-22T10:00:00Z", "until": "2026-11-22T10:00:00Z"}),
        ("/hours", {"since": "2026-11-22T10:00:00Z", "until": "2026-11-30T10:00:00Z"}),
        ("/lines", {"until": "2026-11-22T10:00:00Z"}),
    ],
)
def test_an_invalid_question_about_events_is_refused(seen: Seen, path: str, asked: dict[str, str]) -> None:
    refused(seen.client.get(f"{EVENTS}{path}", params=asked))


def export(labels: Path, events: Path, pictures: Path, *options: str) -> Result:
    """`plates events export`."""
    arguments = ["events", "export", "--labels", labels, "--events", events, "--pictures", pictures, *options]
    return CliRunner().invoke(app, list(map(str, arguments)))


def write_corrected(path: Path, kept: PlateEvent) -> None:
    """Write a store with one event and a correction of it."""
    with closing(EventStore(path)) as store:
        with SqliteSink(path) as sink:
            sink.send([Record(1, kept.key, "gate", kept.to_json())])
        store.correct(kept.id, "A001AA77")


def refused(answer: httpx.Response) -> None:
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "PLATES_BAD_INPUT")


def test_a_correction_is_stored_beside_the_read_text_and_exported_as_a_label(seen: Seen, tmp_path: Path) -> None:
    (seen.pictures / "frame.jpg").write_bytes(CAR)
    kept = replace(event(1), images=Images(frame="frame.jpg"))
    outside = replace(event(2), images=Images(frame="../staff.csv"))
    seen.write(kept, outside)
    for each in (kept, outside):
        answer = seen.client.put(f"{EVENTS}/{each.id}/correction", json={"plate": "в 777 ор 99"})
        assert (answer.json()["plate"], answer.json()["correction"]) == (each.plate, "B777OP99")
    seen.write(later(kept))
    assert found(seen, text="B777") == ["B777OP99"] * 2
    assert found(seen, text="B777OP98", distance=1) == ["B777OP99"] * 2
    assert found(seen, text="A001") == ["B777OP99"], "by the machine's text too"
    assert seen.client.get(f"{EVENTS}/{kept.id}/frame.jpg").content == CAR
    assert seen.client.get(f"{EVENTS}/{outside.id}/frame.jpg").status_code == 404

    labels = tmp_path / "labels"
    result = export(labels, seen.store, seen.pictures)
    assert (result.exit_code, "1 label; 1 left out: no frame" in result.output) == (0, True), result.output
    (label,) = load_dataset(labels, strict=True).labels
    assert (label.text, label.box) == ("B777OP99", kept.box)

    untyped = seen.client.put(f"{EVENTS}/{kept.id}/correction", content=b'{"plate": ""}')
    assert untyped.json()["correction"] is None
    long = seen.client.put(f"{EVENTS}/{kept.id}/correction", content=b'{"plate": "A"}' + b" " * 9000)
    assert (long.status_code, long.json()["error"]["code"]) == (413, "PLATES_TOO_LARGE")
    for hostile in ("<b>A", "A" * 17):
        refused = seen.client.put(f"{EVENTS}/{kept.id}/correction", json={"plate": hostile})
        assert refused.json()["error"]["code"] == "PLATES_BAD_INPUT"
    cross = {"Origin": "http://evil.example"}
    assert seen.client.put(f"{EVENTS}/{kept.id}/correction", json={"plate": "A"}, headers=cross).status_code == 403
    assert seen.client.put(f"{EVENTS}/none/correction", json={"plate": "A"}).status_code == 404


@pytest.mark.parametrize(
    ("document", "said"),
    [
        (b"{", "expected JSON"),
        (b"[]", "expected JSON"),
        (b"{}", "schema: expected plate-event/1"),
        (event().to_json().encode().replace(event().id.encode(), b"../../owned"), "id: expected a ULID"),
        (event().to_json().encode().replace(b'"box": {', b'"box": {"a": 1, '), "expected the fields of"),
        (b"\xff", "Could not decode"),
        (b"[" * 100_000, "expected JSON: maximum recursion depth"),
        (event().to_json().encode().replace(b'"xmin": 10', b'"xmin": NaN'), "expected a finite number, got nan"),
        (event().to_json().encode().replace(b'"xmin": 10', b'"xmin": "=cmd()"'), "expected a finite number, got '=c"),
    ],
)
def test_labels_of_a_damaged_store_are_refused_in_one_line(tmp_path: Path, document: bytes, said: str) -> None:
    path, pictures = tmp_path / "events.sqlite", tmp_path / "pictures"
    (pictures / "a").mkdir(parents=True)
    write_corrected(path, event())
    with closing(sqlite3.connect(path)) as database:
        database.execute("UPDATE events SET document = CAST(? AS TEXT)", (document,))
        database.commit()
    result = export(tmp_path / "labels", path, pictures)
    assert result.exit_code == 2 and said in result.stderr, result.output
    assert len(result.stderr.splitlines()) == 1
    left = {each.name for each in tmp_path.rglob("*")}
    assert left == {"events.sqlite", "pictures", "a"}, "nothing half made is left"


HUGE = "hex(zeroblob(10000000))"
COLUMNS = "id TEXT, timestamp TEXT, camera_id TEXT, plate TEXT, lists TEXT, sequence INT, document TEXT"


def export_of_changed(folder: Path, change: str, *options: str) -> str:
    """The output of an export from a store with a corrected event, after SQL that somebody else ran on it."""
    path, pictures = folder / "events.sqlite", folder / "pictures"
    pictures.mkdir()
    (pictures / "frame.jpg").write_bytes(CAR)
    write_corrected(path, replace(event(), images=Images(frame="frame.jpg")))
    with closing(sqlite3.connect(path)) as database:
        database.executescript(change)
    result = export(folder / "labels", path, pictures, *options)
    assert isinstance(result.exception, (SystemExit, type(None))), result.exception
    return result.output


@pytest.mark.parametrize("options", [(), ("--any-text",)])
@pytest.mark.parametrize("text", ["'=cmd|'' /C calc''!A0'", "NULL", "x'ff00'", "''"])
def test_an_invalid_correction_in_a_modified_store_is_left_out(
    tmp_path: Path, text: str, options: tuple[str, ...]
) -> None:
    change = (
        "CREATE TABLE changed (id, plate, corrected_at);"
        f"INSERT INTO changed SELECT id, {text}, corrected_at FROM corrections;"
        "DROP TABLE corrections; ALTER TABLE changed RENAME TO corrections"
    )
    said = "0 labels; 1 left out: have characters other than letters and digits"
    assert said in export_of_changed(tmp_path, change, *options)


def test_a_text_computed_by_a_store_is_limited(tmp_path: Path) -> None:
    change = (
        f"ALTER TABLE events RENAME TO former; CREATE TABLE events ({COLUMNS} GENERATED ALWAYS AS ({HUGE}) VIRTUAL);"
        "INSERT INTO events (id, timestamp) SELECT id, timestamp FROM former"
    )
    assert "events.sqlite: string or blob too big" in export_of_changed(tmp_path, change)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"junk" * 1000, "file is not a database"),
        (None, "regular file"),
        (b"", "expected an event store, got an empty file"),
    ],
)
def test_a_file_that_is_not_a_store_creates_no_folder_of_labels(
    tmp_path: Path, content: bytes | None, said: str
) -> None:
    path, labels = tmp_path / "events.sqlite", tmp_path / "labels"
    if content is None:
        os.mkfifo(path)
    else:
        path.write_bytes(content)
    result = export(labels, path, tmp_path)
    assert result.exit_code == 2 and said in result.stderr and len(result.stderr.splitlines()) == 1
    assert list(tmp_path.iterdir()) == [path]
    assert content is None or path.read_bytes() == content


@pytest.mark.parametrize("frame", ["a" * 5000 + ".jpg", "zero.jpg", "terabyte.jpg", "frame." + "b" * 200, "\0.jpg", 7])
def test_an_event_with_an_invalid_frame_is_left_out(tmp_path: Path, frame: object) -> None:
    pictures = tmp_path / "pictures"
    pictures.mkdir()
    (pictures / "zero.jpg").symlink_to("/dev/zero")
    (pictures / ("frame." + "b" * 200)).touch()
    with (pictures / "terabyte.jpg").open("wb") as sparse:
        sparse.truncate(1 << 40)
    document = event().to_dict() | {"images": {"plate": None, "frame": frame}}
    (row,) = label_rows([document | {"correction": "A001AA77"}], pictures, tmp_path)
    assert row == "no frame of them is kept"
    assert list(tmp_path.iterdir()) == [pictures]


def test_events_arrive_live_and_a_broken_stream_resumes(seen: Seen) -> None:
    seen.write(event(0))

    def next_plate(lines: Iterator[str], wanted: str) -> str:
        """Read lines up to this plate -> the id of the message."""
        last = ""
        for line in lines:
            if line.startswith("id: "):
                last = line[4:]
            if line.startswith("data: "):
                plate = json.loads(line[6:])["plate"]
                assert plate == wanted
                return last
        raise AssertionError("the stream ended")

    def stream(last: str) -> AbstractContextManager[httpx.Response]:
        return seen.client.stream("GET", f"{EVENTS}/stream", headers={"Last-Event-ID": last})

    with stream("0") as answer:
        first = next_plate(answer.iter_lines(), "A000BC77")
    with stream(first) as answer:
        lines = answer.iter_lines()
        seen.write(event(1))
        second = next_plate(lines, "A001BC77")
        kill("events")
        seen.write(event(2))
        next_plate(lines, "A002BC77")
    with stream(second) as answer:
        next_plate(answer.iter_lines(), "A002BC77")


def test_events_of_another_outbox_or_a_replaced_store_are_not_missed(seen: Seen) -> None:
    seen.write(*(event(number) for number in range(5)))
    assert found(seen, text="A003BC78", distance=1) == ["A003BC77"]
    with seen.client.stream("GET", f"{EVENTS}/stream") as lines:
        came = (json.loads(line[6:])["plate"] for line in lines.iter_lines() if line.startswith("data: "))
        with SqliteSink(seen.store) as other:
            other.send([Record(1, event(5).key, "gate", event(5).to_json())])
        assert next(came) == "A005BC77"
        assert found(seen, text="A005BC78", distance=1) == ["A005BC77"]
        seen.store.rename(seen.store.with_name("former.sqlite"))
        seen.write(event(6))
        assert next(came) == "A006BC77"
    assert found(seen) == ["A006BC77"]
    assert found(seen, text="A006BC78", distance=1) == ["A006BC77"]


def test_a_client_that_never_reads_delays_no_other(seen: Seen) -> None:
    big = tuple(replace(event(number), model="m" * 20_000) for number in range(600))
    with connected(seen.client) as slow:
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        slow.sendall(f"GET {EVENTS}/stream HTTP/1.1\r\nHost: 127.0.0.1\r\nLast-Event-ID: 0\r\n\r\n".encode())
        seen.write(event(700))
        came = threading.Event()

        def read() -> None:
            with seen.client.stream("GET", f"{EVENTS}/stream", headers={"Last-Event-ID": "1"}) as lines:
                events = (line for line in lines.iter_lines() if line.startswith("id: "))
                for _ in zip(range(1 + len(big)), events, strict=False):
                    pass
            came.set()

        quick = threading.Thread(target=read)
        quick.start()
        for start in range(0, len(big), 100):
            seen.write(*big[start : start + 100])
        assert came.wait(60)
        quick.join()
        assert seen.client.get("/").status_code == 200


def test_changes_of_lists_are_written_to_their_files(seen: Seen) -> None:
    address = "/api/v1/lists/staff"
    assert seen.client.get("/api/v1/lists").json() == {
        "lists": [{"name": "staff", "entries": {"A001BC77": "Ann"}, "limits": {}}]
    }
    assert seen.client.post(f"{address}/entries", json={"plate": "в 002 вс 77", "label": "=1+1"}).status_code == 201
    assert seen.client.delete(f"{address}/entries/A001BC77").status_code == 204
    table = seen.client.post(f"{address}.csv", content=b"plate,label\nC003CC77,Eve\n!,bad\n")
    assert (table.json()["added"], len(table.json()["faults"])) == (1, 1)
    with seen.lists.open(encoding="utf-8") as file:
        rows = [(row["plate"], row["label"]) for row in csv.DictReader(file)]
    assert rows == [("B002BC77", "=1+1"), ("C003CC77", "Eve")]
    shown = seen.client.get(f"{address}.csv").text
    assert shown == seen.lists.read_text(encoding="utf-8").replace("=1+1", "'=1+1"), "not computed by a spreadsheet"
    assert load_watch_list(shown.encode()).entries == load_watch_list(seen.lists).entries
    assert seen.client.post(f"{address}/entries", json={"plate": "<b>"}).status_code == 400
    assert seen.client.post("/api/v1/lists/none/entries", json={"plate": "A"}).status_code == 404
    assert seen.client.put(f"{address}.csv", content=b"\xff\xfe").status_code == 400


def test_a_changed_list_keeps_the_other_columns_and_rows_of_its_file(tmp_path: Path) -> None:
    path = tmp_path / "staff.csv"
    rows = ["label,plate,phone", "Ann,a 001 bc-77,1", "Eve,C003CC77,2", "two plates?,A1/B2,3", "Eve again,C003CC77,4"]
    path.write_text("\n".join([*rows, ""]), encoding="utf-8")
    keeper = ListKeeper([path])
    keeper.change("staff", put={"B002BC77": ListEntry("+7 912")})
    assert path.read_text(encoding="utf-8").splitlines() == [*rows, "+7 912,B002BC77,"]
    keeper.change("staff", put={"A001BC77": ListEntry("Anna")}, remove="C003CC77")
    assert path.read_text(encoding="utf-8").splitlines() == [rows[0], "Anna,a 001 bc-77,1", rows[3], "+7 912,B002BC77,"]
    kept = {"A001BC77": ListEntry("Anna"), "B002BC77": ListEntry("+7 912")}
    assert ListKeeper([path]).all() == keeper.all() == {"staff": kept}
    path.unlink()
    keeper.change("staff", remove="A001BC77")
    assert path.read_text(encoding="utf-8") == "plate,label\nB002BC77,+7 912\n"


def test_an_entry_has_limits_that_stay_until_they_are_changed(seen: Seen) -> None:
    address = "/api/v1/lists/staff"
    seen.lists.write_text("plate,label,phone\nA001BC77,Ann,1\n", encoding="utf-8")
    seen.write(event(0, camera="gate"))
    limits = {"valid_from": "2026-11-30", "valid_until": None, "hours": "07:00-19:00", "cameras": ["gate", "gaet"]}

    def put(**fields: object) -> dict[str, object]:
        answer = seen.client.post(f"{address}/entries", json={"plate": "A001BC77", "label": "Ann"} | fields)
        stored: dict[str, object] = answer.json()
        assert answer.status_code == 201, stored
        return stored

    stored = put(**limits)
    assert stored == limits | {
        "plate": "A001BC77",
        "label": "Ann",
        "warning": "cameras: gaet: unknown; this entry matches there when they exist",
    }
    assert put(label="Anna") == stored | {"label": "Anna"}
    table = "plate,label,phone,valid_from,hours,cameras\nA001BC77,Anna,1,2026-11-30,07:00-19:00,gate gaet\n"
    assert seen.lists.read_text(encoding="utf-8") == table
    (shown,) = seen.client.get("/api/v1/lists").json()["lists"]
    assert shown["limits"] == {"A001BC77": {name: value for name, value in limits.items() if value}}
    assert seen.client.post(f"{address}.csv", content=b"plate,label\nA001BC77,Eve\n").json()["added"] == 1
    assert put(label="Eve", cameras=["gate"])["warning"] == ""
    assert (put(hours=None)["hours"], put(valid_from=None)["cameras"]) == (None, ["gate"])
    for wrong in (
        {"hours": "25:00-26:00"},
        {"valid_until": "soon"},
        {"cameras": "gate"},
        {"cameras": ["gate yard"]},
        {"hour": "07:00-19:00"},
    ):
        refused(seen.client.post(f"{address}/entries", json={"plate": "A001BC77"} | wrong))


def test_near_entries_are_told_with_what_they_need_to_match(seen: Seen) -> None:
    address = "/api/v1/lists/staff"
    seen.client.post(f"{address}/entries", json={"plate": "A001BD77", "hours": "07:00-19:00"})
    near = seen.client.get(f"{address}/near", params={"text": "а 001 вс 77"}).json()
    told = [(each["plate"], each["distance"], each["probability"], each["hours"]) for each in near["entries"]]
    assert (near["text"], told) == ("A001BC77", [("A001BC77", 0, 0.3, None), ("A001BD77", 1, 0.0, "07:00-19:00")])
    long = "x" * 300
    seen.client.post(f"{address}.csv", content=f"plate,label\nA001BC7,{long}\n".encode())
    assert long in {each["label"] for each in seen.client.get(f"{address}/near?text=A001BC7").json()["entries"]}
    refused(seen.client.get(f"{address}/near"))
    for path in ("none", "..%2Fstaff", "%2Fetc%2Fpasswd"):
        assert seen.client.get(f"/api/v1/lists/{path}/near?text=A").status_code == 404


def test_putting_a_table_replaces_the_list(seen: Seen) -> None:
    address = "/api/v1/lists/staff.csv"
    # Of a wrong file nothing is taken
    assert seen.client.put(address, content=b"plate,label\n!,bad\n").status_code == 400
    assert "A001BC77" in seen.lists.read_text(encoding="utf-8")
    assert seen.client.put(address, content=b"plate,label\nC003CC77,Eve\n").json()["added"] == 1
    assert seen.lists.read_text(encoding="utf-8") == "plate,label\nC003CC77,Eve\n"


def test_a_saved_list_has_its_name_in_any_script(reader: LocalReader, tmp_path: Path) -> None:
    path = tmp_path / "警察 list.csv"
    path.write_text("plate,label\n", encoding="utf-8")
    app = create_app(Backend(reader, "local"), WebSettings(), Sources(lists=ListKeeper([path])))
    with WebServer(app) as server:
        answer = httpx.get(f"{server.url}/api/v1/lists/警察 list.csv", trust_env=False)
    assert answer.headers["Content-Disposition"].endswith("filename*=UTF-8''%E8%AD%A6%E5%AF%9F%20list.csv")


def test_a_correction_that_fits_no_format_gets_a_warning_and_is_not_exported(seen: Seen, tmp_path: Path) -> None:
    (seen.pictures / "frame.jpg").write_bytes(CAR)
    odd = replace(event(1), images=Images(frame="frame.jpg"))
    seen.write(odd)
    address = f"{EVENTS}/{odd.id}/correction"
    assert seen.client.put(address, json={"plate": "B777OP99"}).json()["warning"] == ""
    answer = seen.client.put(address, json={"plate": "QQ1234"}).json()
    assert (answer["correction"], "QQ1234 fits no format of russia" in answer["warning"]) == ("QQ1234", True)
    kept = (seen.store, seen.pictures)
    assert "0 labels; 1 left out: fit no format" in export(tmp_path / "a", *kept, "--scheme", "russia").output
    assert export(tmp_path / "latin", *kept, "--scheme", "latin").output.endswith("latin: 1 label\n")
    assert export(tmp_path / "all", *kept, "--any-text").output.endswith("all: 1 label\n")


def test_a_correction_has_the_signs_of_its_country_whatever_keyboard_wrote_it(
    reader: LocalReader, tmp_path: Path
) -> None:
    written = {"سطه 7126": "سطھ٧١٢٦", "12 ب 34567": "۱۲ب۳۴۵۶۷", "12345 ا 6": "12345أ6", "ققققق 12": "ققققق12"}
    with seeing(reader, tmp_path, WebSettings(), default_plates()) as seen:
        seen.write(event(1))
        address = f"{EVENTS}/{event(1).id}/correction"
        answers = [seen.client.put(address, json={"plate": plate}).json() for plate in written]
    assert [each["correction"] for each in answers] == [*written.values()]
    assert [each["warning"] for each in answers[:3]] == [""] * 3
    known = f"the {len(default_plates().members)} schemes that are read"
    assert answers[3]["warning"] == f"ققققق12 fits no format of {known}: the export leaves it out"


@pytest.mark.parametrize(
    ("scheme", "written", "text"), [("china", "京A·88731", "京A88731"), ("tunisia", "117 تونس 3989", "117تونس3989")]
)
def test_a_correction_in_another_script_is_a_label(
    seen: Seen, tmp_path: Path, scheme: str, written: str, text: str
) -> None:
    (seen.pictures / "frame.jpg").write_bytes(CAR)
    kept = replace(event(1), images=Images(frame="frame.jpg"))
    seen.write(kept)
    answer = seen.client.put(f"{EVENTS}/{kept.id}/correction", json={"plate": written})
    assert answer.json()["correction"] == text
    exported = export(tmp_path / "labels", seen.store, seen.pictures, "--scheme", scheme)
    assert exported.output.endswith("1 label\n"), exported.output
    (label,) = load_dataset(tmp_path / "labels", symbols=None, strict=True).labels
    assert label.text == text


def test_a_video_is_watched_with_the_threshold_of_its_request(web: httpx.Client, tmp_path: Path) -> None:
    clip = write_clip(tmp_path / "clip.mp4", passing(6)).read_bytes()
    told = {}
    for sure in ("0.9", "0.9999999999"):
        answer = web.post(f"/api/v1/videos?sure={sure}", content=clip, headers={"Content-Type": "video/mp4"})
        lines = [json.loads(each) for each in answer.text.splitlines()]
        told[sure] = {line["event"]["plate"] for line in lines if "event" in line}
    assert told == {"0.9": {TEXT}, "0.9999999999": set()}


def test_an_undecodable_video_is_refused_in_one_line(web: httpx.Client, tmp_path: Path) -> None:
    clip = write_clip(tmp_path / "clip.mp4", still(3)).read_bytes()
    for video in (b"no video at all", clip.replace(b"avc1", b"zzz1")):
        answer = web.post("/api/v1/videos", content=video, headers={"Content-Type": "video/mp4"})
        (line,) = [json.loads(each) for each in answer.text.splitlines() if "error" in each]
        assert line["error"]["code"] == "PLATES_BAD_INPUT"
        assert line["error"]["message"] == "video: cannot be decoded; expected a video file such as MP4 or MKV"
    assert web.post("/api/v1/videos", content=b"x", headers={"Content-Type": "text/plain"}).status_code == 400
