"""Cameras that the page itself watches: their status, their newest picture, and their events in the store."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import cv2
import httpx
import numpy as np
import pytest
from playwright.sync_api import Browser, expect

from plate_nets.cameras.cameras_file import WatchPlan
from plate_nets.cameras.settings import CameraSettings
from plate_nets.events.sinks.settings import JsonlSettings
from plate_nets.recognition.local import LocalReader
from plate_nets.web.app import create_app
from plate_nets.web.cameras import CameraRoom
from plate_nets.web.event_filter import EventFilter
from plate_nets.web.health import Backend
from plate_nets.web.parts import Sources
from plate_nets.web.server import WebServer
from plate_nets.web.settings import WebSettings
from plate_nets.web.store import EventStore
from tests.clips import TEXT, passing, smeared, write_clip
from tests.killing import kill
from tests.onvif_device import OnvifDevice
from tests.rtsp import RtspCamera
from tests.waiting import eventually
from tests.watch_lists import watch_list
from tests.web.browsing import DESK_EN, LOOKS, NAMES, PHONE_RU, Look, check, looking, picture


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[EventStore]:
    """The store `events.sqlite` of an empty folder, in which the test runs."""
    monkeypatch.chdir(tmp_path)
    with closing(EventStore(tmp_path / "events.sqlite")) as store:
        yield store


def test_cameras_are_watched_shown_and_kept(reader: LocalReader, tmp_path: Path, store: EventStore) -> None:
    clip = write_clip(tmp_path / "clip.mp4", passing(8, size=(720, 1280), empty=8), fps=4)
    plan = WatchPlan(
        cameras=(CameraSettings(str(clip), id="gate"),),
        sinks=(JsonlSettings(name="lines", path=tmp_path / "events.jsonl"),),
        pictures=tmp_path / "pictures",
    )
    with CameraRoom(plan, Path("events.sqlite"), reader, [watch_list("staff", {TEXT: "Ann"})]) as room:
        app = create_app(Backend(reader, "local"), WebSettings(), Sources(store, plan.pictures, room))
        with WebServer(app) as server, httpx.Client(base_url=server.url, timeout=60, trust_env=False) as client:

            def events() -> list[dict[str, Any]]:
                return list(client.get("/api/v1/events", params={"camera": "gate"}).json()["events"])

            assert eventually(lambda: [each for each in events() if each["stage"] == "final"], 60)
            (event,) = events()
            post = {"Picture": {"Plate": {"PlateNumber": "B777OP99", "Confidence": 98}}}
            client.post("/in/dahua", json=post).raise_for_status()
            (camera,) = client.get("/api/v1/cameras").json()["cameras"]
            frame = client.get("/api/v1/cameras/gate/frame.jpg").raise_for_status().content
            missing = client.get("/api/v1/cameras/none/frame.jpg")
            kept = client.get(f"/api/v1/events/{event['id']}/plate.jpg").raise_for_status().content
            health = client.get("/api/v1/health").json()
            section = client.get("/cameras")
    assert (section.status_code, section.headers["location"]) == (303, "/#cameras")
    assert (event["plate"], [match["list"] for match in event["watch"]]) == (TEXT, ["staff"])
    assert camera["camera_id"] == "gate"
    shown = cv2.imdecode(np.frombuffer(frame, np.uint8), cv2.IMREAD_COLOR)
    assert shown is not None
    assert shown.shape == (540, 960, 3)
    assert missing.status_code == 404
    assert kept.startswith(b"\xff\xd8")
    assert {sink["name"] for sink in health["sinks"]} == {"lines", "page"}
    lines = (tmp_path / "events.jsonl").read_text(encoding="utf-8")
    assert TEXT in lines and "B777OP99" in lines


@pytest.fixture(scope="module")
def smeared_camera(reader: LocalReader, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a page with a camera whose plates are smeared."""
    folder = tmp_path_factory.mktemp("smeared")
    path = folder / "events.sqlite"
    store = EventStore(path)
    clip = write_clip(folder / "clip.mp4", smeared(3))
    plan = WatchPlan(cameras=(CameraSettings(str(clip), id="gate"),), outbox=folder / "outbox.sqlite")
    with CameraRoom(plan, path, reader, ()) as room:
        app = create_app(Backend(reader, "local"), WebSettings(), Sources(store, None, room))
        with WebServer(app) as server:
            assert eventually(lambda: room.status()[0].view is not None and room.status()[0].state == "ended", 60)
            yield server.url
    store.close()


@pytest.mark.parametrize(
    ("look", "state", "advice"),
    [
        (DESK_EN, "ended", "Plates are smeared (100 %): shorten the exposure"),
        (PHONE_RU, "кончилась", "Номера смазаны (100 %): уменьшите выдержку"),
    ],
    ids=NAMES,
)
def test_a_camera_has_a_card_with_its_state_and_advice(
    browser: Browser, smeared_camera: str, look: Look, state: str, advice: str
) -> None:
    with looking(browser, smeared_camera, look, "/#live") as page:
        barriers = []
        for name in ("live", "cameras"):
            page.get_by_role("navigation").get_by_role("link", name=look.text(f"nav.{name}"), exact=True).click()
            card = page.locator(".camera:visible")
            expect(card.get_by_role("heading")).to_have_text("gate")
            expect(card.locator(".pill")).to_have_text(state)
            expect(card.locator("img")).not_to_have_js_property("naturalWidth", 0)
            barriers += check(page, name)
            picture(page, f"web_{name}_camera_{look.name}")
        expect(card.locator(".advice")).to_have_text(advice)
        expect(card.get_by_role("button", name=look.text("cameras.read_now"))).to_be_visible()
        assert barriers == []


@pytest.mark.parametrize("blur", [False, True])
def test_the_live_picture_is_blurred_as_the_stored_ones_are(
    reader: LocalReader, tmp_path: Path, store: EventStore, blur: bool
) -> None:
    clip = write_clip(tmp_path / "clip.mp4", passing(8), fps=4)
    plan = WatchPlan(cameras=(CameraSettings(str(clip), id="gate"),), blur=blur)
    with CameraRoom(plan, Path("events.sqlite"), reader, ()) as room:
        assert eventually(lambda: [each for each in store.page(EventFilter()).events if each["stage"] == "final"], 60)
        encoded = room.picture("gate")
    assert encoded is not None
    assert (TEXT in [plate.reading.text for plate in reader.read(encoded)]) == (not blur)


def test_the_age_limit_of_pictures_does_not_delete_events(
    reader: LocalReader, tmp_path: Path, store: EventStore
) -> None:
    clip = write_clip(tmp_path / "clip.mp4", passing(8, empty=8), fps=4)
    old = CameraSettings(str(clip), id="gate", start=datetime(2020, 1, 1, tzinfo=UTC))
    with CameraRoom(WatchPlan(cameras=(old,), keep_days=1), Path("events.sqlite"), reader, ()):
        assert eventually(lambda: store.page(EventFilter()).events, 60)
    (event,) = store.page(EventFilter()).events
    assert event["timestamp"].startswith("2020-01-01")


def test_a_killed_sink_thread_keeps_its_events(reader: LocalReader, tmp_path: Path, store: EventStore) -> None:
    cars = [*passing(40, empty=24)] * 12  # there always is one when it continues
    camera = RtspCamera(write_clip(tmp_path / "clip.mkv", cars, fps=8))
    plan = WatchPlan(cameras=(CameraSettings(camera.url(), id="gate"),))
    with CameraRoom(plan, Path("events.sqlite"), reader, ()):
        kill("cameras")
        assert eventually(lambda: store.page(EventFilter()).events, 120)
    camera.kill()


def test_a_camera_is_read_when_somebody_asks(
    reader: LocalReader, browser: Browser, tmp_path: Path, store: EventStore
) -> None:
    camera = RtspCamera(write_clip(tmp_path / "clip.mkv", [*passing(40, empty=8)] * 12, fps=8))
    device = OnvifDevice()
    watched = CameraSettings(camera.url(), id="gate", read="on_trigger", onvif=device.url())
    plan = WatchPlan(cameras=(watched,))
    with CameraRoom(plan, Path("events.sqlite"), reader, ()) as room:
        app = create_app(Backend(reader, "local"), WebSettings(), Sources(store, None, room))
        with WebServer(app) as server, httpx.Client(base_url=server.url, timeout=60, trust_env=False) as client:

            def ask(camera: str = "gate", seconds: float = 30) -> httpx.Response:
                return client.post(f"/api/v1/cameras/{camera}/read", params={"seconds": seconds})

            assert eventually(lambda: room.status()[0].unmoved > 8, 60)
            before = store.page(EventFilter()).events
            with ThreadPoolExecutor(2) as pool:
                first, same = (each.result().raise_for_status().json() for each in [pool.submit(ask), pool.submit(ask)])
            (last,) = ask().raise_for_status().json()["events"]
            assert eventually(lambda: store.page(EventFilter()).events, 60)
            device.send()
            assert eventually(lambda: store.page(EventFilter()).events[0]["revision"] > last["revision"], 60)
            for look in LOOKS:
                with looking(browser, server.url, look, "/#cameras") as page:
                    page.get_by_role("button", name=look.text("cameras.read_now")).click()
                    expect(page.locator("#said")).to_have_text(TEXT, timeout=60_000)
            refused = ask("none").status_code, ask(seconds=31).status_code
            camera.kill()
            assert eventually(lambda: room.status()[0].state == "offline", 60)
            offline = ask()
    device.close()
    (kept,) = store.page(EventFilter()).events
    assert before == [] and first == same
    (event,) = first["events"]
    assert (event["camera_id"], event["plate"], event["stage"]) == ("gate", TEXT, "final")
    assert (last["id"], kept["id"]) == (event["id"], event["id"]), "a car that is read twice is one event"
    assert refused == (404, 400)
    assert (offline.status_code, offline.json()["error"]["code"]) == (503, "PLATES_UNAVAILABLE")
