"""The page behind a real uvicorn, and a real browser."""

import socket
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from playwright.sync_api import Browser, sync_playwright
from starlette.types import ASGIApp

from plate_nets.countries import PlateScheme, main_scheme
from plate_nets.events.event import PlateEvent
from plate_nets.events.sinks.base import Record
from plate_nets.events.sinks.sqlite import SqliteSink
from plate_nets.recognition.local import LocalReader
from plate_nets.web.app import create_app
from plate_nets.web.health import Backend
from plate_nets.web.lists import ListKeeper
from plate_nets.web.parts import Sources
from plate_nets.web.server import WebServer
from plate_nets.web.settings import WebSettings
from plate_nets.web.store import EventStore
from tests.frames import Placed, compose, encode

TEXT = "A123BC77"
CAR = encode(compose(360, 480, [Placed(TEXT, 100, 200)]), ".jpg")
ROAD = encode(compose(360, 480), ".jpg")
TOKEN = "a-token-of-the-tests"
CHROMIUM = "/usr/bin/chromium"


@contextmanager
def serving(app: ASGIApp, **limits: float) -> Iterator[httpx.Client]:
    """An application on a free port, with limits of its connections -> a client of it."""
    with (
        WebServer(app, **limits) as server,  # type: ignore[arg-type]
        httpx.Client(base_url=server.url, timeout=60, trust_env=False) as client,
    ):
        yield client


def running(reader: LocalReader, settings: WebSettings, **changes: object) -> AbstractContextManager[httpx.Client]:
    """The application with these settings on a free port -> a client of it."""
    return serving(create_app(Backend(reader, "local"), replace(settings, **changes)))  # type: ignore[arg-type]


@pytest.fixture(scope="session")
def web(reader: LocalReader) -> Iterator[httpx.Client]:
    """Like `plates web --local`: on loopback, without a token."""
    with running(reader, WebSettings()) as client:
        yield client


@pytest.fixture(scope="session")
def guarded(reader: LocalReader) -> Iterator[httpx.Client]:
    """As it runs for others: with a token."""
    with running(reader, WebSettings(tokens=(TOKEN,))) as client:
        yield client


def connected(client: httpx.Client) -> socket.socket:
    """A connection of its own to the server of a client."""
    parts = urlsplit(str(client.base_url))
    return socket.create_connection((parts.hostname or "", parts.port or 0), timeout=60)


def heard(raw: socket.socket, what: bytes) -> None:
    """Wait until this was received."""
    said = b""
    while what not in said:
        part = raw.recv(65_536)
        assert part, said
        said += part


class Seen:
    """A page with events and lists but no cameras, and the store that a `plates watch` beside it would write."""

    def __init__(self, client: httpx.Client, store: Path, lists: Path, pictures: Path) -> None:
        self.client = client
        self.store = store
        self.lists = lists
        self.pictures = pictures
        self._sink = SqliteSink(store)
        self._sequence = 0

    def write(self, *events: PlateEvent) -> None:
        records = []
        for event in events:
            self._sequence += 1
            records.append(Record(self._sequence, event.key, event.camera_id, event.to_json()))
        self._sink.send(records)

    def close(self) -> None:
        self._sink.close()


@contextmanager
def seeing(
    reader: LocalReader, tmp_path: Path, settings: WebSettings, scheme: PlateScheme = main_scheme()
) -> Iterator[Seen]:
    path, staff, pictures = tmp_path / "events.sqlite", tmp_path / "staff.csv", tmp_path / "pictures"
    pictures.mkdir()
    staff.write_text("plate,label\nA001BC77,Ann\n", encoding="utf-8")
    store = EventStore(path)
    sources = Sources(store, pictures, lists=ListKeeper([staff]))
    with serving(create_app(Backend(reader, "local", scheme=scheme), settings, sources)) as client:
        seen = Seen(client, path, staff, pictures)
        yield seen
        seen.close()
    store.close()


@pytest.fixture
def seen(reader: LocalReader, tmp_path: Path) -> Iterator[Seen]:
    with seeing(reader, tmp_path, WebSettings()) as seen:
        yield seen


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()
