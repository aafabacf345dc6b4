"""Posts of cameras that read plates by themselves, as their makers document them, become events."""

import base64
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest

from plate_nets.recognition.local import LocalReader
from plate_nets.web.settings import WebSettings
from tests.web.conftest import CAR, TEXT, TOKEN, Seen, seeing

MAKERS = ("hikvision", "dahua")
OTHER = "A123BC78"
ALERT = """<?xml version="1.0" encoding="UTF-8"?>
<EventNotificationAlert version="2.0" xmlns="http://www.hikvision.com/ver20/XMLSchema">
<ipAddress>192.168.1.64</ipAddress><portNo>80</portNo><protocol>HTTP</protocol>
<macAddress>44:19:b6:00:00:01</macAddress><channelID>1</channelID>
<dateTime>2026-11-22T13:00:00+03:00</dateTime><activePostCount>1</activePostCount>
<eventType>{kind}</eventType><eventState>active</eventState><eventDescription>ANPR</eventDescription>
<ANPR><country>RUS</country><licensePlate>{plate}</licensePlate><line>1</line><direction>forward</direction>
<confidenceLevel>{confidence}</confidenceLevel><plateType>unknown</plateType><plateColor>white</plateColor>
<pictureInfoList><pictureInfo><fileName>detectionPicture.jpg</fileName><type>detectionPicture</type></pictureInfo>
</pictureInfoList></ANPR>
<UUID>{uuid}</UUID><picNum>1</picNum></EventNotificationAlert>"""


def alert(plate: str = TEXT, confidence: object = 97, kind: str = "ANPR", uuid: str = "1") -> str:
    return ALERT.format(plate=plate, confidence=confidence, kind=kind, uuid=uuid)


def tollgate(
    plate: str | None = TEXT, picture: bytes = b"", confidence: object = 97, uuid: str = "1"
) -> dict[str, Any]:
    stored = {"Content": base64.b64encode(picture).decode(), "PicName": f"{uuid}.jpg"}
    return {
        "Picture": {
            "NormalPic": stored,
            "CutoutPic": {"Content": "", "PicName": ""},
            "Plate": {"BoundingBox": [1, 2, 3, 4], "Confidence": confidence, "IsExist": True, "PlateNumber": plate},
            "SnapInfo": {"AccurateTime": "2026-11-22 13:00:00.123", "DeviceID": "7J0", "Direction": "Obverse"},
            "Vehicle": {"VehicleColor": "White", "VehicleType": "Car"},
        }
    }


def post(client: httpx.Client, maker: str, plate: str = TEXT, picture: bytes = b"", **asked: str) -> httpx.Response:
    uuid = asked.pop("uuid", "1")
    if maker == "dahua":
        return client.post("/in/dahua", params=asked, json=tollgate(plate, picture, uuid=uuid))
    if not picture:
        kind = {"Content-Type": 'application/xml; charset="UTF-8"'}
        return client.post("/in/hikvision", params=asked, content=alert(plate, uuid=uuid), headers=kind)
    files = {
        "anpr.xml": ("anpr.xml", alert(plate, uuid=uuid).encode(), "text/xml"),
        "licensePlatePicture.jpg": ("licensePlatePicture.jpg", CAR[:500], "image/jpeg"),
        "detectionPicture.jpg": ("detectionPicture.jpg", picture, "image/jpeg"),
    }
    return client.post("/in/hikvision", params=asked, files=files)


def only_event(seen: Seen) -> dict[str, Any]:
    (event,) = seen.client.get("/api/v1/events").json()["events"]
    return dict(event)


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize("plate", [TEXT, OTHER])
def test_a_post_is_an_event_beside_our_own_reading_of_its_picture(seen: Seen, maker: str, plate: str) -> None:
    seen.client.put("/api/v1/lists/staff.csv", content=f"plate,label\n{plate},Ann\n").raise_for_status()
    answers = [post(seen.client, maker, f"{plate[:4]} {plate[4:]}", CAR, camera="gate-2") for _ in range(2)]
    event = only_event(seen)
    assert [answer.raise_for_status().json()["id"] for answer in answers] == [event["id"]] * 2
    assert (event["source"], event["camera_id"], event["plate"], event["score"]) == (maker, "gate-2", plate, 0.97)
    assert event["own_reading"]["name"] == TEXT and event["own_reading"]["score"] > 0.8
    assert event["box"]["xmin"] == pytest.approx(100, abs=10)
    assert [match["label"] for match in event["watch"]] == ["Ann"]
    assert event["timestamp"].startswith("2026-11-22T10:00:00" if maker == "hikvision" else "2026-11-22T")
    assert seen.client.get(f"/api/v1/events/{event['id']}/frame.jpg").content == CAR


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize(
    ("written", "picture", "plates"),
    [("unknown", CAR, [TEXT]), ("无车牌", CAR, [TEXT]), ("unknown", b"", []), ("unknown", b"no picture", [])],
)
def test_a_plate_that_the_camera_cannot_read_is_read_here(
    seen: Seen, maker: str, written: str, picture: bytes, plates: list[str]
) -> None:
    assert (post(seen.client, maker, written, picture).raise_for_status().json()["id"] is not None) == bool(plates)
    events = seen.client.get("/api/v1/events").json()["events"]
    assert [(each["plate"], each["source"], each["camera_id"]) for each in events] == [
        (each, maker, maker) for each in plates
    ]


@pytest.mark.parametrize("maker", MAKERS)
def test_a_post_without_a_picture_is_an_event(seen: Seen, maker: str) -> None:
    assert post(seen.client, maker).json()["id"] == only_event(seen)["id"]
    assert only_event(seen)["own_reading"] is None


@pytest.mark.parametrize("taken", ["2099-01-01 00:00:00", "", "yesterday", "1970-01-01 00:00:00"])
def test_a_camera_with_a_wrong_clock_has_no_events_in_the_future(seen: Seen, taken: str) -> None:
    sent = tollgate(confidence=None)
    sent["Picture"]["SnapInfo"]["AccurateTime"] = taken
    for _ in range(2):
        seen.client.post("/in/dahua", json=sent).raise_for_status()
    times = [each["timestamp"] for each in seen.client.get("/api/v1/events").json()["events"]]
    assert len(times) == (1 if taken[:1].isdigit() else 2), "a post that says when it was taken may be a repeated one"
    assert all(datetime.fromisoformat(each) <= datetime.now(UTC) for each in times)


def test_what_is_no_plate_is_answered_and_not_kept(seen: Seen) -> None:
    kind = {"Content-Type": "text/xml"}
    heartbeat = seen.client.post("/in/hikvision", content=alert(kind="videoloss"), headers=kind)
    assert heartbeat.raise_for_status().json() == {"id": None}
    assert seen.client.post("/NotificationInfo/KeepAlive", json={"Active": "1"}).json() == {"Result": True}
    assert seen.client.get("/api/v1/events").json()["events"] == []


@pytest.mark.parametrize(
    ("path", "content"),
    [
        ("/in/hikvision", b"no xml"),
        ("/in/hikvision", b"<html/>"),
        ("/in/hikvision", b'<!DOCTYPE a [<!ENTITY b "c">]><EventNotificationAlert>&b;</EventNotificationAlert>'),
        ("/in/hikvision", b"<?xml version='1.0' encoding='nothing'?><EventNotificationAlert/>"),
        ("/in/hikvision", alert(confidence="high").encode()),
        ("/in/hikvision?camera=..", alert().encode()),
        ("/in/dahua", b"no json"),
        ("/in/dahua", b"{}"),
        ("/in/dahua", b"[" * 100_000),
        ("/in/dahua", json.dumps(tollgate(confidence="high")).encode()),
        ("/in/dahua", b'{"Picture": {"Plate": {"PlateNumber": "A", "Confidence": NaN}}}'),
        ("/in/dahua", b'{"Picture": {"NormalPic": {"Content": "no base64!"}}}'),
        ("/in/dahua?camera=a/b", json.dumps(tollgate()).encode()),
    ],
)
def test_an_invalid_post_is_refused(seen: Seen, path: str, content: bytes) -> None:
    answer = seen.client.post(path, content=content, headers={"Content-Type": "application/xml"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "PLATES_BAD_INPUT"), answer.text


@pytest.fixture
def guarded_store(reader: LocalReader, tmp_path: Path) -> Iterator[Seen]:
    with seeing(reader, tmp_path, WebSettings(tokens=(TOKEN,), rate=0.001, burst=20)) as seen:
        yield seen


@pytest.mark.parametrize("maker", MAKERS)
def test_a_post_needs_a_token_and_too_many_of_them_are_refused(guarded_store: Seen, maker: str) -> None:
    client = guarded_store.client
    refused = [post(client, maker), post(client, maker, token="another-token-of-tests")]
    assert [answer.status_code for answer in refused] == [401, 401]
    answers = [post(client, maker, token=TOKEN, uuid=str(number)) for number in range(40)]
    assert [answer.status_code for answer in answers] == [200] * 20 + [429] * 20
    assert int(answers[-1].headers["Retry-After"]) > 0
    assert client.get("/api/v1/events", params={"token": TOKEN}).status_code == 401, "an address is for cameras only"
    events = client.get("/api/v1/events?limit=200", headers={"Authorization": f"Bearer {TOKEN}"}).json()["events"]
    assert len(events) == 20
