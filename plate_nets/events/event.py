"""The versioned record of a car that passed a camera, with its plate (docs/reference/events.md).

The fields of `PlateEvent.to_dict` are a contract with those who store events; plate_event_1.json is their JSON Schema.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, is_dataclass
from datetime import UTC, datetime
from functools import cache
from importlib import resources
from types import NoneType
from typing import Any, Final, Literal, get_args, get_origin, get_type_hints

from plate_nets.common.errors import ContractError
from plate_nets.common.latin import latin_beside
from plate_nets.types import Box, Unread, Vehicle

SCHEMA: Final = "plate-event/1"

LATER = ("vehicle", "country", "ground", "zones", "unread", "source", "own_reading", "latin")
"""Fields that events of earlier minor versions lack."""

Stage = Literal["provisional", "update", "final"]
"""The first record of a car; one that differs from the previous one in ``plate``, in ``is_parked`` or by a
new visit in ``zones``; the last."""
Clock = Literal["arrival", "given"]
"""Whether times count from the arrival of the first frame, or from a start given by the user."""
Heading = Literal["towards", "away"]
Crossed = Literal["left to right", "right to left"]


@dataclass(frozen=True)
class Character:
    """A character of the plate with its probability, 0..1."""

    char: str
    score: float


@dataclass(frozen=True)
class Candidate:
    """A possible text of the plate, its probability, 0..1, and whether it fits a format of the scheme."""

    plate: str
    score: float
    matches_template: bool


@dataclass(frozen=True)
class Region:
    """Where the plate is from: the country (ISO 3166 alpha-2, lower case) and, if the text shows it, the region."""

    code: str
    subject: str | None


@dataclass(frozen=True)
class Judged:
    """A property judged by the plate's look, and its probability given all frames, 0..1."""

    name: str
    score: float


@dataclass(frozen=True)
class Frames:
    """Frames of a car: those with its plate, those good enough to count, and those that read the text on their own."""

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
class ZoneVisit:
    """A zone, a named polygon of the camera, in which the plate's centre was; times in UTC."""

    zone: str
    entered: datetime
    left: datetime | None
    """None while it is there."""


@dataclass(frozen=True)
class WatchMatch:
    """An entry of a watch list that the plate matches.

    ``probability``: of the plate having the entry's text, 0..1; ``distance``: Levenshtein distance between the entry
    and the event's text, in characters.
    """

    list: str
    entry: str
    label: str
    probability: float
    distance: int


@dataclass(frozen=True)
class Images:
    """File names of the stored pictures of the best moment: plate, whole frame and vehicle; None if not stored."""

    plate: str | None = None
    frame: str | None = None
    vehicle: str | None = None


@dataclass(frozen=True, kw_only=True)
class PlateEvent:
    """A car in front of a camera, as known at one stage. Box and corners are in pixels of the frame at `timestamp`."""

    stage: Stage = "final"
    id: str
    """ULID of the car, shared by all its records."""
    revision: int = 1
    """1 for the first record of the id, then counted up. Together with the id it identifies repeated deliveries."""
    supersedes: str | None = None
    """The id of a record that this one replaces, when two tracks turned out to be one car."""
    camera_id: str
    source_url: str | None = None
    """Without credentials."""
    clock: Clock = "arrival"
    timestamp: datetime
    """When the best frame was taken, in the camera's time zone."""
    first_seen: datetime
    last_seen: datetime
    position_sec: float
    """Time of the best frame, seconds from the source's first frame."""
    plate: str
    """Empty if no text is sure: an earlier text was withdrawn, or unread cars were requested."""
    reading: str
    """The reading of the best frame alone."""
    score: float
    """Probability of ``plate`` given all frames, 0..1; 0 if it is empty."""
    dscore: float
    """The detector's score of the best frame, 0..1."""
    characters: tuple[Character, ...]
    candidates: tuple[Candidate, ...]
    """Most probable first; the first is ``plate`` unless that is empty."""
    region: Region
    plate_type: str
    """The format that ``plate`` fits; empty if it fits none."""
    box: Box
    """Box of the plate; if no plate was seen, box of the vehicle."""
    corners: tuple[tuple[float, float], ...] | None = None
    """Four points x, y, clockwise from the plate's own top left; None if the detector gives none."""
    frames: Frames
    direction: float | None = None
    """Direction of travel in the picture, degrees counterclockwise from rightwards, 0..360: 90 is up; None at rest."""
    heading: Heading | None = None
    """From the plate's growing or shrinking; None if it does neither."""
    speed: float = 0.0
    """Mean, in plate widths per second."""
    crossings: tuple[Crossing, ...] = ()
    is_parked: bool = False
    dwell_sec: float
    """Seconds from first to last sight."""
    watch: tuple[WatchMatch, ...] = ()
    images: Images = Images()
    vehicle: Vehicle | None = None
    """The plate's vehicle, judged from all frames; its box is that of the best frame. None if vehicles are not searched
    for, or none clearly belongs to the plate."""
    country: Judged | None = None
    """From formats and look, ISO 3166 alpha-2 or "unknown"; None if not requested, or no frame was read."""
    ground: Judged | None = None
    """The colour of the plate's ground, from `countries.designs.GROUNDS`; None if not requested."""
    zones: tuple[ZoneVisit, ...] = ()
    unread: Unread | None = None
    """Why ``plate`` is empty; None if it is not."""
    source: str | None = None
    """Which kind of camera read ``plate`` by itself, such as "hikvision"; None: it was read here."""
    own_reading: Judged | None = None
    """What we read in the picture of such a camera; None without a picture, or without a text in it."""
    model: str | None = None

    @property
    def key(self) -> str:
        """The idempotency key of this record, the same for every delivery."""
        return f"{self.id}-{self.revision}"

    @property
    def latin(self) -> str:
        """``plate`` in Latin letters; empty if its own signs are Latin."""
        return latin_beside(self.plate)

    def to_dict(self) -> dict[str, Any]:
        """The event as JSON-ready values; times are ISO 8601, in UTC with a Z except ``timestamp_local``."""
        record: dict[str, Any] = {"schema": SCHEMA, "event": "recognition"}
        for name, value in asdict(self).items():
            if name == "timestamp":
                record["timestamp"] = _utc(value)
                record["timestamp_local"] = value.isoformat(timespec="milliseconds")
            else:
                record[name] = _plain(value)
        return record | {"latin": self.latin or None}

    def to_json(self) -> str:
        """`to_dict` as one line of JSON."""
        return json.dumps(self.to_dict(), ensure_ascii=False)

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> "PlateEvent":
        """Build an event from the values of `to_dict`. Unknown keys are ignored: a later minor version may add some.

        Raises:
            ContractError: it has another schema, or a field is missing or invalid.
        """
        if record.get("schema") != SCHEMA:
            raise ContractError(f"event: schema: expected {SCHEMA}, got {record.get('schema')!r}")
        try:
            values = {
                each.name: record[each.name] for each in fields(cls) if each.name not in LATER or each.name in record
            }
            event: PlateEvent = _of(cls, values | {"timestamp": record["timestamp_local"]})
        except KeyError as error:
            raise ContractError(f"event: expected the fields of {SCHEMA}, got none named {error}") from error
        except (TypeError, ValueError) as error:
            raise ContractError(f"event: expected the fields of {SCHEMA}: {error}") from error
        return event


def event_schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of an event."""
    schema: dict[str, Any] = json.loads(resources.files(__package__).joinpath("plate_event_1.json").read_text("utf-8"))
    return schema


_kinds = cache(get_type_hints)


def _of(kind: Any, value: Any) -> Any:
    """A value of JSON -> one of the type of a field."""
    if kind is float:
        return _finite(value)
    if kind is datetime:
        return datetime.fromisoformat(value)
    if isinstance(kind, type) and is_dataclass(kind):
        kinds = _kinds(kind)
        return kind(**{name: _of(kinds.get(name), each) for name, each in dict(value).items()})
    parts = get_args(kind)
    if get_origin(kind) is tuple:
        return tuple(_of(part, each) for part, each in zip(_repeated(parts, value), value, strict=True))
    if NoneType in parts:  # the other part comes first
        return None if value is None else _of(parts[0], value)
    return value


def _repeated(parts: tuple[Any, ...], value: Sequence[Any]) -> Sequence[Any]:
    return parts[:1] * len(value) if parts[-1] is Ellipsis else parts


def _finite(value: object) -> float:
    """A number from JSON. Python accepts NaN and infinity there; raises ValueError for these and for other types."""
    if not isinstance(value, (int, float)) or not math.isfinite(value):
        raise ValueError(f"expected a finite number, got {value!r}")
    return value


def _plain(value: Any) -> Any:
    """A field's value as JSON-ready values."""
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
