"""The requests of CodeProject.AI Server's clients: plates of a picture, the list of models, its status.

Field names follow https://codeproject.github.io/codeproject.ai/api/api_reference.html , and the outputs in
modulesettings.json of https://github.com/codeproject/CodeProject.AI-ALPR .
"""

import re
import time
from datetime import UTC, datetime
from email.utils import format_datetime
from importlib import metadata
from typing import Annotated, Any

from fastapi import APIRouter, Path, Request
from fastapi.responses import JSONResponse

from plate_nets.common.error_codes import NOT_FOUND
from plate_nets.common.errors import InputError
from plate_nets.recognition.local import LocalReader
from plate_nets.web import bodies
from plate_nets.web.api import Desk, TheDesk, text_of
from plate_nets.web.faults import Refused, answer_of, fault_of
from plate_nets.web.parts import TheUploads

PORT = 32168
"""Where its clients look for it."""
ALPR = "alpr"
FINDER = "license-plate"
"""The custom model that finds plates and reads none, as Blue Iris' users have it."""
MODELS = (ALPR, FINDER)
STATUSES = ("ping", "version", "updateavailable")
_OWN = ("/v1/vision/", "/v1/image/", "/v1/status/", "/v1/server/")
_FOUND = "DayPlate"
"""What `license-plate` calls a plate, the name that Blue Iris' users look for; it has another one for the night."""

_FORM = bodies.takes(
    {"multipart/form-data": bodies.form("upload", upload=bodies.BINARY, min_confidence={"type": "number"})}
)

Answer = dict[str, Any]
router = APIRouter(
    tags=["CodeProject.AI Server"], responses={"default": {"description": "the error, {success, error, code}"}}
)


@router.post("/v1/vision/alpr", openapi_extra=_FORM)
@router.post("/v1/image/alpr", openapi_extra=_FORM)
async def alpr(request: Request, desk: TheDesk, uploads: TheUploads) -> JSONResponse:
    """Read a picture."""
    return await custom_model(request, desk, uploads, ALPR)


@router.get("/v1/vision/custom/list")
@router.post("/v1/vision/custom/list")
async def custom_models(desk: TheDesk) -> JSONResponse:
    """List the custom models."""
    return JSONResponse({**_common("list-custom", _device(desk)), "models": MODELS, "analysisRoundTripMs": 0})


@router.post("/v1/vision/custom/{model}", openapi_extra=_FORM)
async def custom_model(
    request: Request,
    desk: TheDesk,
    uploads: TheUploads,
    model: Annotated[str, Path(description=f"{ALPR}, or {FINDER} for the boxes alone")],
) -> JSONResponse:
    """Read a picture with a custom model."""
    name, started = model.lower().removesuffix(".pt"), time.perf_counter()
    if name not in MODELS:
        raise Refused(NOT_FOUND, f"model: expected one of {', '.join(MODELS)}")
    async with uploads.form(request) as form:
        least = least_of(text_of(form, "min_confidence"))
        picture = await desk.read_form(request, form)
    return JSONResponse(answer(picture, name, least, _device(desk), started))


@router.get("/v1/status/{name}")
@router.get("/v1/server/status/{name}")
async def status_of_the_server(
    name: Annotated[str, Path(description=f"one of {', '.join(STATUSES)}")],
) -> JSONResponse:
    """Tell that the server is there, its version, or that there is no update."""
    if name not in STATUSES:
        raise Refused(NOT_FOUND, f"status: expected one of {', '.join(STATUSES)}")
    whole = metadata.version("plate-nets")
    numbers = dict(zip(("major", "minor", "patch"), map(int, re.findall(r"\d+", whole)), strict=False))
    version = {**numbers, "preRelease": "", "securityUpdate": False, "build": 0}
    told = {"success": True, "code": 200, "message": whole, "version": version}
    if name == "updateavailable":
        newest = {"message": "This is the current version", "updateAvailable": False}
        told |= {**newest, "current": version, "latest": version}
    return JSONResponse(told)


def is_own(path: str) -> bool:
    """Whether an error at this path has to be in these clients' format."""
    return path.startswith(_OWN)


def least_of(value: str | None) -> float:
    """The field ``min_confidence`` -> the lowest confidence that the sender wants; 0 without it.

    Raises:
        InputError: not a number between 0 and 1.
    """
    try:
        least = float(value or 0)
    except ValueError:
        least = -1.0
    if not 0 <= least <= 1:
        raise InputError("min_confidence: expected a number between 0 and 1")
    return least


def answer(
    picture: bodies.Picture, model: str = ALPR, least: float = 0.0, device: str = "", started: float | None = None
) -> Answer:
    """A picture that was read -> the answer.

    ``model``: "alpr" leaves out plates without a reading, "license-plate" gives the boxes of all of them. ``least``:
    the lowest confidence of a prediction. ``device``: where it was read. ``started``: when the request came, on
    `time.perf_counter`.
    """
    found = [_prediction(plate, model) for plate in picture.plates if plate.reading or model == FINDER]
    predictions = [each for each in found if each["confidence"] >= least]
    labels = ", ".join(each["label"] for each in predictions)
    spent = round(picture.milliseconds or 0)
    return {
        **_common("alpr" if model == ALPR else "custom", device),
        "message": f"Found {labels}" if predictions else "No plates found",
        "predictions": predictions,
        "count": len(predictions),
        "inferenceMs": round(sum(picture.stages.values())),
        "processMs": spent,
        "analysisRoundTripMs": spent if started is None else round((time.perf_counter() - started) * 1000),
    }


def error_response(error: Exception) -> JSONResponse:
    status = int(answer_of(error).http)
    return JSONResponse({"success": False, "error": fault_of(error).message, "code": status}, status)


def _prediction(plate: bodies.Plate, model: str) -> Answer:
    box = dict(zip(("x_min", "y_min", "x_max", "y_max"), map(round, plate.box), strict=True))
    if model == FINDER:
        return {"confidence": plate.score, "label": _FOUND, **box}
    return {"confidence": plate.confidence, "label": f"Plate: {plate.reading}", "plate": plate.reading, **box}


def _device(desk: Desk) -> str:
    return "CPU" if isinstance(desk.reader.reader, LocalReader) else "server"


def _common(command: str, device: str) -> Answer:
    return {
        "success": True,
        "code": 200,
        "command": command,
        "moduleId": "ALPR",
        "moduleName": "License Plate Reader",
        "inferenceDevice": device,
        "executionProvider": device,  # its name before 2.6
        "canUseGPU": False,
        "processedBy": "localhost",  # of the servers of its mesh
        "timestampUTC": format_datetime(datetime.now(UTC), usegmt=True),
    }
