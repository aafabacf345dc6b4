"""cameras.yaml: cameras, watch lists and sinks in one file; unknown keys are refused by name."""

import math
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from pydantic import TypeAdapter, ValidationError

from plate_nets.errors import InputError
from plate_nets.intake.yaml_file import read_yaml
from plate_nets.sinks.outbox import MAX_BYTES
from plate_nets.sinks.settings import SinkSettings
from plate_nets.types import Detail
from plate_nets.video.cars import CarSettings
from plate_nets.video.fusion import FusionSettings
from plate_nets.video.settings import CameraSettings

SUFFIXES = frozenset((".yaml", ".yml"))
OUTBOX = Path("plates-outbox.sqlite")

_MOST_MB = 1 << 20
_VARIABLE = re.compile(r"\$\{(\w+)\}")


@dataclass(frozen=True)
class WatchPlan:
    """What is watched, and what becomes of it. Paths are relative to the current folder."""

    __pydantic_config__: ClassVar = {"extra": "forbid"}

    cameras: tuple[CameraSettings, ...]
    watch_lists: tuple[Path, ...] = ()
    """CSV files, see docs/how-to/cameras.md."""
    sinks: tuple[SinkSettings, ...] = ()
    outbox: Path = OUTBOX
    """SQLite file that keeps events until every sink has them."""
    outbox_mb: float = MAX_BYTES / (1 << 20)
    memory: float = 60.0
    """Seconds for which a car that is gone keeps its id."""
    sure: float = FusionSettings.sure
    """The least probability of an event's text, 0..1."""
    unread: bool = False
    """Tell of cars too that no text is sure of, without a text."""
    pictures: Path | None = None
    """Folder that gets the best plate and frame of each event."""
    blur: bool = False
    """Make plates that are on no list unreadable in all pictures."""
    blur_vehicles: bool = False
    """And whole vehicles unrecognizable; so they are looked for."""
    vehicles: bool = False
    """Look for vehicles too."""
    detail: Detail | None = None
    """How closely pictures are looked at, see `recognition.detection.DetectionSettings`."""
    hash: bool = False
    """Give salted hashes in place of texts."""
    keep_days: float | None = None
    """Older pictures are deleted."""
    keep_mb: float | None = None
    """The oldest pictures over this are deleted."""

    def __post_init__(self) -> None:
        if not 0 < self.outbox_mb <= _MOST_MB:
            raise InputError(f"outbox_mb: expected more than 0, up to {_MOST_MB}, got {self.outbox_mb:g}")
        for name in ("memory", "keep_days", "keep_mb"):
            value = getattr(self, name)
            if value is not None and not 0 <= value < math.inf:
                raise InputError(f"{name}: expected a number of 0 or more, got {value:g}")
        self.cars  # noqa: B018  a value that is not possible is refused here

    @property
    def sees_vehicles(self) -> bool:
        """Whether vehicles are looked for."""
        return self.vehicles or self.blur_vehicles

    @property
    def cars(self) -> CarSettings:
        """When something is told of a car.

        Raises:
            InputError: a value that is not possible.
        """
        return CarSettings(memory=self.memory, unread=self.unread, fusion=FusionSettings(sure=self.sure))


def load_cameras(path: Path, environment: Mapping[str, str] = os.environ) -> WatchPlan:
    """A YAML file -> what to watch; ``${NAME}`` in it is the environment's variable, so that it holds no password.

    Raises:
        InputError: it does not open, is no YAML, or a key or value is not possible; the message names it.
    """
    document = read_yaml(path)
    try:
        return TypeAdapter(WatchPlan).validate_python(_expanded(document, environment, path))
    except ValidationError as error:
        faults = [_fault(each["loc"], each["type"], each["msg"]) for each in error.errors(include_input=False)]
        raise InputError(f"{path}: " + "; ".join(faults)) from error
    except InputError as error:
        raise InputError(f"{path}: {error}") from error


def _fault(place: tuple[str | int, ...], kind: str, message: str) -> str:
    name = ".".join(map(str, place)) or "the file"
    if kind in ("unexpected_keyword_argument", "extra_forbidden"):
        return f"{name}: unknown key"
    return f"{name}: {'missing' if kind in ('missing', 'missing_argument') else message}"


def _expanded(value: Any, environment: Mapping[str, str], path: Path) -> Any:
    match value:
        case str():

            def variable(found: re.Match[str]) -> str:
                if found[1] not in environment:
                    raise InputError(f"{path}: the environment has no variable {found[1]}")
                return environment[found[1]]

            return _VARIABLE.sub(variable, value)
        case dict():
            return {name: _expanded(each, environment, path) for name, each in value.items()}
        case list():
            return [_expanded(each, environment, path) for each in value]
    return value
