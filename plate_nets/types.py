"""The kinds of array that pass between the parts, each with layout, dtype and range.

Signatures that use these names need no further comment.
"""

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Frame = NDArray[np.uint8]
"""A picture as the caller sends it: (H, W, 3), BGR, 0..255, as ``cv2.imread`` gives it."""

Crops = NDArray[np.float32]
"""Plate crops ready for the STN: (N, 3, 24, 94), RGB, ``(value - 127.5) / 128``, so about -1..1."""

Boxes = NDArray[np.float32]
"""Axis-aligned boxes: (N, 4), ``xmin, ymin, xmax, ymax`` in pixels of the frame as sent."""

Scores = NDArray[np.float32]
"""Detector scores: (N,), 0..1, one a box, highest first."""

Logits = NDArray[np.float32]
"""What LPRNet answers: (N, C, 18), unnormalised scores of the scheme's C classes, symbols and blank, at 18 steps."""

Corners = NDArray[np.float32]
"""Corner points of plates: (N, 8), x1, y1, ..., x4, y4 in pixels of the frame, clockwise from the plate's own top left.

Pixel ``i`` covers ``i`` to ``i + 1``. They may lie beyond the frame.
"""

CORNER_COLUMNS = ("x1", "y1", "x2", "y2", "x3", "y3", "x4", "y4")
"""Their names in tables."""

VEHICLE_COLUMNS = (
    "vehicle_type", "vehicle_score", "vehicle_xmin", "vehicle_ymin", "vehicle_xmax", "vehicle_ymax",
)  # fmt: skip
"""Of a plate's vehicle in tables, empty where it has none."""

PLATE_COLUMNS = (
    "file", "text", "reading", "confidence", "score", "xmin", "ymin", "xmax", "ymax", "milliseconds", "error",
    "format", *CORNER_COLUMNS, "scheme", "country", "country_confidence", "ground", "ground_confidence",
    *VEHICLE_COLUMNS,
)  # fmt: skip
"""Of a CSV file of plates, a row a plate, as the commands and the page write it; new columns come last."""

VehicleRows = NDArray[np.float32]
"""Vehicles: (N, 6), ``xmin, ymin, xmax, ymax`` in pixels of the frame as sent, score 0..1, number in `VEHICLES`."""

Lines = NDArray[np.intp]
"""How many lines plates have: (N,), 1 or 2."""

Detail = Literal["fast", "balanced", "far"]
"""How closely a picture is looked at, see `recognition.detection.DetectionSettings`."""
DEFAULT_DETAIL: Detail = "balanced"

VEHICLES = ("car", "truck", "bus", "motorcycle")
"""The kinds of vehicle that the detector tells apart, in the order of its classes."""

Side = Literal["front", "rear"]
"""Which end of a vehicle is seen."""

CROP_HEIGHT = 24
CROP_WIDTH = 94
WINDOW_HEIGHT = 64
WINDOW_WIDTH = 128
"""What the network that finds corners looks at."""
STEPS = 18


@dataclass(frozen=True)
class Box:
    """An axis-aligned box in pixels of the frame as sent."""

    xmin: float
    ymin: float
    xmax: float
    ymax: float

    @property
    def sides(self) -> tuple[float, float, float, float]:
        """As a row of `Boxes`."""
        return self.xmin, self.ymin, self.xmax, self.ymax

    @property
    def width(self) -> float:
        return self.xmax - self.xmin

    @property
    def height(self) -> float:
        return self.ymax - self.ymin


@dataclass(frozen=True)
class Reading:
    """What a plate says."""

    text: str
    """Empty where the plate could not be read surely."""
    best: str
    """The best reading, sure or not."""
    confidence: float
    """The lowest probability of a character of ``best``, 0..1; 0 where ``best`` is empty."""
    characters: tuple[float, ...] = ()
    """The probability of each character of ``best``, 0..1; empty where a server was not asked for evidence."""
    format: str = ""
    """Name of the plate format of ``text``, empty where there is no text; "taxi or trailer" where it fits both."""
    scheme: str = ""
    """Name of the scheme, alphabet and formats, that ``text`` was read by."""
    schemes: tuple[str, ...] = ()
    """Where several schemes were asked for: those that give this text, ``scheme`` first: the one whose plates look most
    like this one or, where that is not known, the first asked for."""
    country: str = ""
    """Whose plate it is, ISO 3166 alpha-2 in lower case, or "unknown"; empty where nobody asked."""
    country_confidence: float = 0.0
    """Of the most probable country, 0..1: by the formats that ``text`` fits and by what the plate looks like."""
    ground: str = ""
    """The colour of the plate's ground, of `plates.designs.GROUNDS`; empty where nobody asked."""
    ground_confidence: float = 0.0
    """Of ``ground``, 0..1."""


@dataclass(frozen=True)
class Vehicle:
    """One vehicle of a frame."""

    box: Box
    type: str
    """One of `VEHICLES`."""
    score: float
    """How surely there is a vehicle of this type, 0..1."""
    side: Side | None = None
    """Which end is seen: told by how the vehicle moves, so None in a single picture."""

    def to_dict(self) -> dict[str, Any]:
        """As JSON and Parquet have it."""
        return {"box": rounded(self.box), "type": self.type, "score": round(self.score, 4), "side": self.side}


@dataclass(frozen=True)
class Plate:
    """One plate of a frame: where it is and what it says."""

    box: Box
    score: float
    """How surely there is a plate, 0..1: by the detector, corrected by what the network that finds corners sees."""
    reading: Reading
    logits: NDArray[np.float32] | None = field(default=None, compare=False, repr=False)
    """What LPRNet answered, (23, 18) unnormalised, where evidence was asked for: frames of a video are fused by it."""
    corners: tuple[float, ...] = field(default=(), kw_only=True)
    """x1, y1, ..., x4, y4, clockwise from the plate's own top left, in pixels of the frame as `Corners`.

    The corners of ``box`` where none were found; empty where a server was not asked for them.
    """

    vehicle: Vehicle | None = field(default=None, kw_only=True)
    """Whose plate it is; None where vehicles were not asked for, or none is surely its own."""

    @property
    def country(self) -> str:
        """As `Reading.country`."""
        return self.reading.country

    @property
    def country_confidence(self) -> float:
        """As `Reading.country_confidence`."""
        return self.reading.country_confidence

    @property
    def ground(self) -> str:
        """As `Reading.ground`."""
        return self.reading.ground

    @property
    def ground_confidence(self) -> float:
        """As `Reading.ground_confidence`."""
        return self.reading.ground_confidence

    def to_dict(self) -> dict[str, Any]:
        """As JSON and Parquet have it: probabilities to four places, pixels to one.

        It has the country and the ground where the reader was asked for them.
        """
        appearance = {
            "country": self.country,
            "country_confidence": round(self.country_confidence, 4),
            "ground": self.ground,
            "ground_confidence": round(self.ground_confidence, 4),
        }
        return {
            "text": self.reading.text,
            "reading": self.reading.best,
            "confidence": round(self.reading.confidence, 4),
            "score": round(self.score, 4),
            "box": rounded(self.box),
            "corners": [round(place, 1) for place in self.corners],
            "format": self.reading.format,
            "scheme": self.reading.scheme,
            "vehicle": self.vehicle.to_dict() if self.vehicle else None,
        } | (appearance if self.country else {})


@dataclass(frozen=True)
class Scene:
    """What a picture shows: its plates and its vehicles, each highest score first."""

    plates: list[Plate]
    vehicles: tuple[Vehicle, ...] = ()
    """Also those without a plate; empty where they were not asked for."""


def rounded(box: Box) -> list[float]:
    """A box as JSON has it: xmin, ymin, xmax, ymax to a tenth of a pixel."""
    return [round(side, 1) for side in box.sides]
