"""Settings of a camera, and of all cameras together: as Python values, and as the keys of cameras.yaml."""

import re
from collections import Counter
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, get_args
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import BeforeValidator, Discriminator, Tag, ValidationError, ValidatorFunctionWrapHandler, WrapValidator
from pydantic_core import PydanticCustomError

from plate_nets.cameras.address import SourceAddress, parse_source
from plate_nets.cameras.decoding import Hardware
from plate_nets.cameras.fields import Deinterlace
from plate_nets.cameras.option_settings import EachCamera
from plate_nets.cameras.pictures import PictureSettings
from plate_nets.cameras.regions import Polygon, crosses_itself
from plate_nets.cameras.stay import CarSettings, Line
from plate_nets.cameras.watch_lists import WatchList
from plate_nets.cameras.zones import Zone
from plate_nets.common.errors import InputError
from plate_nets.common.http_address import http_address
from plate_nets.common.intake.table import excerpt
from plate_nets.countries import PlateScheme
from plate_nets.recognition.square_pixels import parse_aspect

_NAME = re.compile(r"(?!\.+$)[\w.-]{1,64}")
"""Also a valid folder name that does not lead out of its parent."""

_SWITCHES: dict[object, Deinterlace] = {True: "on", False: "off"}
"""YAML takes an unquoted ``on`` for true."""

_MOST_POINTS = 500
"""Of a zone: each frame looks at all of them."""

_YEARS = range(1900, 9000)
"""Of the first picture. The last pictures of a file are later, and Python's times end with the year 9999."""

LIVE_FPS = 10.0
"""Maximum frames per second to analyse of a live source. Cars are tracked as well at 5 as at 25."""


def _known_hardware(value: Any, validate: ValidatorFunctionWrapHandler) -> Any:
    """Tells one fault; of a union, pydantic tells one for each member."""
    try:
        return validate(value)
    except ValidationError as error:
        raise PydanticCustomError("hardware", "expected true, false, cuda, vaapi or v4l2") from error


def _is_named(value: object) -> str:
    return "zone" if isinstance(value, (dict, Zone)) else "polygon"


Include = Annotated[Annotated[Zone, Tag("zone")] | Annotated[Polygon, Tag("polygon")], Discriminator(_is_named)]
"""A polygon with a name, or a plain one."""


@dataclass(frozen=True)
class CameraSettings(EachCamera):
    """A source and how to watch it.

    Raises:
        InputError: an invalid value; the message names the camera.
    """

    __pydantic_config__: ClassVar = {"extra": "forbid"}

    source: str = field(repr=False)
    """A video file, a folder of pictures, an ``rtsp://`` or ``http://`` stream, or ``/dev/video*``."""
    id: str = ""
    """1 to 64 letters, digits, ``.``, ``_`` and ``-``; by default made from the source."""
    include: tuple[Include, ...] = ()
    """Polygons; only plates whose centre is in one of them count. Each is a list of points, or a zone with a ``name``
    (as for ``id``) and a ``polygon`` (up to 500 points; its sides do not cross); by default everywhere."""
    masks: tuple[Polygon, ...] = ()
    """Polygons in which nothing counts, neither plates nor motion."""
    least_height: float = 0.0
    """The height of the smallest plate that counts, in pixels."""
    lines: tuple[Line, ...] = ()
    """Lines whose crossing an event notes: ``name``, ``start``, ``end``."""
    read: Literal["always", "on_trigger"] = "always"
    """When to read a live source: ``always``, or ``on_trigger``, only when it is asked for."""
    onvif: str | None = field(default=None, repr=False)
    """The address of the camera's ONVIF device service; its alarms of motion and vehicles let it be read."""
    motion_gate: bool | None = None
    """Whether to leave out frames without motion; by default true for live sources."""
    silence: float = 2.0
    """Seconds without a picture after which a live source is connected again, 0.5 to 3600."""
    hardware: Annotated[bool | Hardware, WrapValidator(_known_hardware)] = True
    """Whether to use a hardware decoder if there is one; or which, ``cuda``, ``vaapi`` or ``v4l2``."""
    deinterlace: Annotated[Deinterlace, BeforeValidator(lambda value: _SWITCHES.get(value, value))] = "auto"
    """Which pictures of a video to deinterlace: ``auto``, those that say they are interlaced or are combed; ``on``,
    all; ``off``, none."""
    aspect: Annotated[str | None, BeforeValidator(lambda value: value and str(value))] = None
    """The shape of the whole picture as it should look, ``width:height``, from 1:4 to 4:1, such as ``16:9``; by default
    what the stream says."""
    detect: str | None = field(default=None, repr=False)
    """The small stream of the same camera, on which cars are looked for; plates are read in ``source``. A stream beside
    a stream, or a video file beside a video file."""

    def __post_init__(self) -> None:
        address = parse_source(self.source)
        if not self.id:
            object.__setattr__(self, "id", _name_of(address))
        if not _NAME.fullmatch(self.id):
            raise InputError(f"camera {excerpt(repr(self.id))}: id: expected 1 to 64 letters, digits, '.', '_' or '-'")
        try:
            self._check(address)
        except InputError as error:
            raise InputError(f"camera {self.id}: {error}") from error

    def _check(self, address: SourceAddress) -> None:
        self._check_detect(address)
        for name, polygon in (
            *(("include", each) for each in self.included),
            *(("masks", each) for each in self.masks),
        ):
            if len(polygon) < 3 or not all(0 <= x <= 1 and 0 <= y <= 1 for x, y in polygon):
                _refuse(name, "three or more points x, y in shares of width and height, 0..1", polygon)
        self._check_zones()
        if self.fps is not None and not 0 < self.fps <= 1000:
            _refuse("fps", "more than 0", self.fps)
        if not 0.5 <= self.silence <= 3600:
            _refuse("silence", "0.5 to 3600 s", self.silence)
        if not self.least_height >= 0:
            _refuse("least_height", "0 px or more", self.least_height)
        if self.onvif is not None:
            http_address("onvif", self.onvif)
        if self.read == "on_trigger" and not address.live:
            _refuse("read", "always, for a source that is no live one", self.read)
        if self.deinterlace not in get_args(Deinterlace):
            _refuse("deinterlace", "auto, on or off", self.deinterlace)
        if self.aspect is not None:
            parse_aspect(self.aspect)
        if self.start is not None and self.start.tzinfo is None:
            _refuse("start", "a time with its offset from UTC", self.start.isoformat())
        if self.start is not None and self.start.year not in _YEARS:
            _refuse("start", f"a time of the years {_YEARS[0]} to {_YEARS[-1]}", self.start.isoformat())
        try:
            ZoneInfo(self.zone)
        except (ZoneInfoNotFoundError, ValueError, OSError):
            _refuse("zone", "a name such as Europe/Moscow", self.zone)

    @property
    def included(self) -> tuple[Polygon, ...]:
        """The polygons of `include`, with and without a name."""
        return tuple(each.polygon if isinstance(each, Zone) else each for each in self.include)

    @property
    def zones(self) -> tuple[Zone, ...]:
        return tuple(each for each in self.include if isinstance(each, Zone))

    @property
    def address(self) -> SourceAddress:
        return parse_source(self.source)

    @property
    def detect_address(self) -> SourceAddress | None:
        return None if self.detect is None else parse_source(self.detect)

    @property
    def target_fps(self) -> float | None:
        """Maximum frames per second to analyse; None: all."""
        return LIVE_FPS if self.fps is None and self.address.live else self.fps

    @property
    def gated(self) -> bool:
        """Whether to skip frames without motion."""
        return self.read == "always" and (self.address.live if self.motion_gate is None else self.motion_gate)

    @property
    def shape(self) -> Fraction | None:
        """The width of the whole picture in heights; None: what the stream says."""
        return None if self.aspect is None else parse_aspect(self.aspect)

    def _check_detect(self, address: SourceAddress) -> None:
        try:
            small = self.detect_address
        except InputError as error:
            raise InputError(f"detect: {str(error).removeprefix('source: ')}") from error
        if small is not None and (small.live != address.live or "folder" in (small.kind, address.kind)):
            _refuse("detect", "a stream beside a stream, or a video file beside a video file", str(small))

    def _check_zones(self) -> None:
        names = [zone.name for zone in self.zones]
        for name, count in Counter(names).items():
            if not _NAME.fullmatch(name):
                _refuse("include", "a name of 1 to 64 letters, digits, '.', '_' or '-'", name)
            if count > 1:
                _refuse("include", "different names", name)
        for zone in self.zones:
            if len(zone.polygon) > _MOST_POINTS:
                _refuse(f"include: zone {zone.name}", f"{_MOST_POINTS} points or fewer", len(zone.polygon))
            if crosses_itself(zone.polygon):
                _refuse(f"include: zone {zone.name}", "a polygon whose sides do not cross", zone.polygon)


@dataclass(frozen=True)
class WatcherSettings:
    """Settings for all cameras of a watcher."""

    cars: CarSettings = field(default_factory=CarSettings)
    """Its lines and zones are replaced by those of each camera."""
    scheme: PlateScheme | None = None
    """The plates that the reader reads; by default all countries."""
    watch_lists: tuple[WatchList, ...] = ()
    pictures: PictureSettings | None = None
    """Where to store pictures of events; None: nowhere."""
    vehicles: bool = False
    """Whether to find vehicles; then the reader must be a `SceneReader`."""
    thorough: bool = False
    """Whether to look at every frame as a whole and read every plate, even if that would tell nothing new."""
    blur: bool = False
    """Whether the frames are blurred before they are shown, so that all plates in them must be found."""

    @property
    def hides(self) -> bool:
        """Whether all plates of a frame that is shown must be found, to make them unreadable."""
        return self.blur or (self.pictures is not None and self.pictures.blur)

    @property
    def needs_whole_frames(self) -> bool:
        """Whether all that can be found in a frame must be found, not only the plates that are expected there."""
        return self.vehicles or self.hides

    @property
    def needs_every_frame(self) -> bool:
        """Whether no frame that may show something can be left out."""
        return self.thorough or self.needs_whole_frames


def _name_of(address: SourceAddress) -> str:
    """A source -> an id: a file's name, or a stream's host and path."""
    text = str(address).partition("://")[2].partition("?")[0] or Path(address.location).stem
    return re.sub(r"[^\w.-]+", "-", text).strip("-.")[:64] or "camera"


def _refuse(name: str, expected: str, got: object) -> None:
    raise InputError(f"{name}: expected {expected}, got {excerpt(repr(got))}")
