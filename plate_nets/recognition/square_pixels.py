"""Frames whose pixels are not square <-> the same with square pixels, which the networks expect."""

import re
from dataclasses import dataclass, field, replace
from fractions import Fraction

import cv2
import numpy as np

from plate_nets.common.errors import InputError
from plate_nets.common.intake.table import excerpt
from plate_nets.recognition.images import load_picture
from plate_nets.recognition.reader import FrameLimits, VehicleReader
from plate_nets.types import Box, Frame, Plate, Scene, Vehicle

MOST = 4
"""Maximum ratio of the sides of a picture that a user names, and of a pixel that a stream names, either way."""

_ASPECT = re.compile(r"(\d{1,5}):(\d{1,5})")


def parse_aspect(text: str) -> Fraction:
    """``width:height`` of a whole picture, as it should look, such as 16:9 -> the ratio.

    Raises:
        InputError: another text, or a ratio beyond `MOST`.
    """
    sides = _ASPECT.fullmatch(text)
    width, height = map(int, sides.groups()) if sides else (0, 0)
    if not 0 < height <= MOST * width <= MOST**2 * height:
        raise InputError(
            f"aspect: expected width:height of the whole picture, such as 16:9, from 1:{MOST} to {MOST}:1, "
            f"got {excerpt(repr(text))}"
        )
    return Fraction(width, height)


@dataclass(frozen=True)
class Stretch:
    """Stretches frames of one size to square pixels, and takes what was found there back to their own pixels."""

    own: tuple[int, int]
    """Height and width of the frame."""
    square: tuple[int, int]
    """Height and width with square pixels."""

    @classmethod
    def of_pixels(cls, size: tuple[int, int], pixel: Fraction, limits: FrameLimits = FrameLimits()) -> "Stretch":
        """A frame's height and width, and the width of its pixels in heights -> how to stretch it.

        The shorter side of the pixels grows, so that nothing is lost. If the frame would exceed the limit, the longer
        one shrinks.
        """
        h, w = size
        taller, wider = max(1 / pixel, Fraction(1)), max(pixel, Fraction(1))
        if h * taller * w * wider > limits.max_pixels:
            taller, wider = 1 / wider, 1 / taller
        return cls(size, (max(1, round(h * taller)), max(1, round(w * wider))))

    @classmethod
    def of_aspect(cls, size: tuple[int, int], aspect: Fraction, limits: FrameLimits = FrameLimits()) -> "Stretch":
        """A frame's height and width, and the width of the whole picture in heights -> how to stretch it."""
        return cls.of_pixels(size, aspect * size[0] / size[1], limits)

    def frame(self, frame: Frame) -> Frame:
        """A frame -> the same with square pixels."""
        if self.square == self.own:
            return frame
        return np.asarray(cv2.resize(frame, self.square[::-1], interpolation=cv2.INTER_CUBIC), np.uint8)

    def to_square(self, scene: Scene) -> Scene:
        """What is in a frame, in its own pixels -> the same in square ones."""
        return self._scaled(scene, *self._factors)

    def to_own(self, scene: Scene) -> Scene:
        """What was found in the square pixels of a frame -> the same in its own ones."""
        x, y = self._factors
        return self._scaled(scene, 1 / x, 1 / y)

    def box_to_own(self, box: Box) -> Box:
        """A box in square pixels -> the same in the frame's own ones."""
        x, y = self._factors
        return _scaled_box(box, 1 / x, 1 / y)

    def point_to_own(self, point: tuple[float, float]) -> tuple[float, float]:
        """A point in square pixels -> the same in the frame's own ones."""
        x, y = self._factors
        return point[0] / x, point[1] / y

    @property
    def _factors(self) -> tuple[float, float]:
        (h, w), (square_h, square_w) = self.own, self.square
        return square_w / w, square_h / h

    def _scaled(self, scene: Scene, x: float, y: float) -> Scene:
        if self.square == self.own:
            return scene
        return Scene(
            [_scaled_plate(plate, x, y) for plate in scene.plates],
            tuple(_scaled_vehicle(vehicle, x, y) for vehicle in scene.vehicles),
        )


@dataclass(frozen=True)
class AspectReader:
    """Reads pictures whose pixels are not square with any reader; places are in the picture's own pixels."""

    reader: VehicleReader
    aspect: Fraction
    """Width of the whole picture in heights, as it should look, see `parse_aspect`."""
    limits: FrameLimits = field(default_factory=FrameLimits)

    def read(
        self, image: Frame | bytes, *, evidence: bool = False, sure: float | None = None, vehicles: bool = False
    ) -> list[Plate]:
        """Like `VehicleReader.read`. Encoded pictures are decoded in this process."""
        frame = load_picture(image, self.limits)
        stretch = Stretch.of_aspect((frame.shape[0], frame.shape[1]), self.aspect, self.limits)
        plates = self.reader.read(stretch.frame(frame), evidence=evidence, sure=sure, vehicles=vehicles)
        return stretch.to_own(Scene(plates)).plates


def _scaled_plate(plate: Plate, x: float, y: float) -> Plate:
    return replace(
        plate,
        box=_scaled_box(plate.box, x, y),
        corners=tuple(place * (y if index % 2 else x) for index, place in enumerate(plate.corners)),
        vehicle=_scaled_vehicle(plate.vehicle, x, y) if plate.vehicle else None,
    )


def _scaled_vehicle(vehicle: Vehicle, x: float, y: float) -> Vehicle:
    return replace(vehicle, box=_scaled_box(vehicle.box, x, y))


def _scaled_box(box: Box, x: float, y: float) -> Box:
    return Box(box.xmin * x, box.ymin * y, box.xmax * x, box.ymax * y)
