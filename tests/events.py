"""Events for tests of what happens to them."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from jsonschema import Draft202012Validator
from ulid import ULID

from plate_nets.events.event import (
    Candidate,
    Character,
    Frames,
    PlateEvent,
    Region,
    Stage,
    WatchMatch,
    ZoneVisit,
    event_schema,
)
from plate_nets.events.sinks.base import Record
from plate_nets.types import Box

MOMENT = datetime(2026, 11, 22, 10, 0, 0, 250_000, UTC)


def event(
    number: int = 0,
    *,
    camera: str = "gate",
    stage: Stage = "final",
    revision: int = 1,
    listed: bool = False,
    zone: str = "",
) -> PlateEvent:
    """A complete event. Events with different numbers belong to different cars, a second apart."""
    text = f"A{number % 1000:03}BC77"
    moment = MOMENT + timedelta(seconds=number)
    match = WatchMatch("staff", text, "Ann", 0.98, 0)
    return PlateEvent(
        stage=stage,
        id=str(ULID.from_bytes(int(moment.timestamp() * 1000).to_bytes(6) + bytes(10))),
        revision=revision,
        camera_id=camera,
        timestamp=moment,
        first_seen=moment,
        last_seen=moment,
        position_sec=float(number),
        plate=text,
        reading=text,
        score=0.99,
        dscore=0.8,
        characters=tuple(Character(char, 0.99) for char in text),
        candidates=(Candidate(text, 0.98, True),),
        region=Region("ru", "77"),
        plate_type="private",
        box=Box(10, 20, 110, 42),
        frames=Frames(10, 8, 7),
        speed=0.5,
        dwell_sec=2.0,
        watch=(match,) if listed else (),
        zones=(ZoneVisit(zone, moment, None if stage == "provisional" else moment),) if zone else (),
    )


def later(earlier: PlateEvent, stage: Stage = "final") -> PlateEvent:
    """The next record of the same car."""
    return replace(earlier, stage=stage, revision=earlier.revision + 1)


def record(each: PlateEvent, sequence: int = 1) -> Record:
    """An event as a sink gets it."""
    return Record(sequence, each.key, each.camera_id, each.to_json())


def checked(each: PlateEvent) -> dict[str, Any]:
    """An event as JSON, which fits the schema and is read as it was written."""
    written: dict[str, Any] = json.loads(each.to_json())
    Draft202012Validator(event_schema(), format_checker=Draft202012Validator.FORMAT_CHECKER).validate(written)
    assert PlateEvent.from_dict(written).to_dict() == written
    return written
