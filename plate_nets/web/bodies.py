"""What the HTTP API takes and gives: the models that the OpenAPI document is made of."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from plate_nets.types import VEHICLES, Side
from plate_nets.web import faults

Probability = Annotated[float, Field(ge=0, le=1)]


class Body(BaseModel):
    """What all have in common: an unknown field is refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Fault(Body):
    """An error: docs/reference/errors.md explains the codes."""

    code: str = Field(examples=["PLATES_BAD_INPUT"])
    message: str
    retry: bool = Field(description="whether the same may be asked again later")

    @classmethod
    def of(cls, fault: "faults.Fault") -> "Fault":
        """From the value that errors become."""
        return cls(code=fault.code, message=fault.message, retry=fault.retry)


class Failure(Body):
    """The answer where there is none."""

    error: Fault


class Character(Body):
    """A character of the best reading."""

    char: str
    score: Probability


class Candidate(Body):
    """A text that fits a format, and its probability."""

    plate: str
    score: Probability


class Vehicle(Body):
    """The vehicle that a plate belongs to."""

    box: list[float] = Field(description="xmin, ymin, xmax, ymax", min_length=4, max_length=4)
    type: str = Field(description=f"one of {', '.join(VEHICLES)}")
    score: Probability = Field(description="how surely there is a vehicle of this type")
    side: Side | None = Field(description="which end is seen; told by motion, so null in a picture")


class Plate(Body):
    """A plate of a picture. Coordinates are pixels of the picture as sent, upright by its EXIF orientation."""

    text: str = Field(description="empty where the plate could not be read surely")
    reading: str = Field(description="the best reading, sure or not")
    confidence: Probability = Field(description="the least probability of a character")
    score: Probability = Field(description="of the detector")
    box: list[float] = Field(description="xmin, ymin, xmax, ymax", min_length=4, max_length=4)
    corners: list[float] = Field(
        description="x1, y1 ... x4, y4, clockwise from the plate's own top left", min_length=8, max_length=8
    )
    format: str
    scheme: str = Field(description="whose plates it was read as, such as russia")
    country: str = Field(
        default="", description="ISO 3166 alpha-2 in lower case, or unknown; empty where one scheme alone is read"
    )
    country_confidence: Probability = 0.0
    ground: str = Field(default="", description="the colour of its ground, such as white; empty as country is")
    ground_confidence: Probability = 0.0
    region: str = Field(description="the region's digits of the text; empty where there is no text")
    characters: list[Character]
    candidates: list[Candidate] = Field(description="texts that fit a format, most probable first")
    vehicle: Vehicle | None = Field(default=None, description="with `vehicles=true`: whose plate it is, if surely")
    crop: str | None = Field(default=None, description="with `crops=true`: cut out straight, a JPEG as data URL")


class Picture(Body):
    """What one picture says: its plates, or its fault."""

    file: str
    width: int | None = None
    height: int | None = None
    milliseconds: float | None = Field(default=None, description="of the whole work on it, without its upload")
    stages: dict[str, float] = Field(default_factory=dict, description="milliseconds by stage")
    plates: list[Plate] = []
    error: Fault | None = None


class Pictures(Body):
    """The pictures of a request, in order."""

    pictures: list[Picture]


class Address(Body):
    """Where a picture is to be fetched."""

    url: str = Field(max_length=2048)
    crops: bool = False
    vehicles: bool = False


class Correction(Body):
    """What a plate really says; empty takes an earlier correction back."""

    plate: str = Field(max_length=16)


class Entry(Body):
    """An entry of a watch list."""

    plate: str = Field(min_length=1, max_length=16)
    label: str = Field(default="", max_length=200)


class Wellness(Body):
    """Whether plates are really read."""

    state: Literal["serving", "failing"]
