"""`POST /api/v1/videos`: receives a video and returns its events as lines of JSON while it is watched."""

import asyncio
import json
import threading
from collections.abc import AsyncIterator
from dataclasses import replace
from queue import SimpleQueue
from typing import Annotated, Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import StreamingResponse

from plate_nets.cameras.fusion import FusionSettings
from plate_nets.cameras.settings import CameraSettings, WatcherSettings
from plate_nets.cameras.stay import CarSettings
from plate_nets.cameras.watcher import Watcher
from plate_nets.common.errors import InputError, PlateError, ServerOverloaded, SourceError
from plate_nets.countries import PlateScheme
from plate_nets.recognition.reader import Reader
from plate_nets.web import bodies
from plate_nets.web.access import Access
from plate_nets.web.faults import fault_of
from plate_nets.web.parts import Sure, part
from plate_nets.web.uploads import StoredVideo, Uploads

_AT_ONCE = 2
_KINDS = ("video/", "application/octet-stream")
_ID = "video"
_CHECK_INTERVAL = 0.1
"""Seconds between two checks for a line."""

Line = dict[str, Any]
router = APIRouter(tags=["pictures"])


class Videos:
    """Watches the videos of requests, each in its own threads, a limited number at the same time."""

    def __init__(self, access: Access, reader: Reader, scheme: PlateScheme, uploads: Uploads) -> None:
        self._access = access
        self._uploads = uploads
        self._reader = reader
        self._watching = WatcherSettings(scheme=scheme)
        self._running = 0

    async def watch(self, request: Request, sure: float | None = None) -> Response:
        kind = request.headers.get("content-type", "").lower()
        if not kind.startswith(_KINDS):
            raise InputError(f"body: expected a video, got {kind[:80] or 'no content type'}")
        watching = self._watching
        if sure is not None:
            watching = replace(watching, cars=CarSettings(fusion=FusionSettings(sure=sure)))
        self._check_place()  # before the video is sent in vain
        self._access.rate.spend(request.state.caller.name)
        video = await self._uploads.video(request)
        try:
            self._check_place()
            watcher = Watcher(self._reader, [CameraSettings(video.path, id=_ID)], watching, notice=lambda *_: None)
        except BaseException:
            video.close()
            raise
        self._running += 1
        lines: SimpleQueue[Line] = SimpleQueue()
        thread = threading.Thread(target=self._watch, args=(watcher, video, lines), name="video", daemon=True)
        thread.start()
        return StreamingResponse(self._lines(watcher, thread, lines), media_type="application/x-ndjson")

    def _check_place(self) -> None:
        if self._running >= _AT_ONCE:
            raise ServerOverloaded(f"videos: {self._running} of at most {_AT_ONCE} are being watched; try again later")

    def _watch(self, watcher: Watcher, video: StoredVideo, lines: "SimpleQueue[Line]") -> None:
        try:
            for event in watcher:
                lines.put({"event": event.to_dict() | {"source_url": None}})  # a file of this machine
            lines.put({"done": True})
        except SourceError:
            fault = InputError("video: cannot be decoded; expected a video file such as MP4 or MKV")
            lines.put({"error": fault_of(fault).model_dump()})
        except Exception as error:
            lines.put({"error": fault_of(error).model_dump()})
            if not isinstance(error, PlateError):
                raise
        finally:
            self._running -= 1
            video.close()

    async def _lines(
        self, watcher: Watcher, thread: threading.Thread, lines: "SimpleQueue[Line]"
    ) -> AsyncIterator[str]:
        last: Line = {}
        ended = False
        try:
            while not ended and (thread.is_alive() or not lines.empty()):
                if lines.empty():
                    await asyncio.sleep(_CHECK_INTERVAL)
                    (status,) = watcher.status()
                    line: Line = {"position": round(status.position, 1), "length": status.length}
                    if line == last:
                        continue
                    last = line
                else:
                    line = lines.get()
                    ended = "event" not in line
                yield json.dumps(line, ensure_ascii=False) + "\n"
        finally:
            watcher.stop()  # the client is gone


@router.post(
    "/api/v1/videos",
    response_class=Response,
    responses=bodies.gives("application/x-ndjson"),
    openapi_extra=bodies.takes({"video/*": bodies.BINARY}),
)
async def watch_video(request: Request, videos: Annotated[Videos, part(Videos)], sure: Sure = None) -> Response:
    """Watch a video.

    The answer are lines of JSON: `{"event": {...}}` and `{"position": s, "length": s}` on the way; the last line is
    `{"done": true}` or `{"error": {...}}`.
    """
    return await videos.watch(request, sure)
