"""The lines that answer a video, without a server."""

import asyncio
import json
import time

import pytest
from starlette.requests import Request
from starlette.types import Message

from plate_nets.countries import main_scheme
from plate_nets.recognition.local import LocalReader
from plate_nets.web.access import Access, Caller
from plate_nets.web.settings import WebSettings
from plate_nets.web.uploads import StoredVideo, Uploads
from plate_nets.web.video_api import Videos


def test_no_line_follows_the_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """A line with a position once did, if the error was the first line and deleting the file took long."""
    close = StoredVideo.close

    def slowly(video: StoredVideo) -> None:
        time.sleep(1.0)
        close(video)

    monkeypatch.setattr(StoredVideo, "close", slowly)
    settings = WebSettings()
    videos = Videos(Access(settings), LocalReader(), main_scheme(), Uploads(settings))

    async def receive() -> Message:
        return {"type": "http.request", "body": b"no video", "more_body": False}

    async def ask() -> list[str]:
        scope = {"type": "http", "headers": [(b"content-type", b"video/mp4")], "client": ("127.0.0.1", 1)}
        request = Request(scope | {"query_string": b"", "state": {"caller": Caller("one")}}, receive)
        answer = await videos.watch(request)
        await asyncio.sleep(0.5)
        return [line async for line in answer.body_iterator]  # type: ignore[attr-defined]

    lines = [json.loads(line) for line in asyncio.run(ask())]
    assert "error" in lines[-1]
