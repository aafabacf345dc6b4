"""The HTTP API for the cameras that are watched: their status, and their newest pictures."""

import asyncio
from dataclasses import asdict
from typing import Any

from fastapi import APIRouter, Response

from plate_nets.common.error_codes import NOT_FOUND
from plate_nets.web import bodies
from plate_nets.web.faults import Refused
from plate_nets.web.parts import TheCameras

router = APIRouter(prefix="/api/v1/cameras", tags=["cameras"])


@router.get("")
async def status_of_cameras(room: TheCameras) -> dict[str, Any]:
    """The status of each camera."""
    return {"cameras": [asdict(each) for each in room.status()]}


@router.get("/{camera}/frame.jpg", response_class=Response, responses=bodies.gives("image/jpeg"))
async def newest_frame(room: TheCameras, camera: str) -> Response:
    """The newest analysed frame of a camera."""
    encoded = await asyncio.to_thread(room.picture, camera)
    if encoded is None:
        raise Refused(NOT_FOUND, "camera: no picture available")
    return Response(encoded, media_type="image/jpeg")
