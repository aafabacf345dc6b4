"""Reads the plates of the vehicles that Frigate tracks, and tells it what it read.

Frigate publishes each change of an object on MQTT (docs.frigate.video/integrations/mqtt). The pictures come from its
HTTP API, as does the way back: a snapshot of the small stream that Frigate looks at, or frames of what it records.
"""

import hashlib
import json
import math
import re
import threading
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from ulid import ULID

from plate_nets.cameras.frigate_api import FrigateApi
from plate_nets.cameras.pictures import is_same
from plate_nets.common.errors import InputError, PlateError
from plate_nets.countries import PlateScheme
from plate_nets.events.event import Candidate, Character, Frames, Judged, PlateEvent, Region
from plate_nets.recognition.images import check_image
from plate_nets.recognition.quads import lines_of_plate
from plate_nets.recognition.reader import FrameLimits, Reader
from plate_nets.types import Box, Plate

LABELS = ("car", "truck", "bus", "motorcycle")
"""Frigate's objects that have plates."""
PAUSES = (1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 60.0)
"""Seconds between attempts; after the last one an object is given up."""
_MOMENTS = (0.0, -0.5, 0.5, -1.0, 1.0)
"""Seconds from the snapshot at which the recording is looked at, in this order: it is another stream, with a delay of
its own."""
_ID, _CAMERA = re.compile(r"[\w.-]{1,64}"), re.compile(r"[\w-]{1,64}")
_DONE = 10_000
"""Objects that are known to be finished."""
_WAITING = 1000
"""Objects that may wait; beyond that the oldest is dropped."""


@dataclass
class Progress:
    """How far we are with an object of Frigate, whatever messages come about it."""

    found: PlateEvent | None = None
    """What we read, until Frigate knows it."""
    plate_set: bool = False
    attempts: int = 0
    due: float = 0.0
    """When to try again, on `time.monotonic`."""


@dataclass
class Tracked:
    """An object of Frigate, as its last message describes it. Times are Unix seconds."""

    id: str
    camera: str
    box: Box
    """In the pixels of its snapshot."""
    taken: float
    """When the snapshot was taken."""
    first_seen: float
    last_seen: float
    ended: bool
    named: bool
    """Whether it already has a sub label."""
    ready: bool
    """Whether there is a snapshot."""
    is_recorded: bool = False
    looked: bool = False
    """Whether its last snapshot was read in vain, or is gone."""
    waits: bool = False
    """Whether its recording is not stored yet."""
    progress: Progress = field(default_factory=Progress)


def tracked_of(payload: bytes, labels: Collection[str] = LABELS) -> Tracked | None:
    """A message of `frigate/events` -> the object; None for objects with other labels.

    Raises:
        InputError: it is no such message.
    """
    try:
        message = json.loads(payload)
        after = message["after"]
        if after["label"] not in labels:
            return None
        snapshot = after.get("snapshot") or {}
        box = Box(*map(_number, snapshot.get("box") or after["box"]))
        start, end = _number(after["start_time"]), after.get("end_time")
        taken = _number(snapshot.get("frame_time") or after.get("frame_time") or start)
        id, camera = str(after["id"]), str(after["camera"])
        if not _ID.fullmatch(id) or not _CAMERA.fullmatch(camera):
            raise ValueError(f"id {id[:64]!r}, camera {camera[:64]!r}")
        ended = message["type"] == "end"
        return Tracked(
            id,
            camera,
            box,
            taken,
            start,
            _number(end) if end else max(taken, start),
            ended,
            named=bool(after.get("sub_label")),
            ready=ended or bool(after.get("has_snapshot")),
            is_recorded=bool(after.get("has_clip")),
        )
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise InputError(f"message: expected an event of Frigate, got another one: {error}") from error


class FrigateReader:
    """Reads tracked objects one after another. `take` may be called from another thread than `turn`.

    Args:
        tell: called with each event and its picture, a JPEG, once for each object.
        notice: called with a line about failures and recoveries.
    """

    def __init__(
        self,
        api: FrigateApi,
        reader: Reader,
        scheme: PlateScheme,
        tell: Callable[[PlateEvent, bytes], None],
        notice: Callable[[str], None],
        labels: Collection[str] = LABELS,
        pauses: tuple[float, ...] = PAUSES,
    ) -> None:
        self._api = api
        self._reader = reader
        self._scheme = scheme
        self._tell = tell
        self._notice = notice
        self._labels = labels
        self._pauses = pauses
        self._changed = threading.Condition()
        self._waiting: dict[str, Tracked] = {}
        self._done: dict[str, None] = {}
        self._failing = self._odd = self._without_plates = False

    def take(self, payload: bytes) -> None:
        """Queue the object of a message; a later message about it replaces an earlier one."""
        try:
            tracked = tracked_of(payload, self._labels)
        except InputError as error:
            if not self._odd:
                self._odd = True
                self._notice(f"{error}; more of them are ignored in silence")
            return
        with self._changed:
            if tracked is None or tracked.id in self._done or not tracked.ready:
                return
            before = self._waiting.get(tracked.id)
            if before:
                tracked.progress = before.progress
            self._waiting[tracked.id] = tracked
            if len(self._waiting) > _WAITING:
                del self._waiting[next(iter(self._waiting))]
            self._changed.notify_all()

    def turn(self, seconds: float) -> bool:
        """Work on the next object, waiting for one up to so many seconds -> whether there was one."""
        deadline = time.monotonic() + seconds
        with self._changed:
            while (tracked := self._next()) is None:
                if (left := deadline - time.monotonic()) <= 0:
                    return False
                self._changed.wait(min(left, 0.5))
            del self._waiting[tracked.id]
        try:
            done = self._read(tracked) and self._report(tracked)
        except InputError as error:  # of the picture
            self._notice(f"{tracked.camera}: {tracked.id}: {error}")
            done = tracked.ended
        except PlateError as error:
            self._try_later(tracked, error)
            return True
        if self._failing:
            self._failing = False
            self._notice("answers again")
        if done or (tracked.ended and not tracked.waits):
            self._finish(tracked)
        elif tracked.waits and not self._again(tracked):
            self._notice(f"{tracked.camera}: {tracked.id}: Frigate has no recording of it")
            self._finish(tracked)
        return True

    def _next(self) -> Tracked | None:
        now = time.monotonic()
        return next((each for each in self._waiting.values() if each.progress.due <= now), None)

    def _read(self, tracked: Tracked) -> bool:
        """Read the object if it was not read yet, and tell the event -> whether it has a text."""
        if tracked.progress.found is not None:
            return True
        if not tracked.looked:
            picture = self._api.snapshot(tracked.id)
            if picture is not None and self._read_picture(tracked, picture, tracked.box, tracked.taken):
                return True
            if not tracked.ended:
                return False
            tracked.looked = True
            if picture is None and not tracked.is_recorded:
                self._notice(f"{tracked.camera}: {tracked.id}: Frigate has no snapshot of it")
        return tracked.is_recorded and self._read_recording(tracked)

    def _read_recording(self, tracked: Tracked) -> bool:
        """Read the recording around the moment of the snapshot -> whether a frame of it has a text."""
        tracked.waits = False
        size = self._api.detect_size(tracked.camera)
        if size is None:
            return False
        for offset in _MOMENTS:
            moment = tracked.taken + offset
            picture = self._api.recorded(tracked.camera, moment)
            if picture is None:
                if not offset:
                    tracked.waits = True
                    return False
                continue
            frame = check_image(picture, FrameLimits())
            y, x = frame.h / size[0], frame.w / size[1]
            box = Box(x * tracked.box.xmin, y * tracked.box.ymin, x * tracked.box.xmax, y * tracked.box.ymax)
            if self._read_picture(tracked, picture, box, moment):
                return True
        return False

    def _read_picture(self, tracked: Tracked, picture: bytes, box: Box, moment: float) -> bool:
        """Read a picture of an object, which is in this box at this moment, and tell the event -> if it has a text."""
        plates = self._reader.read(picture, evidence=True)
        read = [each for each in plates if each.reading.text and is_same(each.box, box)]
        if not read:
            return False
        found = event_of(replace(tracked, taken=moment), max(read, key=lambda plate: plate.score), self._scheme)
        self._tell(found, picture)
        tracked.progress.found = found
        return True

    def _report(self, tracked: Tracked) -> bool:
        """Tell Frigate what was read; a sub label that somebody else has set stays."""
        progress = tracked.progress
        assert progress.found is not None, "it was read"
        text, score = progress.found.plate, round(progress.found.score, 4)
        if not progress.plate_set and not self._api.set_plate(tracked.id, text, score) and not self._without_plates:
            self._without_plates = True
            self._notice("Frigate does not take license plates: it is older than 0.16, or has lost the event")
        progress.plate_set = True
        if not tracked.named and not self._api.set_sub_label(tracked.id, text, score):
            self._notice(f"{tracked.camera}: {tracked.id}: Frigate does not know this event any more")
        return True

    def _try_later(self, tracked: Tracked, error: PlateError) -> None:
        if not self._again(tracked):
            self._notice(f"{tracked.camera}: {tracked.id}: given up: {error}")
            self._finish(tracked)
        elif not self._failing:
            self._failing = True
            self._notice(f"{error}; trying again")

    def _again(self, tracked: Tracked) -> bool:
        """Queue an object again for later -> False if that was done often enough."""
        progress = tracked.progress
        if progress.attempts >= len(self._pauses):
            return False
        progress.due = time.monotonic() + self._pauses[progress.attempts]
        progress.attempts += 1
        with self._changed:
            newer = self._waiting.setdefault(tracked.id, tracked)  # one may have come meanwhile
            newer.progress = progress
        return True

    def _finish(self, tracked: Tracked) -> None:
        with self._changed:
            self._waiting.pop(tracked.id, None)
            self._done[tracked.id] = None
            while len(self._done) > _DONE:
                del self._done[next(iter(self._done))]


def event_of(tracked: Tracked, plate: Plate, scheme: PlateScheme) -> PlateEvent:
    """An object and its plate -> the event. An object always has the same id, so sinks know one that comes again."""
    reading = plate.reading
    owner = scheme.read_with(reading.scheme).by_shape[lines_of_plate(plate.corners)].owner(reading.text, reading.scheme)
    digest = hashlib.sha256(tracked.id.encode()).digest()
    corners = tuple(zip(plate.corners[::2], plate.corners[1::2], strict=True)) or None
    return PlateEvent(
        id=str(ULID.from_bytes(int(tracked.first_seen * 1000).to_bytes(6) + digest[:10])),
        camera_id=tracked.camera,
        timestamp=datetime.fromtimestamp(tracked.taken).astimezone(),
        first_seen=datetime.fromtimestamp(tracked.first_seen, UTC),
        last_seen=datetime.fromtimestamp(tracked.last_seen, UTC),
        position_sec=max(0.0, tracked.taken - tracked.first_seen),
        plate=reading.text,
        reading=reading.best,
        score=reading.confidence,
        dscore=plate.score,
        characters=tuple(map(Character, reading.best, reading.characters)),
        candidates=(Candidate(reading.text, reading.confidence, bool(reading.format)),),
        region=Region(owner.country, owner.region_of(reading.text)),
        plate_type=reading.format,
        box=plate.box,
        corners=corners,
        frames=Frames(1, 1, 1),
        dwell_sec=max(0.0, tracked.last_seen - tracked.first_seen),
        vehicle=plate.vehicle,
        country=Judged(reading.country, reading.country_confidence) if reading.country else None,
        ground=Judged(reading.ground, reading.ground_confidence) if reading.ground else None,
    )


def _number(value: Any) -> float:
    number = float(value)
    if not math.isfinite(number) or not 0 <= number < 1e11:
        raise ValueError(f"number {value!r}")
    return number
