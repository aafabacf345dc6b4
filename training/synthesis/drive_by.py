"""Draws clips of cars that drive by, with the exact truth of every frame, to measure video and for the demo.

Cars come and go in three lanes at different speeds, so they overtake and hide each other; some stop on the way. Only
the cars move: the street is drawn once.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Literal

import cv2
import numpy as np
from numpy.typing import NDArray

from plate_nets.common.errors import InputError
from plate_nets.common.extras import needs
from plate_nets.countries import PlateScheme
from plate_nets.evaluation.video_truth import TrueFrame, TruePlate
from plate_nets.recognition.quads import Quad
from plate_nets.types import Frame
from training.synthesis import camera, cars, plates, scene, street, texts
from training.synthesis.drawing import Pinhole, blend

LightName = Literal["day", "night", "rain"]

_LANES = {-3.2: True, 0.0: True, 3.2: False}
"""The middle of each lane, m to the right of the camera, and whether its cars approach."""
_FAR, _NEAR = 38.0, 7.0
"""Range of distances that cars drive through, m in front of the camera."""
_STOPS = (13.0, 19.0)
"""Where cars stop, m in front of the camera, and for how long, s."""
_PAUSES = (3.0, 13.0)
_GAP = 8.0
"""Minimum distance between the plates of two cars in a lane, m."""
_STEP = 0.02
_BRAKING = 4.0
"""Seconds between two distances of a drive; m/s² of a car that stops."""
_SHOWN = 4.0
"""Minimum height of a plate in the truth, px."""
_ROOM = 200
"""Extra pixels of noise in each direction, from which each frame takes another part."""
_UNCHANGED = 12
"""Maximum difference of a pixel's brightness, 0..255, that counts as unchanged."""


@dataclass(frozen=True)
class Light:
    """``dark``: how bright the street and the paint are, 1 by day; plates reflect. ``noise``: standard deviation."""

    weather: street.Weather
    dark: float
    noise: float
    lamps: bool
    drops: int


LIGHTS: dict[LightName, Light] = {
    "day": Light(street.Weather((214, 160, 104), (236, 214, 190), sun=0.8, dim=1.0), 1.0, 2.0, False, 0),
    "night": Light(street.Weather((60, 40, 28), (70, 60, 56), sun=0.0, dim=0.4), 0.22, 5.0, True, 0),
    "rain": Light(street.Weather((150, 148, 146), (188, 186, 184), sun=0.0, dim=0.8), 0.75, 3.0, True, 500),
}


@dataclass(frozen=True)
class DriveBySettings:
    """A clip. ``speeds``: slowest and fastest car, km/h. ``exposure``: seconds, by which moving cars blur.

    ``every``: mean seconds between two cars. ``focal``: in widths of the frame. ``bit_rate``: bit/s of the video.
    """

    cars: int = 12
    light: LightName = "day"
    size: tuple[int, int] = (1280, 720)
    rate: int = 25
    speeds: tuple[float, float] = (20.0, 60.0)
    every: float = 1.0
    exposure: float = 1 / 500
    focal: float = 1.9
    height: float = 3.2
    bit_rate: int = 1_500_000


@dataclass(frozen=True)
class Drive:
    """A car with its plate and its distances (m) at multiples of `_STEP` from ``start`` (s) on."""

    car: cars.Car
    text: str
    plate: Frame
    seed: int
    start: float
    distances: NDArray[np.float64]

    def at(self, time: float) -> cars.Car | None:
        """The car at a time, or None if it is not on the road."""
        index = (time - self.start) / _STEP
        if not 0 <= index <= len(self.distances) - 1:
            return None
        return replace(self.car, z=float(np.interp(index, np.arange(len(self.distances)), self.distances)))

    @property
    def end(self) -> float:
        """When it has left, s."""
        return self.start + _STEP * (len(self.distances) - 1)


def write_drive_by(path: Path, scheme: PlateScheme, seed: int, settings: DriveBySettings) -> Iterator[float]:
    """Write an H.264 clip and its truth (`truth_path`) -> the finished share, frame by frame.

    Raises:
        InputError: the file cannot be written.
        MissingExtra: PyAV is not installed, as in the environment of `make demo`.
    """
    with needs("watch", "a clip"):
        import av
    rng = np.random.default_rng(seed)
    drives = plan(scheme, rng, settings)
    end = max(drive.end for drive in drives) + 0.5
    try:
        with av.open(str(path), "w") as video, truth_path(path).open("w", encoding="utf-8") as truth:
            stream = video.add_stream("libx264", rate=settings.rate, options={"preset": "veryfast"})
            stream.width, stream.height = settings.size
            stream.pix_fmt, stream.bit_rate = "yuv420p", settings.bit_rate
            stream.time_base = Fraction(1, settings.rate)
            for frame, true in film(drives, end, rng, settings):
                video.mux(stream.encode(av.VideoFrame.from_ndarray(frame, "bgr24")))
                truth.write(true.to_json() + "\n")
                yield min(true.time / end, 1.0)
            video.mux(stream.encode(None))
    except (OSError, av.error.FFmpegError) as error:
        raise InputError(f"{path}: cannot be written: {error.strerror}; expected *.mp4 or *.mkv") from error


def truth_path(clip: Path) -> Path:
    """The path of a clip's truth: beside it, *.jsonl."""
    return clip.with_suffix(".jsonl")


def plan(scheme: PlateScheme, rng: np.random.Generator, settings: DriveBySettings) -> list[Drive]:
    """Plan the cars, none of which runs into another; every eighth stops."""
    drives: list[Drive] = []
    for number in range(settings.cars):
        lane = list(_LANES)[int(rng.integers(len(_LANES)))]
        way = _way(rng, settings, _LANES[lane], stops=number % 8 == 3)
        drive = _drive(scheme, rng, lane, number * settings.every, way)
        while any(_collide(drive, other) for other in drives):
            drive = replace(drive, start=drive.start + 0.3)
        drives.append(drive)
    return drives


def film(
    drives: list[Drive], end: float, rng: np.random.Generator, settings: DriveBySettings
) -> Iterator[tuple[Frame, TrueFrame]]:
    """Cars -> frames (H, W, 3) BGR with their truth."""
    light = LIGHTS[settings.light]
    width, height = settings.size
    view = Pinhole(settings.focal * width, width * float(rng.uniform(0.45, 0.55)), 0.2 * height, settings.height)
    empty = np.zeros((height, width, 3), np.uint8)
    street.draw_street(empty, view, light.weather, rng)
    empty = _dimmed(empty, light.dark)
    grain = _grain(height, width, light.noise, rng)
    for index in range(round(end * settings.rate)):
        time = index / settings.rate
        frame = empty.copy()
        shown = [(drive, car) for drive in drives if (car := drive.at(time))]
        hung: list[tuple[Drive, Quad, Frame]] = []
        for drive, car in sorted(shown, key=lambda pair: -pair[1].z):
            _draw(frame, view, drive, car, light)
            quad = cars.plate_quad(car, view)
            hung.append((drive, quad, _area(frame, quad).copy()))
        visible = [_visible(frame, quad, before) for _, quad, before in hung]
        for drive, car in shown:
            if after := drive.at(time + settings.exposure):
                _blur(frame, cars.extent(car, view), cars.plate_quad(after, view) - cars.plate_quad(car, view))
        true = tuple(
            TruePlate(
                drives.index(drive),
                drive.text,
                tuple(map(float, (*quad.min(axis=0), *quad.max(axis=0)))),
                tuple(map(float, quad.ravel())),
                share,
            )
            for (drive, quad, _), share in zip(hung, visible, strict=True)
            if share > 0 and quad[3, 1] - quad[0, 1] >= _SHOWN
        )
        yield _exposed(frame, light, grain, rng), TrueFrame(time, true)


def _drive(
    scheme: PlateScheme, rng: np.random.Generator, lane: float, start: float, distances: NDArray[np.float64]
) -> Drive:
    kind, text = texts.sample_text(scheme, rng, scheme.formats[0].name)
    car = cars.Car(
        shape=(cars.SEDAN, cars.HATCH, cars.SUV)[int(rng.integers(3))],
        x=lane + float(rng.normal(0, 0.2)),
        z=_FAR,
        paint=cars.PAINTS[int(rng.integers(len(cars.PAINTS)))],
        front=_LANES[lane],
    )
    return Drive(
        car, text, plates.draw(scheme, kind, text, rng, scene.PLATE_SCALE), int(rng.integers(2**31)), start, distances
    )


def _way(rng: np.random.Generator, settings: DriveBySettings, towards: bool, stops: bool) -> NDArray[np.float64]:
    """The distances of a car at steady speed, m, possibly with a stop of some seconds."""
    speed = float(rng.uniform(*settings.speeds)) / 3.6
    speeds = np.full(int((_FAR - _NEAR) / speed / _STEP), speed)
    if stops:
        slowing = np.arange(speed, 0, -_BRAKING * _STEP)
        pause = np.zeros(int(float(rng.uniform(*_PAUSES)) / _STEP))
        stop = float(rng.uniform(*_STOPS))
        before = (_FAR - stop if towards else stop - _NEAR) - slowing.sum() * _STEP
        at = max(0, int(before / speed / _STEP))
        speeds = np.concatenate((speeds[:at], slowing, pause, slowing[::-1], speeds[at:]))
    done = np.cumsum(speeds) * _STEP
    way = _FAR - done if towards else _NEAR + done
    return np.asarray(way[(way >= _NEAR) & (way <= _FAR)], np.float64)


def _collide(one: Drive, other: Drive) -> bool:
    """Whether two cars of a lane come closer than `_GAP`."""
    if abs(one.car.x - other.car.x) > 2:
        return False
    times = np.arange(max(one.start, other.start), min(one.end, other.end), 0.1)
    first, second = (
        np.interp((times - drive.start) / _STEP, np.arange(len(drive.distances)), drive.distances)
        for drive in (one, other)
    )
    return bool((np.abs(first - second) < _GAP).any())


def _draw(frame: Frame, view: Pinhole, drive: Drive, car: cars.Car, light: Light) -> None:
    b, g, r = (round(value * light.dark) for value in car.paint)
    painted = replace(car, paint=(b, g, r))
    cars.draw_car(frame, view, painted, np.random.default_rng(drive.seed), lamps_on=light.lamps)
    plate = drive.plate if light.dark == 1 else _dimmed(drive.plate, 0.5 + 0.4 * light.dark)
    scene.hang(frame, plate, cars.plate_quad(car, view))
    if light.lamps and car.front:
        for side in (-0.62, 0.62):
            disc = [(side + 0.16 * np.cos(a), 0.7 + 0.16 * np.sin(a)) for a in np.linspace(0, 2 * np.pi, 12)]
            glow = view.project(*((car.x + x, y, car.z - 0.1) for x, y in disc))
            blend(frame, glow, (225, 240, 250), 0.8, min(0.12 * view.focal / car.z, 12.0))


def _visible(frame: Frame, quad: Quad, before: Frame) -> float:
    """The share of a plate that is unchanged since it was drawn, and inside the frame."""
    if not before.size:
        return 0.0
    (xmin, ymin), (xmax, ymax) = quad.min(axis=0), quad.max(axis=0)
    same = (cv2.absdiff(_area(frame, quad), before).max(axis=2) <= _UNCHANGED).sum()
    return min(1.0, float(same / max((np.ceil(xmax) - np.floor(xmin)) * (np.ceil(ymax) - np.floor(ymin)), 1)))


def _area(frame: Frame, points: NDArray[np.float32]) -> Frame:
    """The part of a frame around points."""
    (x0, y0), (x1, y1) = np.floor(points.min(axis=0)), np.ceil(points.max(axis=0))
    height, width = frame.shape[:2]
    return frame[
        int(np.clip(y0, 0, height)) : int(np.clip(y1, 0, height)),
        int(np.clip(x0, 0, width)) : int(np.clip(x1, 0, width)),
    ]


def _blur(frame: Frame, extent: tuple[float, float, float, float], moved: Quad) -> None:
    """Blur a car along its movement during the exposure, in place."""
    right, down = (float(value) for value in moved.mean(axis=0))
    if np.hypot(right, down) > 0.7:
        area = _area(frame, np.array(extent, np.float32).reshape(2, 2))
        if area.size:
            area[:] = cv2.filter2D(area, -1, camera.streak(right, down), borderType=cv2.BORDER_REPLICATE)


def _grain(height: int, width: int, noise: float, rng: np.random.Generator) -> NDArray[np.int16]:
    """A sensor's noise, larger than a frame by `_ROOM`: each frame takes another part, because drawing it is slow."""
    drawn = noise * rng.standard_normal((height + _ROOM, width + _ROOM, 1), dtype=np.float32)
    return np.repeat(np.rint(drawn).astype(np.int16), 3, axis=2)


def _exposed(frame: Frame, light: Light, grain: NDArray[np.int16], rng: np.random.Generator) -> Frame:
    """Add rain in front of the lens, the lens, and the sensor's noise."""
    height, width = frame.shape[:2]
    if light.drops:
        drops = frame.copy()
        for x, y, length in zip(*(rng.random((3, light.drops)) * [[width], [height], [30]]), strict=True):
            cv2.line(drops, (int(x), int(y)), (int(x - length / 6), int(y + length)), (205, 205, 200), 1, cv2.LINE_AA)
        frame = np.asarray(cv2.addWeighted(drops, 0.45, frame, 0.55, 8), np.uint8)
    top, left = rng.integers(_ROOM, size=2)
    noise = grain[top : top + height, left : left + width]
    return np.asarray(cv2.add(cv2.GaussianBlur(frame, (0, 0), 0.5), noise, dtype=cv2.CV_8U), np.uint8)


def _dimmed(picture: Frame, factor: float) -> Frame:
    return np.asarray(cv2.convertScaleAbs(picture, alpha=factor), np.uint8)
