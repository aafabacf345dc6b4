"""The settings of a sink, as Python values and as keys of cameras.yaml."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from plate_nets.common.day_hours import DayHours
from plate_nets.common.errors import InputError
from plate_nets.events.sinks.base import Sink
from plate_nets.events.sinks.files import CsvSink, JsonlSink, ParquetSink
from plate_nets.events.sinks.mqtt import OFF_AFTER, MqttSink
from plate_nets.events.sinks.notify import NotifySink
from plate_nets.events.sinks.sqlite import SqliteSink
from plate_nets.events.sinks.webhook import WebhookSink

_LONGEST = 36_500
"""Days; an upper limit for any retention."""
_LONGEST_ON = 86_400


@dataclass(frozen=True, kw_only=True)
class _Common:
    __pydantic_config__: ClassVar = {"extra": "forbid"}

    name: str = ""
    """The name in messages, metrics and the outbox; by default its type."""
    matches_only: bool = False
    """Whether to send only events that match a watch list."""
    finals_only: bool = False
    """Whether to send only the last record of each car."""


@dataclass(frozen=True, kw_only=True)
class JsonlSettings(_Common):
    """Lines of JSON."""

    type: Literal["jsonl"] = "jsonl"
    path: Path
    """File of lines of JSON."""


@dataclass(frozen=True, kw_only=True)
class CsvSettings(_Common):
    """A table."""

    type: Literal["csv"] = "csv"
    path: Path
    """File of a table."""


@dataclass(frozen=True, kw_only=True)
class SqliteSettings(_Common):
    """The event store."""

    type: Literal["sqlite"] = "sqlite"
    path: Path
    """File of the event store."""
    keep_days: float | None = None
    """Days after which events are deleted; by default never."""

    def __post_init__(self) -> None:
        if self.keep_days is not None and not 0 <= self.keep_days <= _LONGEST:
            raise InputError(f"sqlite: keep_days: expected 0 to {_LONGEST}, got {self.keep_days:g}")


@dataclass(frozen=True, kw_only=True)
class ParquetSettings(_Common):
    """Parquet files in a folder."""

    type: Literal["parquet"] = "parquet"
    folder: Path
    """Folder for a Parquet file for each minute with events."""


@dataclass(frozen=True, kw_only=True)
class WebhookSettings(_Common):
    """Signed HTTP requests."""

    type: Literal["webhook"] = "webhook"
    url: str = field(repr=False)
    """Address that gets a POST with each event."""
    secret: str | None = field(default=None, repr=False)
    """Secret that signs the requests."""
    headers: dict[str, str] = field(default_factory=dict, repr=False)
    """Further headers of the requests."""


@dataclass(frozen=True, kw_only=True)
class MqttSettings(_Common):
    """An MQTT broker."""

    type: Literal["mqtt"] = "mqtt"
    url: str = field(repr=False)
    """Broker and topic, ``mqtt://host:port/topic``."""
    discovery: str | None = "homeassistant"
    """The prefix of Home Assistant's discovery; null turns it off."""
    retain: bool = False
    """Whether the broker keeps the last event of each camera and zone."""
    off_after: int = OFF_AFTER
    """Seconds after which the sensor of a watch list goes off, 1 to 86400."""

    def __post_init__(self) -> None:
        if not 1 <= self.off_after <= _LONGEST_ON:
            raise InputError(f"mqtt: off_after: expected 1 to {_LONGEST_ON} s, got {self.off_after}")


@dataclass(frozen=True, kw_only=True)
class NotifySettings(_Common):
    """Messages to people."""

    type: Literal["notify"] = "notify"
    url: str = field(repr=False)
    """Address of a service of apprise."""
    quiet: str | None = None
    """Hours in which nothing is sent, such as ``22:00-07:00``."""

    def __post_init__(self) -> None:
        self.hours  # noqa: B018  refuses an invalid value

    @property
    def hours(self) -> DayHours | None:
        """The quiet hours."""
        try:
            return DayHours.parse(self.quiet) if self.quiet is not None else None
        except InputError as error:
            raise InputError(f"quiet: {error}") from error


SinkSettings = Annotated[
    JsonlSettings | CsvSettings | SqliteSettings | ParquetSettings | WebhookSettings | MqttSettings | NotifySettings,
    Field(discriminator="type"),
]


def messages(urls: Iterable[str]) -> list[NotifySettings]:
    """Addresses of an option -> a sink for each, with names that differ."""
    return [
        NotifySettings(url=url, name=f"notify-{number}" if number > 1 else "") for number, url in enumerate(urls, 1)
    ]


def open_sink(settings: SinkSettings, pictures: Path | None = None) -> Sink:
    """Open the sink for these settings; ``pictures``: the folder of the events' pictures.

    Raises:
        InputError: a file or address cannot be used.
        MissingExtra: a package is not installed.
    """
    match settings:
        case JsonlSettings():
            return JsonlSink(settings.path)
        case CsvSettings():
            return CsvSink(settings.path)
        case SqliteSettings():
            return SqliteSink(settings.path, settings.keep_days)
        case ParquetSettings():
            return ParquetSink(settings.folder)
        case WebhookSettings():
            return WebhookSink(settings.url, settings.secret, settings.headers)
        case MqttSettings():
            return MqttSink(settings.url, settings.discovery, retain=settings.retain, off_after=settings.off_after)
        case NotifySettings():
            return NotifySink(settings.url, settings.hours, pictures)
