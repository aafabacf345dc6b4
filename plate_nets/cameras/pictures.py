"""Stores pictures of the best moment of each car: plate, vehicle and the whole frame, blurred if requested."""

import threading
from collections.abc import Iterable, Set
from dataclasses import dataclass, replace
from pathlib import Path

import cv2
import numpy as np

from plate_nets.cameras.cars import Car
from plate_nets.cameras.frames import VideoFrame
from plate_nets.common.atomic_files import write_whole
from plate_nets.common.errors import InputError, SinkError
from plate_nets.events.event import Images, PlateEvent
from plate_nets.types import Box, Frame, Scene

_MARGIN, _VEHICLE_MARGIN = 0.3, 0.1
"""Margins of the pictures of plates and vehicles, as shares of their size."""
_QUALITY = (cv2.IMWRITE_JPEG_QUALITY, 90)
_PRUNE_EVERY = 60.0


@dataclass(frozen=True)
class PictureSettings:
    folder: Path
    blur: bool = False
    """Make plates unreadable, except that of a car on a watch list."""
    blur_vehicles: bool = False
    """Also make whole vehicles unrecognizable, except that one."""
    max_age: float | None = None
    """Seconds; older pictures are deleted."""
    max_bytes: int | None = None
    """Limit for all pictures; the oldest are deleted."""


class EventPictures:
    """The pictures of one camera's events. Call it from the camera's thread."""

    def __init__(self, settings: PictureSettings) -> None:
        self._settings = settings
        self._best: dict[str, tuple[VideoFrame, Scene]] = {}
        """The best moment of each car."""
        self._written: dict[str, Images] = {}
        """The names of written pictures of cars that are still known."""

    def note(self, frame: VideoFrame, scene: Scene, cars: Iterable[Car], reported: Set[str] = frozenset()) -> None:
        """Remember a frame that was read, its content, and the cars after it, if it is the best moment of one.

        ``reported``: ids of cars with new events, which `keep` gets next. These cars may be gone.
        """
        known = {car.id: car for car in cars}
        gone = [self._best.pop(id) for id in self._best.keys() - known.keys() - reported]
        moments = {moment[0].time: moment for moment in gone}  # one may be a known car, which was found again
        moments[frame.time] = (frame, scene)
        self._best |= {car.id: moments[car.best_time] for car in known.values() if car.best_time in moments}
        self._written = {id: names for id, names in self._written.items() if id in known or id in reported}

    def keep(self, event: PlateEvent) -> PlateEvent:
        """Write the pictures of an event -> the event with their names.

        Raises:
            SinkError: they cannot be written.
        """
        if event.id not in self._best:
            return replace(event, images=self._written.get(event.id, event.images))
        best, scene = self._best[event.id]
        if event.stage == "final":  # releases the decoder's memory
            del self._best[event.id]
        frame = best.bgr()
        vehicle_box = event.vehicle.box if event.vehicle else None
        hidden = [plate.box for plate in scene.plates] if self._settings.blur else []
        hidden = [box for box in hidden if not (event.watch and is_same(box, event.box))]
        if self._settings.blur_vehicles:
            hidden += [vehicle.box for vehicle in scene.vehicles if not (event.watch and vehicle.box == vehicle_box)]
        frame = blur(frame, hidden) if hidden else frame
        pictures = {"frame": frame}
        if vehicle_box != event.box:
            pictures["plate"] = cut_around(frame, event.box)
        if vehicle_box:
            pictures["vehicle"] = cut_around(frame, vehicle_box, _VEHICLE_MARGIN)
        names = {kind: _name(event, kind) for kind in pictures}
        for kind, picture in pictures.items():
            if picture.size:
                _write(self._settings.folder / names[kind], cv2.imencode(".jpg", picture, _QUALITY)[1].tobytes())
        images = self._written[event.id] = Images(**names)
        return replace(event, images=images)


def is_same(box: Box, other: Box) -> bool:
    """Whether two boxes of a frame belong to one plate: the centre of the first is in the second."""
    x, y = box.centre
    return other.xmin <= x <= other.xmax and other.ymin <= y <= other.ymax


def blur(frame: Frame, boxes: Iterable[Box]) -> Frame:
    """A frame and boxes of plates or vehicles -> a copy (H, W, 3) in which these are unrecognizable.

    Each is averaged to four by two fields, which cannot be undone, as a blur can.
    """
    hidden = frame.copy()
    for box in boxes:
        part = cut_around(hidden, box, margin=0.1)
        if part.size:
            h, w = part.shape[:2]
            fields = cv2.resize(part, (4, 2), interpolation=cv2.INTER_AREA)
            part[:] = cv2.resize(fields, (w, h), interpolation=cv2.INTER_NEAREST)
    return hidden


def cut_around(frame: Frame, box: Box, margin: float = _MARGIN) -> Frame:
    """The part of a frame around a box, with a margin in its widths and heights, as a view; empty if it is outside."""
    h, w = frame.shape[:2]
    x, y = margin * box.width, margin * box.height
    left, right = np.clip((round(box.xmin - x), round(box.xmax + x)), 0, w)
    top, bottom = np.clip((round(box.ymin - y), round(box.ymax + y)), 0, h)
    return frame[top:bottom, left:right]


def _name(event: PlateEvent, kind: str) -> str:
    return f"{event.camera_id}/{event.first_seen:%Y-%m-%d}/{event.id}_{kind}.jpg"


def _write(path: Path, picture: bytes) -> None:
    """Write a picture of an event, a JPEG.

    Raises:
        SinkError: not possible.
    """
    try:
        write_whole(path, picture)
    except OSError as error:
        raise SinkError(f"pictures: {path.name}: {error.strerror}") from error


def with_frame(event: PlateEvent, picture: bytes, folder: Path) -> PlateEvent:
    """Write the whole picture of an event, a JPEG -> the event with its name.

    Raises:
        SinkError: it cannot be written.
    """
    name = _name(event, "frame")
    _write(folder / name, picture)
    return replace(event, images=Images(frame=name))


class Retention:
    """Deletes pictures by age and size, at most once a minute. Thread-safe."""

    def __init__(self, settings: PictureSettings) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        self._due = float("-inf")
        try:
            settings.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"{settings.folder}: {error.strerror}") from error

    def prune(self, now: float) -> None:
        """Delete our pictures that are too old at this Unix time, then the oldest of those that are too many."""
        with self._lock:
            if now < self._due:
                return
            self._due = now + _PRUNE_EVERY
        max_age, max_bytes = self._settings.max_age, self._settings.max_bytes
        if max_age is None and max_bytes is None:
            return
        kinds = ("plate", "frame", "vehicle")
        pictures = [path for kind in kinds for path in self._settings.folder.glob(f"*/*/*_{kind}.jpg")]
        files = sorted(((path, path.stat()) for path in pictures), key=lambda file: file[1].st_mtime)
        total = sum(status.st_size for _, status in files)
        for path, status in files:
            old = max_age is not None and now - status.st_mtime > max_age
            if not old and (max_bytes is None or total <= max_bytes):
                return
            path.unlink(missing_ok=True)
            total -= status.st_size
