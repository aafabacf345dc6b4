"""The topics that a record of MQTT belongs to besides its camera's, and the visits of each."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from plate_nets.events.sinks.base import Record

_LATE = timedelta(minutes=1)
"""Age of a record that says no more that a car of a list is there now: a gate must not open for it."""
_MOST_CARS = 10_000
"""Cars of which the topics are remembered."""


def zone_topic(camera: str, zone: str) -> str:
    """The topic of a zone, below that of the sink."""
    return f"{camera}/zones/{zone}"


def list_topic(name: str) -> str:
    """The topic of a watch list, below that of the sink; what a topic cannot hold is escaped."""
    return "lists/" + escaped(name, r"[\x00-\x1f\x7f-\x9f+#/]")


def escaped(name: str, forbidden: str) -> str:
    """A name -> one without the characters of a pattern."""
    return re.sub(forbidden, lambda found: f"-{ord(found[0]):x}-", name)


def seen_at(record: Record) -> list[str]:
    """The topics of the camera and of the zones in which the car was."""
    camera = record.camera_id
    zones = dict.fromkeys(visit["zone"] for visit in record.event.get("zones", ()))
    return [camera, *(zone_topic(camera, zone) for zone in zones)]


def listed_at(record: Record) -> list[str]:
    """The topics of the lists that the car matches: of the list, and below it of the camera and the zones it is in."""
    event, camera = record.event, record.camera_id
    now = [visit["zone"] for visit in event.get("zones", ()) if visit["left"] in (None, event["last_seen"])]
    lists = dict.fromkeys(list_topic(match["list"]) for match in event["watch"])
    return [f"{name}{place}" for name in lists for place in ("", f"/{camera}", *(f"/{camera}/{zone}" for zone in now))]


def is_late(record: Record) -> bool:
    """Whether the car was there too long ago to act on it."""
    return datetime.now(UTC) - datetime.fromisoformat(record.event["last_seen"]) > _LATE


@dataclass(frozen=True)
class Visits:
    """How many cars with a text each topic had; each car counts once."""

    counts: Mapping[str, int] = field(default_factory=dict)
    cars: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """The topics of each car by its id, the car of the last record last."""

    def plus(self, records: Sequence[Record]) -> "tuple[Visits, list[tuple[str, Record]]]":
        """The visits after these records, and those of lists that begin with them: their topics and records."""
        if not records:
            return self, []
        counts, cars, new = dict(self.counts), dict(self.cars), []
        for record in records:
            event = record.event
            known = cars.pop(event["supersedes"] or "", frozenset()) | cars.pop(event["id"], frozenset())
            seen, listed = (seen_at(record), listed_at(record)) if event["plate"] else ([], [])
            for topic in {*seen, *listed} - known:
                counts[topic] = counts.get(topic, 0) + 1
            new += [(topic, record) for topic in listed if topic not in known]
            cars[event["id"]] = known.union(seen, listed)
        return replace(self, counts=counts, cars=dict([*cars.items()][-_MOST_CARS:])), new
