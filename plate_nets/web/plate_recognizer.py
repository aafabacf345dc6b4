"""`POST /v1/plate-reader/` in the format of Plate Recognizer's Snapshot API.

Field names follow https://guides.platerecognizer.com/docs/snapshot/api-reference/ . Texts are in lower case there.
"""

import json
from collections.abc import Iterable
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse

from plate_nets.countries import PlateScheme
from plate_nets.countries.designs import UNKNOWN
from plate_nets.web import bodies
from plate_nets.web.api import TheDesk, text_of
from plate_nets.web.faults import answer_of, fault_of
from plate_nets.web.parts import TheUploads
from plate_nets.web.reading import Regions

_GUESSED = 0.1
"""Score of a vehicle's box if none was found; its clients drop vehicles of score 0."""
_TYPES = {"car": "Sedan", "truck": "Big Truck", "bus": "Bus", "motorcycle": "Motorcycle"}
"""Our types -> the nearest ones of that API."""

_TEXT = {"type": "string"}
_FORM = bodies.takes(
    {
        "multipart/form-data": bodies.form(
            upload={**bodies.BINARY, "description": "the picture, or its base64 as text"},
            upload_url=_TEXT,
            regions={"type": "array", "items": _TEXT},
            config=_TEXT,
            camera_id=_TEXT,
            timestamp=_TEXT,
        )
    }
)
router = APIRouter(
    tags=["Plate Recognizer"], responses={"default": {"description": "the error, {detail, error, status_code}"}}
)


@router.post("/v1/plate-reader/", status_code=201, openapi_extra=_FORM)
@router.post("/v1/plate-reader", status_code=201, openapi_extra=_FORM)
async def snapshot(request: Request, desk: TheDesk, uploads: TheUploads) -> JSONResponse:
    """Read a picture, in the format of Plate Recognizer's Snapshot API."""
    async with uploads.form(request) as form:
        camera, timestamp, config = (text_of(form, name) for name in ("camera_id", "timestamp", "config"))
        codes = [code for code in form.getlist("regions") if isinstance(code, str)]
        regions = regions_of(codes, config, desk.reader.scheme)
        picture = await desk.read_form(request, form, vehicles=True, regions=regions)
    return JSONResponse(answer(picture, camera, timestamp), 201)


def is_own(path: str) -> bool:
    """Whether an error at this path has to be in these clients' format."""
    return path.startswith("/v1/plate-reader")


def regions_of(codes: Iterable[str], config: str | None, scheme: PlateScheme) -> Regions:
    """The sender's `regions` and `config`, and the schemes that are read -> the countries to expect.

    Codes name a country, "de", or a state of it, "us-ny", which stands for its country here. Unknown ones are ignored.
    As in that API, they are a guide, and plates of other countries are read too unless `config` has "region": "strict".
    """
    countries = {code.strip().lower().partition("-")[0] for each in codes for code in each.split(",")}
    schemes = tuple(member for member in scheme.members or (scheme,) if member.country in countries)
    known: object = {}
    with suppress(ValueError, RecursionError):
        known = json.loads(config or "{}")
    return Regions(schemes, isinstance(known, dict) and known.get("region") == "strict")


def answer(picture: bodies.Picture, camera: str | None, timestamp: str | None) -> dict[str, Any]:
    """Build the answer from a picture that was read with the country of its plates, and the sender's own fields.

    A plate without a reading is left out, because that API has no empty `plate`.
    """
    return {
        "processing_time": picture.milliseconds,
        "results": [_result(plate, picture) for plate in picture.plates if plate.reading],
        "filename": picture.file,
        "version": 1,
        "camera_id": camera,
        "timestamp": timestamp or datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z"),
    }


def _result(plate: bodies.Plate, picture: bodies.Picture) -> dict[str, Any]:
    best = {"plate": plate.reading.lower(), "score": plate.confidence}
    others = [{"plate": each.plate.lower(), "score": each.score} for each in plate.candidates]
    return {
        **best,
        "dscore": plate.score,
        "box": _box(*plate.box),
        "region": {"code": _code(plate), "score": plate.country_confidence or 0.0},
        "candidates": [best, *(each for each in others if each["plate"] != best["plate"])],
        "vehicle": _vehicle(plate, picture),
    }


def _code(plate: bodies.Plate) -> str:
    """The country of a plate, "de", or its state, "us-ca"; empty if unknown. Regions with digits have no code there."""
    country = plate.country or UNKNOWN
    if country == UNKNOWN:
        return ""
    return f"{country}-{plate.region}" if plate.region.isalpha() else country


def _vehicle(plate: bodies.Plate, picture: bodies.Picture) -> dict[str, Any]:
    if plate.vehicle is None:
        return {"type": "Unknown", "score": _GUESSED, "box": _guessed(plate, picture)}
    own = plate.vehicle
    return {"type": _TYPES[own.type], "score": own.score, "box": _box(*own.box)}


def _guessed(plate: bodies.Plate, picture: bodies.Picture) -> dict[str, int]:
    """Estimate the box of the car within the picture if no vehicle was found.

    A car is about 3.5 plates (520 mm) wide; its roof is 2.5 above the plate, the road 1 below.
    """
    xmin, ymin, xmax, ymax = plate.box
    unit = xmax - xmin
    assert picture.width is not None and picture.height is not None, "both are known after reading"
    return _box(
        max(0, xmin - 1.25 * unit),
        max(0, ymin - 2.5 * unit),
        min(picture.width, xmax + 1.25 * unit),
        min(picture.height, ymax + unit),
    )


def _box(*sides: float) -> dict[str, int]:
    return dict(zip(("xmin", "ymin", "xmax", "ymax"), map(round, sides), strict=True))


def error_response(error: Exception) -> JSONResponse:
    fault, status = fault_of(error), int(answer_of(error).http)
    return JSONResponse({"detail": fault.message, "error": fault.code, "status_code": status}, status)
