"""The page behind a real uvicorn, and a real browser to look at it."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import httpx
import pytest
from playwright.sync_api import Browser, sync_playwright

from plate_nets.recognition.local import LocalReader
from plate_nets.web.app import create_app
from plate_nets.web.health import Backend
from plate_nets.web.server import WebServer
from plate_nets.web.settings import WebSettings
from tests.frames import Placed, compose, encode

TEXT = "A123BC77"
CAR = encode(compose(360, 480, [Placed(TEXT, 100, 200)]), ".jpg")
ROAD = encode(compose(360, 480), ".jpg")
TOKEN = "a-token-of-the-tests"
CHROMIUM = "/usr/bin/chromium"


@pytest.fixture(scope="session")
def reader() -> LocalReader:
    return LocalReader(threads=1)


@contextmanager
def running(reader: LocalReader, settings: WebSettings, **changes: object) -> Iterator[httpx.Client]:
    """The application with these settings, on a free port -> a client of it."""
    app = create_app(Backend(reader, "local"), replace(settings, **changes))  # type: ignore[arg-type]
    with WebServer(app) as server, httpx.Client(base_url=server.url, timeout=60, trust_env=False) as client:
        yield client


@pytest.fixture(scope="session")
def web(reader: LocalReader) -> Iterator[httpx.Client]:
    """As `plates web --local` runs: on loopback, without a token."""
    with running(reader, WebSettings()) as client:
        yield client


@pytest.fixture(scope="session")
def guarded(reader: LocalReader) -> Iterator[httpx.Client]:
    """As it runs for others: with a token."""
    with running(reader, WebSettings(tokens=(TOKEN,))) as client:
        yield client


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()
