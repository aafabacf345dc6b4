"""What happened in front of a camera, as one versioned record: a car passed, with its plate (docs/reference/events.md).

The fields of `PlateEvent.to_dict` are a contract with those who keep events; plate_event_1.json is their JSON Schema.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from importlib import resources
from typing import Any, Final, Literal

from plate_nets.errors import ContractError
from plate_nets.types import Box, Vehicle

SCHEMA: Final = "plate-event/1"

LATER = ("vehicle", "country", "ground")
"""Fields that events of former minor versions lack."""

Stage = Literal["provisional", "update", "final"]
"""The first record of a car, one that differs from the former in ``plate`` or ``is_parked``, and the last."""
Clock = Literal["arrival", "given"]
"""Whether times count from when the first frame came, or from a start that the user gave."""
Heading = Literal["towards", "away"]
Crossed = Literal["left to right", "right to left"]


@dataclass(frozen=True)
class Character:
    """A character of the plate with its probability, 0..1."""

    char: str
    score: float


@dataclass(frozen=True)
class Candidate:
    """A text that the plate may have, its probability, 0..1, and whether it fits a format of the scheme."""

    plate: str
    score: float
    matches_template: bool


@dataclass(frozen=True)
class Region:
    """Where the plate is from: the country (ISO 3166 alpha-2, lower case) and, where the text says it, a part of it."""

    code: str
    subject: str | None


@dataclass(frozen=True)
class Judged:
    """What a plate was taken for by its look, and how probable that is given all frames, 0..1."""

    name: str
    score: float


@dataclass(frozen=True)
class Frames:
    """Of a car: frames with its plate, those of them good enough to count, and those that alone read the text."""

    seen: int
    read: int
    agreeing: int


@dataclass(frozen=True)
class Crossing:
    """A line that the plate's centre crossed; sides as seen when looking from the line's start to its end."""

    line: str
    direction: Crossed
    timestamp: datetime
    """In UTC."""


@dataclass(frozen=True)
class WatchMatch:
    """An entry of a watch list that the plate matches.

    ``probability``: that the plate has the entry's text, 0..1; ``distance``: characters by which it differs from the
    event's text, as Levenshtein counts.
    """

    list: str
    entry: str
    label: str
    probability: float
    distance: int


@dataclass(frozen=True)
class Images:
    """Names of the kept pictures of the best moment: plate, whole frame and vehicle; None where none is kept."""

    plate: str | None = None
    frame: str | None = None
    vehicle: str | None = None


@dataclass(frozen=True, kw_only=True)
class PlateEvent:
    """A car before a camera, as known at one stage. Box and corners are in pixels of the frame at ``timestamp``."""

    stage: Stage
    id: str
    """Of the car, a ULID; all its records have it."""
    revision: int
    """1 for the first record of the id, then counted up; with the id the key that a repeated delivery is known by."""
    supersedes: str | None = None
    """The id of a record that this one replaces: two tracks were found to be one car."""
    camera_id: str
    source_url: str | None = None
    """Without credentials."""
    clock: Clock = "arrival"
    timestamp: datetime
    """When the best frame was taken, in the camera's time zone."""
    first_seen: datetime
    last_seen: datetime
    position_sec: float
    """Of the best frame, seconds from the source's first frame."""
    plate: str
    """Empty where no text is sure: what was told is taken back, or an unread car was asked for."""
    reading: str
    """What the best frame reads by itself."""
    score: float
    """Probability of ``plate`` given all frames, 0..1; 0 where it is empty."""
    dscore: float
    """The detector's score of the best frame, 0..1."""
    characters: tuple[Character, ...]
    candidates: tuple[Candidate, ...]
    """Most probable first; the first is ``plate`` where that is not empty."""
    region: Region
    plate_type: str
    """The format that ``plate`` fits; empty where it fits none."""
    box: Box
    """Of the plate; of the vehicle, the same as its box, where it never showed one."""
    corners: tuple[tuple[float, float], ...] | None = None
    """Four points x, y, clockwise from the plate's own top left; None where the detector gives none."""
    frames: Frames
    direction: float | None = None
    """Of the way in the picture, degrees counterclockwise from rightwards, 0..360: 90 is up; None for a car at rest."""
    heading: Heading | None = None
    """By the plate's growing or shrinking; None where it does neither."""
    speed: float
    """Mean, in plate widths a second."""
    crossings: tuple[Crossing, ...] = ()
    is_parked: bool = False
    dwell_sec: float
    """From first to last sight."""
    watch: tuple[WatchMatch, ...] = ()
    images: Images = Images()
    vehicle: Vehicle | None = None
    """Whose plate it is, as all frames tell; its box is that of the best frame. None where vehicles are not looked for,
    or none is surely its own."""
    country: Judged | None = None
    """By formats and look, ISO 3166 alpha-2 or "unknown"; None where the reader was not asked, or read no frame."""
    ground: Judged | None = None
    """The colour of the plate's ground, of `plates.designs.GROUNDS`; None where the reader was not asked."""
    model: str | None = None

    @property
    def key(self) -> str:
        """The idempotency key: of this record alone, the same however often it is delivered."""
        return f"{self.id}-{self.revision}"

    def to_dict(self) -> dict[str, Any]:
        """The event as JSON would hold it; times are ISO 8601, in UTC with a Z but for ``timestamp_local``."""
        record: dict[str, Any] = {"schema": SCHEMA, "event": "recognition"}
        for name, value in asdict(self).items():
            if name == "timestamp":
                record["timestamp"] = _utc(value)
                record["timestamp_local"] = value.isoformat(timespec="milliseconds")
            else:
                record[name] = _plain(value)
        return record

    def to_json(self) -> str:
        """`to_dict` as one line of JSON."""
        return json.dumps(self.to_dict(), ensure_ascii=False)

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> "PlateEvent":
        """What `to_dict` gave -> the event. Further keys are left out, as a later minor version may have some.

        Raises:
            ContractError: it is of another schema, or a field is missing or not as the schema has it.
        """
        if record.get("schema") != SCHEMA:
            raise ContractError(f"event: schema: expected {SCHEMA}, got {record.get('schema')!r}")
        try:
            values = {
                each.name: record[each.name] for each in fields(cls) if each.name not in LATER or each.name in record
            }
            values["timestamp"] = datetime.fromisoformat(record["timestamp_local"])
            for name in ("first_seen", "last_seen"):
                values[name] = datetime.fromisoformat(values[name])
            for name, kind in (("region", Region), ("box", Box), ("frames", Frames), ("images", Images)):
                values[name] = kind(**values[name])
            for name, of in (("characters", Character), ("candidates", Candidate), ("watch", WatchMatch)):
                values[name] = tuple(of(**each) for each in values[name])
            values["crossings"] = tuple(
                Crossing(each["line"], each["direction"], datetime.fromisoformat(each["timestamp"]))
                for each in values["crossings"]
            )
            if vehicle := values.get("vehicle"):
                values["vehicle"] = Vehicle(**vehicle | {"box": Box(**vehicle["box"])})
            for name in ("country", "ground"):
                if told := values.get(name):
                    values[name] = Judged(**told)
            if values["corners"] is not None:
                values["corners"] = tuple((float(x), float(y)) for x, y in values["corners"])
        except KeyError as error:
            raise ContractError(f"event: expected the fields of {SCHEMA}, got none named {error}") from error
        except (TypeError, ValueError) as error:
            raise ContractError(f"event: expected the fields of {SCHEMA}: {error}") from error
        return cls(**values)


def event_schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of an event."""
    schema: dict[str, Any] = json.loads(resources.files(__package__).joinpath("plate_event_1.json").read_text("utf-8"))
    return schema


def _plain(value: Any) -> Any:
    """A value of a field, as JSON would hold it."""
    match value:
        case datetime():
            return _utc(value)
        case dict():
            return {name: _plain(each) for name, each in value.items()}
        case list() | tuple():
            return [_plain(each) for each in value]
    return value


def _utc(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
