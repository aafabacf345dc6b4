"""Plates that cameras have read by themselves: what their posts have in common, and how one becomes an event."""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from ulid import ULID

from plate_nets.cameras.watch_lists import WatchList, matches_of_text
from plate_nets.common.spelling import normalize
from plate_nets.countries import PlateScheme
from plate_nets.events.event import Candidate, Character, Frames, Judged, PlateEvent, Region
from plate_nets.types import Box
from plate_nets.web import bodies

_LONGEST = 16
"""Characters of a plate."""
_UNREAD = {"", "UNKNOWN", "NOPLATE", "UNRECOGNISED", "UNRECOGNIZED", "无牌", "无车牌"}
"""What cameras write if they could not read a plate; in Chinese, that there is none."""


@dataclass(frozen=True)
class Report:
    """A post of a camera about one car."""

    source: str
    """Which kind of camera sent it."""
    plate: str
    """As it is written there."""
    score: float
    """The camera's own confidence, 0..1."""
    taken: datetime
    """As the camera says, whose clock may be wrong."""
    key: str
    """The same for each repetition of a post."""
    picture: bytes = b""
    """The largest of its pictures, encoded; empty if it has none."""


def moment(text: str) -> datetime:
    """A camera's time, without an offset in this machine's zone -> the time; now if it is missing or is none."""
    try:
        return datetime.fromisoformat(text.strip()).astimezone()
    except (ValueError, OverflowError, OSError):
        return datetime.now().astimezone()


def own_plate(report: Report, picture: bodies.Picture | None) -> bodies.Plate | None:
    """What we read in the picture of a report -> the plate that it is about: that of the same text, or the surest."""
    read = [each for each in (picture.plates if picture else ()) if each.reading]
    return max(read, key=lambda plate: (plate.reading == _text(report), plate.confidence), default=None)


def event_of(
    report: Report,
    camera: str,
    own: bodies.Plate | None,
    scheme: PlateScheme,
    lists: Sequence[WatchList] = (),
) -> PlateEvent | None:
    """A report and what we read in its picture -> the event, with our text if the camera has none; None without both.

    A repeated post has the same event, so that every sink knows it. No event is in the future.
    """
    text, score = _text(report), report.score
    if not text and own is not None:
        text, score = own.text, own.confidence
    if not text:
        return None
    owner = scheme.owner(text, own.scheme if own else "")
    digest = hashlib.sha256(f"{report.source} {camera} {report.key}".encode()).digest()
    timestamp = min(report.taken, datetime.now().astimezone())
    utc = timestamp.astimezone(UTC)
    box = Box(*own.box) if own else Box(0.0, 0.0, 0.0, 0.0)
    corners = tuple(zip(own.corners[::2], own.corners[1::2], strict=True)) if own else None
    return PlateEvent(
        id=str(ULID.from_bytes(max(0, int(report.taken.timestamp() * 1000)).to_bytes(6) + digest[:10])),
        camera_id=camera,
        timestamp=timestamp,
        first_seen=utc,
        last_seen=utc,
        position_sec=0.0,
        plate=text,
        reading=text,
        score=score,
        dscore=own.score if own else 0.0,
        characters=tuple(Character(char, score) for char in text),
        candidates=(Candidate(text, score, scheme.is_plate(text)),),
        region=Region(owner.country, owner.region_of(text)),
        plate_type=owner.format_names(text),
        box=box,
        corners=corners,
        frames=Frames(1, 1, 1),
        dwell_sec=0.0,
        watch=matches_of_text(lists, text, score, camera, timestamp),
        source=report.source,
        own_reading=Judged(own.reading, own.confidence) if own else None,
    )


def _text(report: Report) -> str:
    plate = re.sub(r"\W", "", normalize(report.plate))[:_LONGEST]
    return "" if plate in _UNREAD else plate
