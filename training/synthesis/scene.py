"""Draws a street scene with plates: the picture of the demo, and training scenes for the detector."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import cycle

import cv2
import numpy as np
from numpy.typing import NDArray

from plate_nets.countries import PlateScheme, load_scheme
from plate_nets.recognition.quads import Quad
from plate_nets.recognition.rectification import quad_boxes
from plate_nets.types import Box, Boxes, Frame
from training.synthesis import cars, plates, street, texts
from training.synthesis.drawing import Pinhole, paste, rounded

_LANES = (-4.0, 0.0, 4.0, -7.4, 7.4)
_FINE = 2
"""Scenes are drawn this much larger and then reduced, so that all edges are smooth."""
PLATE_SCALE = 1.5
"""Scale at which plates are drawn, px/mm."""
FOREIGN = "latin"
"""The scheme of plates of other countries: of every look."""


@dataclass(frozen=True)
class ScenePlate:
    """A plate in a scene: its text ("" for another country), kind, corners (4, 2) and upright box, px.

    ``car``: the box of its car, which other cars may partly hide, and which may extend beyond the frame.
    """

    text: str
    kind: str
    quad: NDArray[np.float32]
    box: Box
    car: Box


@dataclass(frozen=True)
class Scene:
    """A frame (H, W, 3) BGR and the plates in it."""

    frame: Frame
    plates: tuple[ScenePlate, ...]

    @property
    def boxes(self) -> Boxes:
        """The boxes (N, 4) xyxy of its plates, px."""
        return np.array([plate.box.sides for plate in self.plates], np.float32).reshape(-1, 4)


def render_scene(
    scheme: PlateScheme | Sequence[PlateScheme],
    rng: np.random.Generator,
    size: tuple[int, int] = (1280, 720),
    plates: int = 1,
    foreign: float = 0.0,
    reach: float | None = None,
) -> Scene:
    """Render a street scene.

    Args:
        scheme: the scheme of the cars' plates, or several, which the cars have in turn, the farthest car the first.
        rng: decides everything.
        size: width and height of the frame, px.
        plates: plates in it, 0..6, or more with a longer reach; fewer if the frame has no room to show them whole.
        foreign: share of plates of other countries.
        reach: from the nearest to the farthest car, m; by default it grows with the number of plates.
    """
    width, height = size[0] * _FINE, size[1] * _FINE
    frame = np.zeros((height, width, 3), np.uint8)
    camera = Pinhole(
        focal=float(width * rng.uniform(1.05, 1.5)),
        centre_x=float(width * rng.uniform(0.42, 0.58)),
        horizon=float(height * rng.uniform(0.36, 0.5)),
        height=float(rng.uniform(1.3, 2.1)),
    )
    weather = street.sample_weather(rng)
    street.draw_street(frame, camera, weather, rng)
    placed = _place(camera, (width, height), plates, rng, reach)
    shown: list[ScenePlate] = []
    schemes = cycle((scheme,) if isinstance(scheme, PlateScheme) else scheme)
    for car, country in zip(sorted(placed, key=lambda c: -c.z), schemes, strict=False):
        cars.draw_car(frame, camera, car, rng, lamps_on=weather.dim < 0.72 or rng.random() < 0.25)
        shown.append(_hang(country, frame, camera, car, rng, abroad=bool(rng.random() < foreign)))
    return Scene(_develop(frame, size, weather, rng), tuple(shown))


def _place(
    camera: Pinhole, size: tuple[int, int], count: int, rng: np.random.Generator, reach: float | None
) -> list[cars.Car]:
    """Cars whose plates the frame shows whole and no nearer car hides."""
    reach = 9 + 2.5 * count if reach is None else reach
    placed: list[cars.Car] = []
    for _ in range(60 * max(count, 1)):
        if len(placed) == count:
            break
        lane = _LANES[int(rng.integers(len(_LANES) if count > 2 else 3))]
        nearest = 5.2 if not placed and count < 4 else 7.0
        car = cars.Car(
            shape=(cars.SEDAN, cars.HATCH, cars.SUV)[int(rng.integers(3))],
            x=lane + float(rng.normal(0, 0.25)),
            z=float(nearest + reach * rng.random() ** 1.6),
            paint=cars.PAINTS[int(rng.integers(len(cars.PAINTS)))],
            front=bool(rng.random() < (0.75 if lane < -1 else 0.15)),
        )
        if _visible(car, placed, camera, size):
            placed.append(car)
    return placed


def _visible(car: cars.Car, others: list[cars.Car], camera: Pinhole, size: tuple[int, int]) -> bool:
    quad = cars.plate_quad(car, camera)
    margin = 8 * _FINE
    if quad.min() < margin or quad[:, 0].max() > size[0] - margin or quad[:, 1].max() > size[1] - margin:
        return False
    for other in others:
        if abs(other.x - car.x) < 2.2 and abs(other.z - car.z) < 6.5:
            return False
        front, back = (car, other) if car.z < other.z else (other, car)
        hidden = cars.plate_quad(back, camera)
        xmin, ymin, xmax, _ = cars.extent(front, camera)
        if hidden[:, 0].max() > xmin and hidden[:, 0].min() < xmax and hidden[:, 1].max() > ymin:
            return False
    return True


def _hang(
    scheme: PlateScheme, frame: Frame, camera: Pinhole, car: cars.Car, rng: np.random.Generator, *, abroad: bool
) -> ScenePlate:
    """Draw a car's plate, in place."""
    scheme = load_scheme(FOREIGN) if abroad else scheme
    kind, text = texts.sample_text(scheme.by_lines[scheme.fewest_lines], rng)
    picture = plates.draw(scheme, kind, text, rng, PLATE_SCALE)
    height, width = (side / PLATE_SCALE / 1000 for side in picture.shape[:2])
    quad = cars.plate_quad(car, camera, (width, height))
    kind, text = ("foreign", "") if abroad else (kind, text)
    hang(frame, picture, quad)
    small = np.asarray((quad + 0.5) / _FINE - 0.5, np.float32)
    around = Box(*((side + 0.5) / _FINE - 0.5 for side in cars.extent(car, camera)))
    return ScenePlate(text, kind, small, Box(*quad_boxes(small[None])[0].tolist()), around)


def hang(frame: Frame, picture: Frame, quad: Quad) -> None:
    """Put a plate drawn flat at `PLATE_SCALE` into the frame with its holder, corners on ``quad``, in place."""
    holder = (quad - quad.mean(axis=0)) * np.array([1.035, 1.22], np.float32) + quad.mean(axis=0)
    paste(frame, np.full((60, 260, 3), 24, np.uint8), holder.astype(np.float32), rounded(60, 260, 6))
    paste(frame, picture, quad, rounded(picture.shape[0], picture.shape[1], round(7 * PLATE_SCALE)))


def _develop(frame: Frame, size: tuple[int, int], weather: street.Weather, rng: np.random.Generator) -> Frame:
    """Reduce the drawing to the frame's size; add its light, the lens's dark corners and a little noise."""
    image = np.asarray(cv2.resize(frame, size, interpolation=cv2.INTER_AREA), np.float32)
    x = np.linspace(-1, 1, size[0], dtype=np.float32)[None]
    y = np.linspace(-1, 1, size[1], dtype=np.float32)[:, None]
    image *= (1 - 0.13 * (x * x + y * y))[:, :, None]
    warmth = 0.04 * weather.sun - 0.02
    image *= np.array([1 - warmth, 1.0, 1 + warmth], np.float32) * np.float32(1.15 * weather.dim)
    image = np.asarray(cv2.GaussianBlur(image, (0, 0), float(rng.uniform(0.3, 0.6))), np.float32)
    image += rng.standard_normal((size[1], size[0], 1), dtype=np.float32) * np.float32(rng.uniform(1.0, 3.0))
    return np.clip(image, 0, 255).astype(np.uint8)
