"""cameras.yaml: cameras, watch lists and sinks in one file; unknown keys are refused by name."""

import math
import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

from pydantic import Field, TypeAdapter, ValidationError

from plate_nets.cameras.fusion import FusionSettings
from plate_nets.cameras.option_settings import AllCameras
from plate_nets.cameras.pictures import PictureSettings
from plate_nets.cameras.settings import CameraSettings, WatcherSettings
from plate_nets.cameras.stay import CarSettings
from plate_nets.cameras.watch_lists import WatchList
from plate_nets.common.errors import InputError
from plate_nets.common.intake.table import excerpt
from plate_nets.common.intake.yaml_file import read_yaml
from plate_nets.countries import PlateScheme
from plate_nets.events.sinks.base import Site
from plate_nets.events.sinks.outbox import MAX_BYTES
from plate_nets.events.sinks.settings import SinkSettings
from plate_nets.types import Detail

SUFFIXES = frozenset((".yaml", ".yml"))

_MOST_MB = 1 << 20
_DAY = 86_400
_SHOWN = 5
"""Faults in a message."""
_VARIABLE = re.compile(r"\$\{(\w+)\}")


@dataclass(frozen=True)
class WatchPlan(AllCameras):
    """What to watch, and what to do with the events. Paths are relative to the current folder."""

    __pydantic_config__: ClassVar = {"extra": "forbid"}

    cameras: tuple[CameraSettings, ...]
    """The cameras, see below."""
    watch_lists: tuple[Path, ...] = ()
    """CSV files with at least the columns `plate` and `label`."""
    sinks: tuple[Annotated[SinkSettings, Field(discriminator="type")], ...] = ()
    """Where events go, see below."""
    outbox_mb: float = MAX_BYTES / (1 << 20)
    """The largest size of the outbox in megabytes."""
    memory: float = 60.0
    """Seconds for which a car that is gone keeps its id."""
    vehicles: bool = False
    """Whether to find vehicles."""
    detail: Detail | None = None
    """How closely to look at pictures: `fast`, `balanced` or `far`; by default that of `PLATES_YOLO_DETAIL`."""
    keep_days: float | None = None
    """Days after which pictures are deleted; events stay."""

    def __post_init__(self) -> None:
        if not 0 < self.outbox_mb <= _MOST_MB:
            raise InputError(f"outbox_mb: expected more than 0, up to {_MOST_MB}, got {self.outbox_mb:g}")
        for name in ("memory", "keep_days", "keep_mb"):
            value = getattr(self, name)
            if value is not None and not 0 <= value < math.inf:
                raise InputError(f"{name}: expected a number of 0 or more, got {value:g}")
        self.cars  # noqa: B018  refuses invalid values

    @property
    def sees_vehicles(self) -> bool:
        return self.vehicles or self.blur_vehicles

    @property
    def cars(self) -> CarSettings:
        """The settings for events.

        Raises:
            InputError: an invalid value.
        """
        return CarSettings(memory=self.memory, unread=self.unread, fusion=FusionSettings(sure=self.sure))

    def watching(self, scheme: PlateScheme | None, lists: Iterable[WatchList]) -> WatcherSettings:
        """The settings of a watcher; ``scheme``: the plates that its reader reads, ``lists``: loaded watch lists."""
        pictures = None
        if self.pictures:
            age = None if self.keep_days is None else self.keep_days * _DAY
            size = None if self.keep_mb is None else int(self.keep_mb * (1 << 20))
            pictures = PictureSettings(self.pictures, self.blur, self.blur_vehicles, age, size)
        return WatcherSettings(
            cars=self.cars,
            scheme=scheme,
            watch_lists=tuple(lists),
            pictures=pictures,
            vehicles=self.sees_vehicles,
            thorough=self.thorough,
            blur=self.blur,
        )

    def site(self, cameras: Callable[[], Mapping[str, bool]], lists: Iterable[WatchList]) -> Site:
        """What sinks may know; ``cameras``: whether pictures come, by their ids."""
        zones = {camera.id: [zone.name for zone in camera.zones] for camera in self.cameras}
        return Site(cameras, zones, [each.name for each in lists], self.pictures)


def load_cameras(path: Path) -> WatchPlan:
    """Load a YAML file. ``${NAME}`` in it is replaced by the environment variable, so that it needs no passwords.

    Raises:
        InputError: it cannot be opened, is not YAML, or has an invalid key or value; the message names it.
    """
    document = read_yaml(path)
    try:
        return TypeAdapter(WatchPlan).validate_python(_expanded(document))
    except ValidationError as error:
        found = error.errors(include_input=False)
        faults = [_fault(fault["loc"], fault["type"], fault["msg"]) for fault in found[:_SHOWN]]
        more = [f"and {len(found) - _SHOWN} more fault{'s' * (len(found) > _SHOWN + 1)}"] if len(found) > _SHOWN else []
        raise InputError(f"{path}: " + "; ".join([*faults, *more])) from error
    except InputError as error:
        raise InputError(f"{path}: {error}") from error


def _fault(place: tuple[str | int, ...], kind: str, message: str) -> str:
    name = excerpt(".".join(map(str, place))) or "the file"
    if kind in ("unexpected_keyword_argument", "extra_forbidden"):
        return f"{name}: unknown key"
    if kind == "tuple_type":
        return f"{name}: expected a list"
    if kind == "dataclass_type":
        return f"{name}: expected keys with values"
    return f"{name}: {'missing' if kind in ('missing', 'missing_argument') else message}"


def _expanded(value: Any) -> Any:
    match value:
        case str():

            def variable(found: re.Match[str]) -> str:
                if found[1] not in os.environ:
                    raise InputError(f"the environment has no variable {found[1]}; set it before the command")
                return os.environ[found[1]]

            return _VARIABLE.sub(variable, value)
        case dict():
            return {name: _expanded(item) for name, item in value.items()}
        case list():
            return [_expanded(item) for item in value]
    return value
