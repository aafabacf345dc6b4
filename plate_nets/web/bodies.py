"""Request and response bodies of the HTTP API: its models, and what the OpenAPI document says of other kinds."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from plate_nets.types import VEHICLES, Side

Probability = Annotated[float, Field(ge=0, le=1)]
Json = Mapping[str, Any]
"""A part of the OpenAPI document."""

LONGEST = 2048
"""Characters of an address, and of the fields of a form beside the picture."""


class Body(BaseModel):
    """Base of all bodies: unknown fields are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Fault(Body):
    """An error: docs/reference/errors.md explains the codes."""

    code: str = Field(examples=["PLATES_BAD_INPUT"])
    message: str
    retry: bool = Field(description="whether the same request may succeed later")


class Failure(Body):
    """The answer to a failed request."""

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
    score: Probability = Field(description="confidence that there is a vehicle of this type")
    side: Side | None = Field(description="visible end; known from motion only, so null in a picture")


class Plate(Body):
    """A plate of a picture. Coordinates are pixels of the picture as sent, upright by its EXIF orientation."""

    text: str = Field(description="empty if the plate could not be read with enough confidence")
    reading: str = Field(description="the best reading, sure or not")
    confidence: Probability = Field(description="lowest probability of a character")
    score: Probability = Field(description="confidence of the detector")
    box: list[float] = Field(description="xmin, ymin, xmax, ymax", min_length=4, max_length=4)
    corners: list[float] = Field(
        description="x1, y1 ... x4, y4, clockwise from the plate's own top left", min_length=8, max_length=8
    )
    format: str
    scheme: str = Field(description="scheme that it was read with, such as russia")
    country: str | None = Field(
        default=None, description="ISO 3166 alpha-2 in lower case, or unknown; null if only one scheme is read"
    )
    country_confidence: Probability | None = None
    ground: str | None = Field(default=None, description="colour of its ground, such as white; null when country is")
    ground_confidence: Probability | None = None
    region: str = Field(
        description="the code of the region that the text names, or that alone issues its format; or empty"
    )
    characters: list[Character]
    candidates: list[Candidate] = Field(description="texts that fit a format, most probable first")
    vehicle: Vehicle | None = Field(default=None, description="with `vehicles=true`: the plate's vehicle, if certain")
    crop: str | None = Field(default=None, description="with `crops=true`: straightened crop, a JPEG as data URL")
    latin: str | None = Field(
        default=None, description="text in Latin letters, such as BJ-A88731; null if its own signs are Latin"
    )


class Picture(Body):
    """The result for one picture: its plates, or its error."""

    file: str
    width: int | None = None
    height: int | None = None
    milliseconds: float | None = Field(default=None, description="processing time, without the upload")
    stages: dict[str, float] = Field(default_factory=dict, description="milliseconds by stage")
    plates: list[Plate] = []
    error: Fault | None = None


class Pictures(Body):
    """The pictures of a request, in order."""

    pictures: list[Picture]


class Address(Body):
    """The address of a picture to fetch."""

    url: str = Field(max_length=LONGEST)
    crops: bool = False
    vehicles: bool = False


class Correction(Body):
    """The true text of a plate; empty withdraws an earlier correction."""

    plate: str = Field(max_length=16)


class Entry(Body):
    """An entry of a watch list. Of an entry that exists, limits that you leave out stay; null removes one."""

    plate: str = Field(min_length=1, max_length=16)
    label: str = Field(default="", max_length=200)
    valid_from: str | None = Field(default=None, max_length=10, description="first day, such as 2026-11-30")
    valid_until: str | None = Field(default=None, max_length=10, description="last day")
    hours: str | None = Field(default=None, max_length=11, description="such as 07:00-19:00, or 22:00-06:00")
    cameras: list[Annotated[str, Field(max_length=64, pattern=r"^\S+$")]] | None = Field(
        default=None, max_length=100, description="ids; null: all"
    )


class StoredEntry(Entry):
    """An entry as it is stored now."""

    warning: str = Field(default="", description="names cameras that are unknown")


class NearEntry(Entry):
    """An entry that a text may be a misreading of."""

    distance: int = Field(description="edits between the two, 0 to 2")
    probability: Probability = Field(
        description="what a car's frames must give the entry's text at least; 0: it matches any car with the text"
    )


class Near(Body):
    """The entries that may match a car with this text, nearest first."""

    text: str
    entries: list[NearEntry]


class Wellness(Body):
    """Whether plates are being read."""

    state: Literal["serving", "failing"]


FAILURES: dict[int | str, dict[str, Any]] = {
    "default": {"model": Failure, "description": "the error; docs/reference/errors.md explains the codes"}
}
"""The answers of every route besides its own."""
BINARY: Json = {"type": "string", "format": "binary"}


def form(required: str = "", **fields: Json) -> Json:
    """The schemas of a form's fields -> that of the form."""
    return {"type": "object", "properties": fields, "required": [required] if required else []}


def takes(kinds: Mapping[str, Json]) -> dict[str, Any]:
    """Content types and their schemas -> the body of a route that receives it by itself."""
    content = {kind: {"schema": schema} for kind, schema in kinds.items()}
    return {"requestBody": {"required": True, "content": content}}


def gives(kind: str) -> dict[int | str, dict[str, Any]]:
    """The content type of an answer that is no JSON -> that answer."""
    return {200: {"content": {kind: {"schema": BINARY}}}}
