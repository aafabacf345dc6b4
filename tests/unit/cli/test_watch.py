"""`plates watch` as a user runs it, on video files and in this process."""

import importlib
import json
import shutil
import socket
import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from plate_nets.cameras.option_settings import SALT_VARIABLE
from plate_nets.cli import app
from plate_nets.cli.watch_status import event_line
from plate_nets.events.event import Judged
from plate_nets.recognition.local import LocalReader
from tests.clips import TEXT, passing, still, write_clip
from tests.commands import Result
from tests.events import event
from tests.paths import ODD_FOLDER
from tests.receiver import Receiver

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_clip(tmp_path_factory.mktemp("clips") / "car.mp4", passing(12, empty=8), fps=4)


@pytest.fixture(autouse=True)
def inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reader: LocalReader) -> None:
    """In an empty folder, with networks that are loaded once; `test_readers.py` proves that the command loads them."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(importlib.import_module("plate_nets.cli.readers"), "local_reader", lambda *_: reader)


def watch(source: object, *options: object, env: dict[str, str] | None = None) -> Result:
    return CliRunner().invoke(app, ["watch", str(source), "--local", *map(str, options)], env=env)


def events_in(path: Path | str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(path).read_text(encoding="utf-8").splitlines()]


def watch_file(text: str, *options: object) -> Result:
    """Watch the cameras of a file with this text."""
    Path("cameras.yaml").write_text(text, encoding="utf-8")
    return watch("cameras.yaml", *options)


@pytest.mark.filterwarnings("ignore:'imghdr' is deprecated:DeprecationWarning")  # in apprise
def test_one_line_per_event_is_printed_and_every_sink_gets_it(clip: Path, receiver: Receiver) -> None:
    sinks = ["--jsonl", "e.jsonl", "--csv", "e.csv", "--sqlite", "e.sqlite", "--webhook", receiver.url]
    with closing(Receiver()) as phone:
        sinks += ["--notify", f"json://127.0.0.1:{phone.port}/one", "--notify", f"json://127.0.0.1:{phone.port}/two"]
        result = watch(clip, *sinks, "--save-events", "pictures")
    messages = [json.loads(each.body) for each in phone.received]
    assert [message["title"] for message in messages] == [TEXT, TEXT]
    assert all(len(message["attachments"]) == 1 for message in messages)
    assert (result.exit_code, result.stderr) == (0, "1 car read in 20 frames; pictures in pictures\n")
    lines = result.stdout.splitlines()
    assert [line.split("  ")[1:4] for line in lines] == [["car", TEXT, "provisional"], ["car", TEXT, "final"]]
    events = events_in("e.jsonl")
    assert [event["stage"] for event in events] == ["provisional", "final"]
    assert [json.loads(each.body) for each in receiver.wait(2)] == events
    with closing(sqlite3.connect("e.sqlite")) as database:
        assert database.execute("SELECT plate, stage FROM events").fetchall() == [(TEXT, "final")]
    images = events[-1]["images"]
    assert images["vehicle"] is None, "where vehicles are not looked for"
    assert all(Path("pictures", images[kind]).is_file() for kind in ("plate", "frame"))


@pytest.mark.parametrize(
    ("country", "says"),
    [(Judged("kz", 0.9876), "private  kz 0.988"), (Judged("unknown", 0.4), "private"), (None, "private")],
)
def test_a_line_names_the_country_of_a_plate_where_it_is_known(country: Judged | None, says: str) -> None:
    assert event_line(replace(event(), country=country)).endswith(f"  A000BC77  final  score 0.990  {says}")


def test_a_run_without_sinks_prints_its_events_and_leaves_nothing_behind(clip: Path) -> None:
    result = watch(clip, "--json", "--fps", "4", "--thorough", "--start", "2026-11-22T10:00:00+03:00")
    events = [json.loads(line) for line in result.stdout.splitlines()]
    assert [event["plate"] for event in events] == [TEXT, TEXT]
    assert events[-1]["frames"]["read"] == events[-1]["frames"]["seen"], "every frame"
    assert events[0]["first_seen"].startswith("2026-11-22T07:00:0")
    assert events[0]["clock"] == "given"
    assert list(Path().iterdir()) == []


def test_a_car_without_a_certain_text_is_reported_if_requested(clip: Path) -> None:
    options = ("--sure", "0.9999999999")
    silent = watch(clip, *options)
    assert (silent.exit_code, silent.stdout) == (0, "")
    (line,) = watch(clip, *options, "--unread").stdout.splitlines()
    assert f"unsure, perhaps {TEXT}" in line and "final" in line
    refused = watch(clip, "--sure", "99")
    assert refused.exit_code == 2 and "sure: expected a probability between 0 and 1, got 99" in refused.stderr


def test_saved_files_are_reported_and_so_is_a_run_without_cars(clip: Path) -> None:
    write_clip(Path("road.mp4"), still(3))
    for source, says in ((str(clip), "1 car read in 20 frames"), ("road.mp4", "0 cars read in 3 frames")):
        result = watch(source, "--save-video", "drawn.mp4")
        assert (result.exit_code, result.stderr) == (0, f"{says}; saved drawn.mp4\n")
        assert Path("drawn.mp4").stat().st_size > 1000


@pytest.mark.parametrize(
    ("place", "says"),
    [("no/drawn.mp4", "No such file or directory"), ("car.mp4", "would overwrite the video that is read")],
)
def test_an_unwritable_video_is_refused_before_anything_is_read(clip: Path, place: str, says: str) -> None:
    Path("car.mp4").symlink_to(clip)
    before = clip.read_bytes()
    result = watch(clip, "--save-video", place)
    assert (result.exit_code, result.stdout) == (2, "")
    assert says in result.stderr and result.stderr.count("\n") == 1
    assert clip.read_bytes() == before


def test_a_source_without_pictures_is_named_once_and_keeps_an_older_video() -> None:
    Path("drawn.mp4").write_bytes(b"older")
    result = watch("nothing.mp4", "--save-video", "drawn.mp4")
    assert (result.exit_code, result.stderr) == (2, "nothing.mp4: No such file or directory\n")
    assert Path("drawn.mp4").read_bytes() == b"older"


def test_a_port_in_use_is_reported_in_one_line(clip: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        result = watch(clip, "--metrics-port", port)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == f"plates: health port {port} on 127.0.0.1: Address already in use; choose another\n"


def test_a_sink_option_replaces_the_sinks_of_its_type_in_the_file(clip: Path, receiver: Receiver) -> None:
    """The README's command with the file of docs/how-to/cameras.md."""
    text = f"""
cameras: [{{source: {clip}}}]
sinks:
  - {{type: webhook, url: "http://127.0.0.1:9/of-the-file"}}
  - {{type: jsonl, path: events.jsonl}}
"""
    result = watch_file(text, "--webhook", receiver.url)
    assert result.exit_code == 0, result.stderr
    assert len(receiver.wait(2)) == len(events_in("events.jsonl")) == 2


def test_matches_only_counts_for_the_sinks_of_the_file(clip: Path) -> None:
    text = f"cameras: [{{source: {clip}}}]\nsinks: [{{type: jsonl, path: events.jsonl}}]\n"
    result = watch_file(text, "--matches-only")
    assert result.exit_code == 0, result.stderr
    assert events_in("events.jsonl") == []


@pytest.mark.parametrize(
    ("start", "says"),
    [
        ("noon", "expected a time such as"),
        ("2026-11-22T10:00", "its offset"),
        ("9999-12-31T23:59:59+00:00", "a time of the years 1900 to 8999"),
        ("0001-01-01T00:00:00+14:00", "a time of the years 1900 to 8999"),
    ],
)
def test_an_invalid_start_is_refused(start: str, says: str) -> None:
    result = watch("car.mp4", "--start", start)
    assert result.exit_code == 2
    assert says in result.stderr


def test_undelivered_records_are_delivered_by_the_next_run(clip: Path, receiver: Receiver) -> None:
    receiver.close()
    first = watch(clip, "--webhook", receiver.url)
    assert first.exit_code == 0
    assert "webhook: 2 records wait in the outbox for the next run" in first.stderr
    with closing(Receiver(receiver.port)) as again:
        watch(clip, "--webhook", receiver.url)
        assert len({each.headers["webhook-id"] for each in again.wait(4)}) == 4


def test_texts_are_hashed_with_a_salt_also_in_the_saved_video(clip: Path, drawn: list[list[str]]) -> None:
    options = ("--hash", "--json", "--save-video", "drawn.mp4")
    refused = watch(clip, *options, env={SALT_VARIABLE: ""})
    assert refused.exit_code == 2 and SALT_VARIABLE in refused.stderr
    found = [watch(clip, *options, env={SALT_VARIABLE: salt}).stdout for salt in ("a", "a", "b")]
    assert TEXT not in "".join(found)
    plates = [json.loads(text.splitlines()[-1])["plate"] for text in found]
    assert plates[0] == plates[1] != plates[2]
    assert {text for texts in drawn for text in texts} == {"", *plates}


def test_cameras_and_sinks_come_from_a_file(clip: Path) -> None:
    Path("staff.csv").write_text(f"plate,label,cameras\n{TEXT},Ann,gate-1 gaet\n,\n", encoding="utf-8")
    text = f"""
cameras:
  - id: gate-1
    source: {clip}
    fps: 4
  - id: gate-2
    source: nothing.mp4
watch_lists: [staff.csv]
sinks:
  - {{type: jsonl, path: matches.jsonl, matches_only: true, finals_only: true}}
"""
    result = watch_file(text)
    assert result.exit_code == 1
    assert "gate-2: No such file or directory" in result.stderr
    assert "watch list staff, line 3: expected a plate" in result.stderr
    assert "staff: no camera is called gaet" in result.stderr
    (match,) = events_in("matches.jsonl")
    assert (match["camera_id"], match["watch"][0]["label"]) == ("gate-1", "Ann")


def test_every_file_may_be_in_a_folder_of_any_name(clip: Path) -> None:
    folder = ODD_FOLDER.absolute()
    folder.mkdir(parents=True)
    shutil.copy(clip, folder / "car.mp4")
    (folder / "staff.csv").write_text(f"plate,label\n{TEXT},Ann\n", encoding="utf-8")
    plan = {
        "cameras": [{"id": "gate", "source": str(folder / "car.mp4"), "fps": 4}],
        "watch_lists": [str(folder / "staff.csv")],
        "sinks": [
            {"type": "jsonl", "path": str(folder / "events.jsonl"), "finals_only": True},
            {"type": "csv", "path": str(folder / "events.csv")},
        ],
        "outbox": str(folder / "outbox.sqlite"),
    }
    (folder / "cameras.yaml").write_text(yaml.safe_dump(plan), encoding="utf-8")
    outputs = ("--sqlite", folder / "events.sqlite", "--save-events", folder / "pictures")
    result = watch(folder / "cameras.yaml", *outputs, "--save-video", folder / "drawn.mp4")
    assert result.exit_code == 0, result.output
    (event,) = events_in(folder / "events.jsonl")
    assert (event["plate"], event["watch"][0]["label"]) == (TEXT, "Ann")
    with closing(sqlite3.connect(folder / "events.sqlite")) as database:
        assert list(database.execute("SELECT plate FROM events")) == [(TEXT,)]
    assert all((folder / "pictures" / path).is_file() for path in event["images"].values() if path)
    assert (folder / "drawn.mp4").stat().st_size and (folder / "events.csv").stat().st_size
    assert [each.name for each in Path().iterdir()] == [ODD_FOLDER.parts[0]], "nothing is written elsewhere"


AREA = "polygon: [[0, 0], [1, 0], [1, 1]]"


def file_of(camera: str, more: str = "") -> str:
    """A cameras.yaml with a camera "a" that has these keys, and more below it."""
    return f"cameras: [{{source: a.mp4, {camera}}}]\n{more}"


def zones(items: str) -> str:
    return file_of(f"include: [{items}]")


def sink(keys: str) -> str:
    return file_of("", f"sinks: [{{{keys}}}]")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("cameras:\n" + f"- {'k' * 100}: x\n" * 6000, "and 11995 more faults"),
        (file_of(r'"\e[2J\n": 1'), r"'cameras.0.\x1b[2J\n': unknown key"),
        (file_of("hardware: cudaa"), "0.hardware: expected true, false, cuda, vaapi or v4l2\n"),
        (file_of(f"id: {'x' * 500_000}"), "id: expected 1 to 64 letters"),
        (file_of("sorce: b"), "cameras.yaml: cameras.0.sorce: unknown key"),
        ("cameras: [{id: a}]", "cameras.yaml: cameras.0.source: missing"),
        ("camera: []", "cameras.yaml: cameras: missing; camera: unknown key"),
        (file_of("fps: -1"), "cameras.yaml: camera a: fps: expected more than 0, got -1.0"),
        (file_of("zone: Mars"), "cameras.yaml: camera a: zone: expected a name such as"),
        ("cameras: [{source: 'rtsp://${PLATES_NOBODY}@h/x'}]", "the environment has no variable PLATES_NOBODY"),
        ("cameras: [", "cameras.yaml, line 1: expected YAML"),
        (file_of("", "sure: 99"), "cameras.yaml: sure: expected a probability between 0 and 1, got 99"),
        (sink("type: fax"), "cameras.yaml: sinks.0: "),
        (file_of("", "outbox_mb: .nan"), "cameras.yaml: outbox_mb: expected more than 0, up"),
        (file_of("", "outbox_mb: 0"), "outbox_mb: expected more than 0, up to 1048576, got 0"),
        (sink("type: sqlite, path: a, keep_days: .inf"), "yaml: sqlite: keep_days: expected 0 to 36500, got inf"),
        (file_of("id: .."), "cameras.yaml: camera '..': id: expected 1 to 64 letters, digits"),
        (file_of("aspect: 0:0"), "camera a: aspect: expected width:height of the whole picture"),
        (file_of("deinterlace: bob"), "deinterlace: Input should be 'auto', 'on' or 'off'"),
        (file_of("silence: .nan"), "camera a: silence: expected 0.5 to 3600 s, got nan"),
        (file_of("read: on_trigger"), "camera a: read: expected always, for a source"),
        ("cameras: [{source: 'rtsp://a/b', id: a, read: on_trigger}]", "camera a: read: on_trigger: nobody can ask"),
        (
            "cameras: [{source: 'rtsp://a/b', id: a, onvif: a.b}]",
            "camera a: onvif: expected an http:// or https:// URL",
        ),
        (file_of("least_height: .nan"), "camera a: least_height: expected 0 px or more, got nan"),
        (sink("type: mqtt, url: 'mqtt://a/b', off_after: 0"), "yaml: mqtt: off_after: expected 1 to 86400 s, got 0"),
        (file_of("", "memory: -5"), "cameras.yaml: memory: expected a number of 0 or more, got -5"),
        (file_of("", "keep_days: .inf"), "keep_days: expected a number of 0 or more, got inf"),
        (zones(f"[{'[0.1,5],' * 6000}]"), "include: expected three or more points"),
        (zones("{name: in, polygon: [[0, 0], [1, 1], [1, 0], [0, 1]]}"), "zone in: expected a polygon whose sides"),
        (zones("{name: in, polygon: [[0, 0], [1, 1]]}"), "camera a: include: expected three or more points"),
        (zones(f"{{name: in, polygon: [{'[0, 0],' * 600}]}}"), "zone in: expected 500 points or fewer, got 600"),
        (zones(f"{{name: in, {AREA}}}, {{name: in, {AREA}}}"), "camera a: include: expected different names, got 'in'"),
        (zones(f"{{name: '', {AREA}}}"), "camera a: include: expected a name of 1 to 64 letters, digits"),
        (zones(f"{{name: a/b, {AREA}}}"), "camera a: include: expected a name of 1 to 64 letters, digits"),
        (zones(f"{{{AREA}}}"), "cameras.0.include.0.zone.name: missing"),
        (zones(f"{{name: in, {AREA}, colour: red}}"), "cameras.0.include.0.zone.colour: unknown key"),
        (zones("up"), "cameras.0.include.0.polygon: expected a list"),
        ("cameras:\n  gate: {source: a.mp4}\n", "cameras: expected a list"),
        ("cameras: [a.mp4]\n", "cameras.0: expected keys with values"),
        (file_of("source: b.mp4"), "cameras.yaml, line 1: expected YAML: duplicate key source"),
    ],
)
def test_a_fault_in_the_file_is_one_short_line(text: str, message: str) -> None:
    result = watch_file(text)
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
    assert message in result.stderr and len(result.stderr) < 1200


@pytest.mark.parametrize("option", ["--keep-days", "--keep-mb", "--fps", "--timeout"])
@pytest.mark.parametrize("value", ["nan", "inf"])
def test_an_option_that_is_not_a_finite_number_is_refused(option: str, value: str) -> None:
    result = watch("a.mp4", option, value)
    assert result.exit_code == 2
    assert f"{option}: expected a finite number, got {value}" in result.stderr or "not in the range" in result.stderr


def test_a_signal_ends_a_run_after_its_events_are_reported(tmp_path: Path) -> None:
    """A file is enough: reading it takes far longer than this test."""
    clip = write_clip(tmp_path / "long.mp4", passing(150), fps=25)
    command = [sys.executable, "-m", "plate_nets", "watch", str(clip), "--local", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        first = json.loads(process.stdout.readline())
        process.terminate()
        rest = [json.loads(line) for line in process.stdout]
    assert process.returncode == 143
    assert (rest[-1]["stage"], rest[-1]["id"]) == ("final", first["id"])
