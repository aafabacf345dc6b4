"""The settings of a sink, as Python values, as keys of cameras.yaml and as options.

The help of `plates watch` needs no extra, so neither does this module.
"""

import os
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, get_args

from typer import Option

from plate_nets.common.day_hours import DayHours
from plate_nets.common.errors import InputError

SECRET_VARIABLE = "PLATES_WEBHOOK_SECRET"
"""Environment variable for the secret of a webhook that an option names."""

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
    path: Annotated[Path, Option(help="Append events to this file, as lines of JSON.", dir_okay=False)]


@dataclass(frozen=True, kw_only=True)
class CsvSettings(_Common):
    """A table."""

    type: Literal["csv"] = "csv"
    path: Annotated[Path, Option(help="Append events to this CSV table.", dir_okay=False)]


@dataclass(frozen=True, kw_only=True)
class SqliteSettings(_Common):
    """The event store."""

    type: Literal["sqlite"] = "sqlite"
    path: Annotated[
        Path,
        Option(
            help="Keep the latest state of each car in this SQLite file, for `plates web --events`.", dir_okay=False
        ),
    ]
    keep_days: float | None = None
    """Days after which events are deleted; by default never."""

    def __post_init__(self) -> None:
        if self.keep_days is not None and not 0 <= self.keep_days <= _LONGEST:
            raise InputError(f"sqlite: keep_days: expected 0 to {_LONGEST}, got {self.keep_days:g}")


@dataclass(frozen=True, kw_only=True)
class ParquetSettings(_Common):
    """Parquet files in a folder."""

    type: Literal["parquet"] = "parquet"
    folder: Annotated[
        Path, Option(help="Write a Parquet file for each minute with events to this folder.", file_okay=False)
    ]


@dataclass(frozen=True, kw_only=True)
class WebhookSettings(_Common):
    """Signed HTTP requests."""

    type: Literal["webhook"] = "webhook"
    url: Annotated[
        str, Option(help=f"POST each event to this URL, signed with the secret in {SECRET_VARIABLE}, if set.")
    ] = field(repr=False)
    """Address that gets a POST with each event."""
    secret: str | None = field(default=None, repr=False)
    """Secret that signs the requests."""
    headers: dict[str, str] = field(default_factory=dict, repr=False)
    """Further headers of the requests."""


@dataclass(frozen=True, kw_only=True)
class MqttSettings(_Common):
    """An MQTT broker."""

    type: Literal["mqtt"] = "mqtt"
    url: Annotated[
        str,
        Option(
            help="Publish each event to this broker and topic: mqtt://host:port/topic. A user and a password go "
            "before the host, as user:password@."
        ),
    ] = field(repr=False)
    discovery: str | None = "homeassistant"
    """The prefix of Home Assistant's discovery; null turns it off."""
    retain: bool = False
    """Whether the broker keeps the last event of each camera and zone."""
    off_after: int = 10  # a rule that waits for the sensor to go on misses cars before
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
        try:
            return DayHours.parse(self.quiet) if self.quiet is not None else None
        except InputError as error:
            raise InputError(f"quiet: {error}") from error


SinkSettings = (
    JsonlSettings | CsvSettings | SqliteSettings | ParquetSettings | WebhookSettings | MqttSettings | NotifySettings
)


def sinks_at(options: Mapping[str, Any], keep_days: float | None = None) -> list[SinkSettings]:
    """Options -> the sinks that they name by type; the value of such an option is where its sink writes."""
    others: dict[str, dict[str, Any]] = {
        "sqlite": {"keep_days": keep_days},
        "webhook": {"secret": os.environ.get(SECRET_VARIABLE)},
    }
    return [
        kind(**{_place(kind): options[kind.type]}, **others.get(kind.type, {}))
        for kind in get_args(SinkSettings)
        if options.get(kind.type)
    ]


def _place(kind: type[SinkSettings]) -> str:
    """The field that says where a sink writes: it has no default."""
    return next(each.name for each in fields(kind) if each.default is MISSING and each.default_factory is MISSING)


def messages(urls: Iterable[str]) -> list[NotifySettings]:
    """Addresses of an option -> a sink for each, with names that differ."""
    return [
        NotifySettings(url=url, name=f"notify-{number}" if number > 1 else "") for number, url in enumerate(urls, 1)
    ]
