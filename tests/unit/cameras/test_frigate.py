"""Frigate's events in, license plates and sub labels back, with a stand-in that speaks its wire format.

Messages are those of docs.frigate.video/integrations/mqtt, requests and answers those of its HTTP API 0.16 to 0.18.
"""

import base64
import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from email.message import Message
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any
from unittest.mock import Mock
from urllib.parse import parse_qs, urlsplit

import pytest
from typer.testing import CliRunner

from plate_nets.cameras.frigate import FrigateReader
from plate_nets.cameras.frigate_api import FrigateApi
from plate_nets.cli import app
from plate_nets.common.errors import InputError, ServerUnavailable
from plate_nets.countries import default_plates
from plate_nets.events.event import PlateEvent
from plate_nets.types import Box, Plate, Reading
from tests.broker import Broker
from tests.events import checked
from tests.frames import Placed, compose, encode
from tests.local_http import LocalHttp, QuietHandler
from tests.receiver import Receiver
from tests.waiting import eventually

ID = "1607123955.475377-mxklsc"
TEXT = "A123BC77"
PICTURE = encode(compose(360, 480, [Placed(TEXT, 100, 200)]), ".jpg")
BOTH = ("http://127.0.0.1:9", "--mqtt", "mqtt://127.0.0.1:9")
BOX = [60, 100, 300, 300]
LARGE = encode(compose(720, 960, [Placed(TEXT, 200, 400)]), ".jpg")
RECORDED = "recordings/1607123961.800/snapshot.jpg"
"""The frame at the moment of the snapshot."""


def message(kind: str = "update", id: str = ID, **changes: Any) -> bytes:
    """A message of `frigate/events`, with the fields that its documentation shows."""
    after = {
        "id": id,
        "camera": "front_door",
        "frame_time": 1607123961.837752,
        "snapshot": {"frame_time": 1607123961.8, "box": BOX, "area": 48000, "score": 0.79},
        "label": "car",
        "sub_label": None,
        "top_score": 0.958984375,
        "false_positive": False,
        "start_time": 1607123955.475377,
        "end_time": 1607123970.5 if kind == "end" else None,
        "score": 0.7890625,
        "box": BOX,
        "current_zones": ["driveway"],
        "entered_zones": ["yard", "driveway"],
        "has_snapshot": True,
        "has_clip": False,
        "stationary": False,
    }
    return json.dumps({"type": kind, "before": after, "after": after | changes}).encode()


class Frigate(LocalHttp):
    """Answers as Frigate does; ``faults`` come first, None hangs up. ``knows_plates``: from version 0.16 on."""

    def __init__(self) -> None:
        self.picture: bytes | None = PICTURE
        self.recorded: dict[str, bytes] = {}
        """Frames of the camera's recording, by the end of their address."""
        self.config: Any = {"cameras": {"front_door": {"detect": {"width": 480, "height": 360, "fps": 5}}}}
        self.faults: list[int | None] = []
        self.knows_plates = True
        self.asked: list[str] = []
        self.query: dict[str, list[str]] = {}
        self.sent: list[tuple[str, dict[str, Any]]] = []
        self.headers = Message()
        standin = self

        class Handler(QuietHandler):
            def do_GET(self) -> None:
                standin._answer(self)

            do_POST = do_GET

        super().__init__(Handler)
        self.url = f"http://127.0.0.1:{self.port}"

    def _answer(self, handler: BaseHTTPRequestHandler) -> None:
        address = urlsplit(handler.path)
        what = address.path.removeprefix(f"/api/events/{ID}/").removeprefix("/api/front_door/").removeprefix("/api/")
        body = handler.rfile.read(int(handler.headers.get("content-length", 0)))
        self.headers = handler.headers
        self.asked.append(what)
        fault = self.faults.pop(0) if self.faults else 0
        if fault is None:
            return
        if what == "snapshot.jpg":
            self.query = parse_qs(address.query)
        done = b'{"success":true,"message":"set"}'
        get = {"snapshot.jpg": self.picture, "config": json.dumps(self.config).encode(), **self.recorded}
        post = {"recognized_license_plate": done if self.knows_plates else None, "sub_label": done}
        content = None if fault else (post if body else get).get(what)
        if content and body:
            self.sent.append((what, json.loads(body)))
        handler.send_response(200 if content else fault or 404)
        content = content or b'{"success":false,"message":"Event not found"}'
        handler.send_header("content-length", str(len(content)))
        handler.end_headers()
        handler.wfile.write(content)


def reads(*texts: str, box: Box = Box(150, 200, 220, 220)) -> Mock:
    """A reader of these texts, one picture after another, by default in the middle of the car."""
    readings = (Reading(text, text or "A1", 0.95, (0.95,) * len(text), scheme="russia") for text in texts)
    return Mock(read=Mock(side_effect=[[Plate(box, 0.9, reading)] for reading in readings]))


@pytest.fixture
def frigate() -> Iterator[Frigate]:
    with closing(Frigate()) as standin:
        yield standin


Run = Callable[..., tuple[list[PlateEvent], list[str]]]


@pytest.fixture
def run(frigate: Frigate) -> Iterator[Run]:
    """Messages, and the texts that are read -> events and lines, once nothing is left to do."""
    with FrigateApi(frigate.url, timeout=5) as api:

        def run(*messages: bytes, texts: tuple[str, ...] = (TEXT,), **options: Any) -> Any:
            told: list[PlateEvent] = []
            said: list[str] = []
            reader = options.pop("reader", None) or reads(*texts)
            plates = FrigateReader(
                api, reader, default_plates(), lambda event, picture: told.append(event), said.append, **options
            )
            for each in messages:
                plates.take(each)
                while plates.turn(0.05):
                    pass
            return told, said

        yield run


def test_a_vehicle_is_read_once_and_set_in_frigate(frigate: Frigate, run: Run) -> None:
    """A picture without a text is no reason to stop: the next one may have it."""
    updates = (message("new"), message(), message(), message("end"))
    (event,), said = run(*updates, texts=("", TEXT))
    assert frigate.sent == [
        ("recognized_license_plate", {"recognizedLicensePlate": TEXT, "recognizedLicensePlateScore": 0.95}),
        ("sub_label", {"subLabel": TEXT, "subLabelScore": 0.95}),
    ]
    assert frigate.asked.count("snapshot.jpg") == 2 and frigate.query["crop"] == ["0"]
    assert (event.plate, event.camera_id, event.region.subject, event.stage) == (TEXT, "front_door", "77", "final")
    assert event.timestamp.timestamp() == pytest.approx(1607123961.8)
    checked(event)
    again, _ = run(message("end"))
    assert again[0].id == event.id, "of the same object, also after a restart"
    assert not said


IN_LARGE = Box(500, 500, 580, 540)
"""Where the car is in a frame of twice the size, and no car is in the snapshot."""


@pytest.mark.parametrize(("picture", "texts"), [(PICTURE, ("", TEXT)), (None, (TEXT,))], ids=["too_small", "gone"])
def test_what_the_snapshot_does_not_show_is_read_in_the_recording(
    frigate: Frigate, run: Run, picture: bytes | None, texts: tuple[str, ...]
) -> None:
    frigate.picture = picture
    frigate.recorded[RECORDED] = LARGE
    (event,), said = run(message("end", has_clip=True), reader=reads(*texts, box=IN_LARGE))
    assert (event.plate, event.box, said) == (TEXT, IN_LARGE, [])
    assert frigate.asked == ["snapshot.jpg", "config", RECORDED, "recognized_license_plate", "sub_label"]
    assert event.timestamp.timestamp() == pytest.approx(1607123961.8)
    assert event.last_seen.timestamp() == pytest.approx(1607123970.5), "when it ended"


def test_the_recording_is_looked_at_around_the_snapshot_and_only_at_the_end(frigate: Frigate, run: Run) -> None:
    frigate.recorded |= {RECORDED: LARGE, RECORDED.replace("961.8", "962.3"): LARGE}
    reader = reads("", "", "", TEXT, box=IN_LARGE)  # two snapshots, and the recording at once, before and after
    (event,), said = run(message(has_clip=True), message("end", has_clip=True), reader=reader)
    assert event.timestamp.timestamp() == pytest.approx(1607123962.3) and said == []
    assert [each for each in frigate.asked if "recordings" in each][1].startswith("recordings/1607123961.300")


def test_a_recording_is_waited_for_until_it_is_stored(frigate: Frigate, run: Run) -> None:
    last = message("end", has_clip=True)
    frigate.recorded[RECORDED] = LARGE
    frigate.faults = [0, 0, 404, 0, 500]  # as long as it is not stored, and once Frigate fails
    told, said = run(last, texts=("", TEXT), pauses=(0.01,) * 4)
    assert [len(told), frigate.asked.count("snapshot.jpg"), frigate.asked.count(RECORDED)] == [1, 1, 3]
    assert [line.partition(":")[0] for line in said] == ["Frigate", "answers again"]
    frigate.recorded.clear()
    expected: Any = ([], [f"front_door: {ID}: Frigate has no recording of it"])
    assert run(last, texts=("",), pauses=(0.01, 0.01)) == expected


@pytest.mark.parametrize(
    "config", [None, [], {"cameras": {}}, {"cameras": {"front_door": {"detect": {"width": None, "height": 0}}}}]
)
def test_without_the_size_of_the_boxes_no_recording_is_read(frigate: Frigate, run: Run, config: Any) -> None:
    frigate.config = config
    frigate.recorded[RECORDED] = LARGE
    assert run(message("end", has_clip=True), texts=("",)) == ([], [])
    assert frigate.asked == ["snapshot.jpg", "config"]


def test_only_vehicles_that_have_a_snapshot_are_asked_for(frigate: Frigate, run: Run) -> None:
    told, said = run(message(label="person"), message(has_snapshot=False))
    assert (told, said, frigate.asked) == ([], [], [])
    assert len(run(message(label="license_plate"), labels=["license_plate"])[0]) == 1


def test_the_plate_of_another_car_is_not_taken(frigate: Frigate, run: Run) -> None:
    other: Any = {"box": [300, 0, 480, 100]}
    told, said = run(message(snapshot=None, **other), message("end", **other), texts=(TEXT,) * 2)
    assert [len(told), said, len(frigate.sent)] == [1, [], 2], "the snapshot's box counts, if there is one"
    frigate.picture, frigate.recorded[RECORDED] = None, LARGE
    beside = message("end", has_clip=True, snapshot=None, box=[0, 0, 90, 90], frame_time=1607123961.8)
    assert run(beside) == ([], []), "nor from the recording"


def test_a_sub_label_that_somebody_has_set_stays(frigate: Frigate, run: Run) -> None:
    run(message(sub_label=["Ann", 0.9]))
    assert [what for what, _ in frigate.sent] == ["recognized_license_plate"]


def test_frigate_before_0_16_gets_sub_labels(frigate: Frigate, run: Run) -> None:
    frigate.knows_plates = False
    _, said = run(message())
    assert [what for what, _ in frigate.sent] == ["sub_label"]
    assert len(said) == 1 and "older than 0.16" in said[0]


@pytest.mark.parametrize("faults", [[500], [None], [502, 503, None], [0, 500], [0, 0, 500, None]])
def test_what_fails_is_tried_again_and_told_once(frigate: Frigate, run: Run, faults: list[int | None]) -> None:
    frigate.faults = list(faults)
    told, said = run(message("end"), pauses=(0.01,) * 4)
    assert [what for what, _ in frigate.sent] == ["recognized_license_plate", "sub_label"] and len(told) == 1
    assert [line.partition(":")[0] for line in said] == ["Frigate", "answers again"]
    assert said[0].endswith("; trying again")


def test_an_object_is_given_up_in_the_end(frigate: Frigate, run: Run) -> None:
    frigate.faults = [500] * 3
    told, said = run(message("end"), pauses=(0.01, 0.01))
    assert (told, len(said)) == ([], 2)
    assert said[1] == f"front_door: {ID}: given up: Frigate: snapshot.jpg: answered 500 Internal Server Error"


def test_an_event_without_a_snapshot_and_one_with_no_picture_are_a_line(frigate: Frigate, run: Run) -> None:
    refuses = Mock(read=Mock(side_effect=InputError("image: expected a JPEG")))
    frigate.picture = None
    assert run(message(), message("end"))[1] == [f"front_door: {ID}: Frigate has no snapshot of it"]
    frigate.picture = b"no picture"
    assert run(message("end"), reader=refuses)[1] == [f"front_door: {ID}: image: expected a JPEG"]


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b"offline",
        b"\xff",
        b"[" * 100_000,
        b'{"after": null}',
        b'{"type": "new", "after": {}}',
        message(id="../../config"),
        message(camera="../x"),
        message(start_time=None),
        message(start_time=1e300),
        message(box="x", snapshot=None),
        message(snapshot=[1]),
    ],
)
def test_other_messages_are_a_line(frigate: Frigate, run: Run, payload: bytes) -> None:
    told, said = run(payload, payload, message())
    assert (len(told), len(said)) == (1, 1)
    assert said[0].startswith("message: expected an event of Frigate")


def test_a_password_in_the_address_is_sent_and_shown_nowhere(frigate: Frigate) -> None:
    with FrigateApi(frigate.url.replace("://", "://ann:s3cret@")) as api:
        assert api.snapshot(ID) == PICTURE
        assert frigate.headers["authorization"] == "Basic " + base64.b64encode(b"ann:s3cret").decode()
        frigate.faults = [500]
        with pytest.raises(ServerUnavailable, match="answered 500") as failed:
            api.snapshot(ID)
    assert "s3cret" not in str(failed.value)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([*BOTH, "--url", "127.0.0.1:9", "--timeout", "2"], "127.0.0.1:9"),
        ([*BOTH, "--local", "--model-repository", "none"], "none"),
        (["frigate:5000", "--mqtt", "mqtt://127.0.0.1:9"], "frigate: expected an http:// or https:// URL"),
        (["http://127.0.0.1:9", "--mqtt", "http://s3cret@x"], "mqtt: expected mqtt://host:port/topic"),
        (["http://127.0.0.1:9", "--mqtt", "mqtt://x/+/a"], "mqtt: expected a host and a topic without + and #"),
    ],
)
def test_wrong_usage_is_one_line(arguments: list[str], says: str) -> None:
    result = CliRunner().invoke(app, ["frigate", *arguments])
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
    assert says in result.stderr and "s3cret" not in result.stderr


def test_the_command_beside_a_broker_that_comes_back(frigate: Frigate, receiver: Receiver, tmp_path: Path) -> None:
    def told() -> str:
        return (tmp_path / "said").read_text(encoding="utf-8")

    with closing(Broker(tmp_path)) as broker, (tmp_path / "said").open("wb") as said:
        options = f"--local --mqtt {broker.url().replace('/site/plates', '/home')} --save-events pictures --label car"
        options += f" --sqlite e.sqlite --jsonl e.jsonl --outbox o.sqlite --notify json://127.0.0.1:{receiver.port}"
        options += " --keep-days 30 --scheme russia --detail fast"
        command = [sys.executable, "-m", "plate_nets", "frigate", frigate.url, *options.split()]
        with subprocess.Popen(command, stdout=said, stderr=said, cwd=tmp_path) as process:
            try:
                assert eventually(lambda: "connected, waits for home/events" in told(), 60), told()
                broker.stop()
                assert eventually(lambda: "connection lost" in told(), 60), told()
                broker.start()
                assert eventually(lambda: told().count("connected, waits") == 2, 60), told()
                broker.subscribe()[0].publish("home/events", message(), qos=1).wait_for_publish(30)
                assert eventually(lambda: len(frigate.sent) == 2, 60), told()
                process.send_signal(signal.SIGTERM)
                assert process.wait(60) == 128 + signal.SIGTERM
            finally:
                process.kill()
    (event,) = [json.loads(line) for line in (tmp_path / "e.jsonl").read_text(encoding="utf-8").splitlines()]
    assert (event["plate"], event["camera_id"]) == (TEXT, "front_door")
    assert json.loads(receiver.wait(1)[0].body)["title"] == TEXT
    assert (tmp_path / "pictures" / event["images"]["frame"]).read_bytes() == PICTURE
    assert f"front_door  {TEXT}  final" in told() and "s@crt" not in told() and "Traceback" not in told()
