"""The HTTP API for the cameras that are watched: their status, and their newest pictures."""

import asyncio
from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Query, Response

from plate_nets.cameras.asked import ASKED_SECONDS, LONGEST_SECONDS
from plate_nets.common.error_codes import NOT_FOUND
from plate_nets.common.errors import DeadlineExceeded, InputError, ServerUnavailable, SourceError
from plate_nets.web import bodies
from plate_nets.web.faults import Refused
from plate_nets.web.parts import TheCameras

_PATIENCE = 10.0
"""Seconds that a camera may take beyond those that are read."""

router = APIRouter(prefix="/api/v1/cameras", tags=["cameras"])


@router.get("")
async def status_of_cameras(room: TheCameras) -> dict[str, Any]:
    """The status of each camera."""
    return {"cameras": [asdict(each) for each in room.status()]}


@router.post("/{camera}/read")
async def read_camera(
    room: TheCameras,
    camera: str,
    seconds: Annotated[
        float,
        Query(gt=0, le=LONGEST_SECONDS, description="how long to read if no text becomes certain before"),
    ] = ASKED_SECONDS,
) -> dict[str, Any]:
    """Read the next second of a camera, or longer until the texts are certain -> the events of the cars in it."""
    try:
        answer = asyncio.wrap_future(room.read(camera, seconds))
        events = await asyncio.wait_for(asyncio.shield(answer), seconds + _PATIENCE)  # others may wait for it too
    except InputError as error:
        raise Refused(NOT_FOUND, str(error)) from error
    except SourceError as error:
        raise ServerUnavailable(str(error)) from error
    except TimeoutError:
        raise DeadlineExceeded(f"camera {camera}: no picture was read in time; /api/v1/cameras says why") from None
    return {"camera_id": camera, "events": [event.to_dict() for event in events]}


@router.get("/{camera}/frame.jpg", response_class=Response, responses=bodies.gives("image/jpeg"))
async def newest_frame(room: TheCameras, camera: str) -> Response:
    """The newest analysed frame of a camera."""
    encoded = await asyncio.to_thread(room.picture, camera)
    if encoded is None:
        raise Refused(NOT_FOUND, "camera: no picture available")
    return Response(encoded, media_type="image/jpeg")
