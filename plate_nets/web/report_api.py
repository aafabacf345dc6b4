"""`/in/...`: posts of cameras that read plates by themselves become events, compared with our own reading."""

import asyncio
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from starlette.datastructures import FormData

from plate_nets.common.errors import ServerUnavailable, SinkError
from plate_nets.web import bodies, dahua, hikvision
from plate_nets.web.api import Desk, TheDesk
from plate_nets.web.inbox import Inbox
from plate_nets.web.parts import TheInbox, TheUploads
from plate_nets.web.reports import Report, event_of, own_plate
from plate_nets.web.uploads import Upload

_MAX_JSON = 32 << 20
"""Bytes of a post of Dahua's: three pictures in base64."""
_XML = ("application/xml", "text/xml")

CameraId = Annotated[
    str,
    Query(pattern=r"^[\w-][\w.-]{0,63}$", description="its id in events; by default the maker's name"),
]

_JSON = bodies.takes({"application/json": {"type": "object"}})

router = APIRouter(tags=["cameras that read plates"])


@router.post(
    "/in/hikvision",
    openapi_extra=bodies.takes(
        {
            "multipart/form-data": {"type": "object", "additionalProperties": bodies.BINARY},
            "application/xml": {"type": "string"},
        }
    ),
)
async def hikvision_alert(
    request: Request, desk: TheDesk, uploads: TheUploads, inbox: TheInbox, camera: CameraId = hikvision.SOURCE
) -> dict[str, Any]:
    """Take an alert of a Hikvision camera; of heartbeats and other alerts nothing is kept."""
    if request.headers.get("content-type", "").lower().startswith(_XML):
        report = hikvision.report_of(await uploads.text(request))
    else:
        async with uploads.form(request) as form:
            report = await _alert_of(form, desk)
    return {"id": await _keep(request, desk, inbox, camera, report) if report else None}


@router.post("/in/dahua", openapi_extra=_JSON)
@router.post("/NotificationInfo/TollgateInfo", openapi_extra=_JSON)
async def dahua_post(
    request: Request, desk: TheDesk, uploads: TheUploads, inbox: TheInbox, camera: CameraId = dahua.SOURCE
) -> dict[str, Any]:
    """Take a post of a Dahua camera, which repeats it until it gets `"Result": true`."""
    body = await uploads.text(request, _MAX_JSON)
    report = await asyncio.to_thread(dahua.report_of, body)
    return {"Result": True, "id": await _keep(request, desk, inbox, camera, report)}


@router.post("/NotificationInfo/KeepAlive")
async def dahua_heartbeat(_: TheInbox) -> dict[str, bool]:
    """Answer the heartbeat of a Dahua camera."""
    return {"Result": True}


async def _alert_of(form: FormData, desk: Desk) -> Report | None:
    """The parts of an alert -> its report, with the largest picture, which shows the whole frame."""
    alert, picture = b"", b""
    for name, value in form.multi_items():
        if isinstance(value, str):
            alert = alert or value.encode()
            continue
        content = await desk.content(value)
        if name.endswith(".xml") or (value.content_type or "").startswith(_XML):
            alert = content
        else:
            picture = max(picture, content, key=len)
    return hikvision.report_of(alert, picture)


async def _keep(request: Request, desk: Desk, inbox: Inbox, camera: str, report: Report) -> str | None:
    """Read the picture of a report, if it has one, and keep the event -> its id; None if there is no text."""
    sent = [Upload("picture", report.picture)] if report.picture else []
    readable = [each for each in await desk.read(request, sent) if each.error is None]
    own = own_plate(report, readable[0] if readable else None)
    event = event_of(report, camera, own, desk.reader.scheme, inbox.lists)
    if event is None:
        return None
    try:
        await asyncio.to_thread(inbox.keep, event, report.picture if readable else b"")
    except SinkError as error:
        raise ServerUnavailable(str(error)) from error
    return event.id
