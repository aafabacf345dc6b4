"""The array types that pass between the parts, each with layout, dtype and range.

Signatures that use these names need no further comment.
"""

import math
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from plate_nets.common.latin import latin_beside

Frame = NDArray[np.uint8]
"""A picture as sent by the caller: (H, W, 3), BGR, 0..255, as from ``cv2.imread``."""

Crops = NDArray[np.float32]
"""Plate crops ready for the STN: (N, 3, 24, 94), RGB, ``(value - 127.5) / 128``, so about -1..1."""

Boxes = NDArray[np.float32]
"""Axis-aligned boxes: (N, 4), ``xmin, ymin, xmax, ymax`` in pixels of the frame as sent."""

Scores = NDArray[np.float32]
"""Detector scores: (N,), 0..1, one per box, highest first."""

Logits = NDArray[np.float32]
"""LPRNet's output: (N, C, 18), unnormalised scores of the scheme's C classes, symbols and blank, at 18 steps."""

Corners = NDArray[np.float32]
"""Corner points of plates: (N, 8), x1, y1, ..., x4, y4 in pixels of the frame, clockwise from the plate's own top left.

Pixel ``i`` covers ``i`` to ``i + 1``. Points may lie beyond the frame.
"""

CORNER_COLUMNS = ("x1", "y1", "x2", "y2", "x3", "y3", "x4", "y4")
"""Column names of the corners in tables."""

VEHICLE_COLUMNS = (
    "vehicle_type", "vehicle_score", "vehicle_xmin", "vehicle_ymin", "vehicle_xmax", "vehicle_ymax",
)  # fmt: skip
"""Columns of a plate's vehicle in tables, empty without one."""

PLATE_COLUMNS = (
    "file", "text", "reading", "confidence", "score", "xmin", "ymin", "xmax", "ymax", "milliseconds", "error",
    "format", *CORNER_COLUMNS, "scheme", "country", "country_confidence", "ground", "ground_confidence",
    *VEHICLE_COLUMNS, "latin",
)  # fmt: skip
"""Columns of a CSV file with one plate per row, as commands and the page write it; new columns come last."""

VehicleRows = NDArray[np.float32]
"""Vehicles: (N, 6), ``xmin, ymin, xmax, ymax`` in pixels of the frame as sent, score 0..1, index into `VEHICLES`."""

Lines = NDArray[np.intp]
"""The number of lines of each plate: (N,), 1 or 2."""

T = TypeVar("T")


class PlateCrops(NamedTuple, Generic[T]):
    """The N plates of a frame, cut out for the readers. ``T`` is the kind of array that holds crops, see `Crops`."""

    crops: T
    """(N, 3, 24, 94), along the corners, with as many lines as their shape shows."""
    corners: Corners
    """(N, 8)"""
    as_one: T
    """(M, 3, 24, 94), those M plates that have the shape of two lines, in order, cut as one line."""
    upright: T
    """(N, 3, 24, 94), as one line, along the detector's box."""


Detail = Literal["fast", "balanced", "far"]
"""How closely to look at a picture, see `recognition.detection.DetectionSettings`."""
DEFAULT_DETAIL: Detail = "balanced"

VEHICLES = ("car", "truck", "bus", "motorcycle")
"""The kinds of vehicle that the detector distinguishes, in the order of its classes."""

Side = Literal["front", "rear"]
"""The visible end of a vehicle."""

CROP_HEIGHT = 24
CROP_WIDTH = 94
WINDOW_HEIGHT = 64
WINDOW_WIDTH = 128
"""Size of the window for the network that finds corners."""
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

    @property
    def centre(self) -> tuple[float, float]:
        return (self.xmin + self.xmax) / 2, (self.ymin + self.ymax) / 2


@dataclass(frozen=True)
class Reading:
    """The text of a plate."""

    text: str
    """Empty if the plate could not be read with enough confidence."""
    best: str
    """The best reading, sure or not."""
    confidence: float
    """The lowest probability of a character of ``best``, 0..1; 0 where ``best`` is empty."""
    characters: tuple[float, ...] = ()
    """The probability of each character of ``best``, 0..1; empty if a server was not asked for evidence."""
    format: str = ""
    """Name of the plate format of ``text``, empty without a text; "taxi or trailer" if it fits both."""
    scheme: str = ""
    """Name of the scheme (alphabet and formats) that ``text`` was read with."""
    schemes: tuple[str, ...] = ()
    """With several schemes requested: those that give this text. The first is ``scheme``: the one whose plates look
    most like this one or, if that is not known, the first requested."""
    country: str = ""
    """The plate's country, ISO 3166 alpha-2 in lower case, or "unknown"; empty if not requested."""
    country_confidence: float = 0.0
    """Probability of the country, 0..1, from the formats that ``text`` fits and from the plate's look."""
    ground: str = ""
    """The colour of the plate's ground, from `countries.designs.GROUNDS`; empty if not requested."""
    ground_confidence: float = 0.0
    """Probability of ``ground``, 0..1."""

    @property
    def latin(self) -> str:
        """``text`` in Latin letters, such as "BJ-A88731"; empty if its own signs are Latin."""
        return latin_beside(self.text)


NOT_READ = Reading("", "", 0.0)
"""The reading of a plate of a video that was found, but not read."""


@dataclass(frozen=True)
class Vehicle:
    """One vehicle of a frame."""

    box: Box
    type: str
    """One of `VEHICLES`."""
    score: float
    """Confidence that there is a vehicle of this type, 0..1."""
    side: Side | None = None
    """The visible end, judged by how the vehicle moves, so None in a single picture."""

    def to_dict(self) -> dict[str, Any]:
        """Values for JSON and Parquet."""
        return {"box": rounded(self.box), "type": self.type, "score": round(self.score, 4), "side": self.side}


Reason = Literal["too_low", "cut_off", "dark", "glare", "blurred", "hidden", "script_unknown", "no_format", "unsure"]
"""Why a plate has no text, in the order of asking: an earlier one explains the later ones."""
REASON_UNITS: dict[Reason, str] = {
    "too_low": "px",
    "cut_off": "px",
    "dark": "%",
    "glare": "%",
    "blurred": "px",
    "hidden": "characters",
}
"""Of the numbers of reasons; those of the others are probabilities, 0..1."""


@dataclass(frozen=True)
class Unread:
    """Why a plate has no text: one of `Reason`, and the number that decided (docs/reference/events.md)."""

    reason: Reason
    number: float
    unit: str = ""

    def __str__(self) -> str:
        return f"{self.reason} {self.number:g} {self.unit}".strip()


@dataclass(frozen=True)
class Sight:
    """What the pixels of a plate say of how well it can be seen."""

    brightness: float
    """Of its bright parts, 0..1."""
    glare: float
    """The share of the plate and what is around it that is overexposed in one patch, 0..1."""
    blur: float
    """Radius of the blur in pixels, as of a Gaussian, along the side of the plate along which it is larger."""
    focus: float
    """The same along the other side."""
    ends: float
    """The difference of what adjoins its two ends, 0..1: something may stand before one."""
    edge: float
    """Distance from the edge of the frame, pixels."""

    @property
    def smear(self) -> float:
        """How far the plate moved along one of its sides while the frame was taken, pixels."""
        return math.sqrt(12 * max(0.0, self.blur**2 - self.focus**2))  # the variance of a box is its length² / 12


@dataclass(frozen=True)
class Plate:
    """One plate of a frame: where it is and what it says."""

    box: Box
    score: float
    """Confidence that there is a plate, 0..1: the detector's, corrected by the network that finds corners."""
    reading: Reading
    logits: NDArray[np.float32] | None = field(default=None, compare=False, repr=False)
    """LPRNet's output, (23, 18) unnormalised, if evidence was requested; used to fuse frames of a video."""
    corners: tuple[float, ...] = field(default=(), kw_only=True)
    """x1, y1, ..., x4, y4, clockwise from the plate's own top left, in pixels of the frame as `Corners`.

    Those of ``box`` if none were found; empty if a server was not asked for them.
    """

    vehicle: Vehicle | None = field(default=None, kw_only=True)
    """The plate's vehicle; None if vehicles were not requested, or none clearly belongs to the plate."""
    sight: Sight | None = field(default=None, kw_only=True, compare=False, repr=False)
    """What its pixels say, of a plate without a text in a camera's frame."""

    @property
    def country(self) -> str:
        return self.reading.country

    @property
    def country_confidence(self) -> float:
        return self.reading.country_confidence

    @property
    def ground(self) -> str:
        return self.reading.ground

    @property
    def ground_confidence(self) -> float:
        return self.reading.ground_confidence

    def to_dict(self) -> dict[str, Any]:
        """Values for JSON and Parquet: probabilities to four places, pixels to one.

        Includes the country and the ground if the reader was asked for them, and the text in Latin letters if its own
        are others.
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
            **({"latin": self.reading.latin} if self.reading.latin else {}),
            **(appearance if self.country else {}),
        }


@dataclass(frozen=True)
class Scene:
    """The content of a picture: its plates and its vehicles, each highest score first."""

    plates: list[Plate]
    vehicles: tuple[Vehicle, ...] = ()
    """Including those without a plate; empty if they were not requested."""


def rounded(box: Box) -> list[float]:
    """A box for JSON: xmin, ymin, xmax, ymax to a tenth of a pixel."""
    return [round(side, 1) for side in box.sides]
