"""`POST /api/v1/plates`, and what reads the pictures of every request."""

import asyncio
from base64 import b64decode
from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import JSONResponse
from starlette.datastructures import FormData, UploadFile

from plate_nets.common.errors import InputError, InputTooLarge
from plate_nets.web import bodies
from plate_nets.web.access import Access
from plate_nets.web.faults import Refused, row_of
from plate_nets.web.fetch import PictureFetcher
from plate_nets.web.metrics import WebMetrics
from plate_nets.web.parts import Flag, Sure, TheUploads, part
from plate_nets.web.reading import PictureReader
from plate_nets.web.uploads import Upload, plain_name

_SLICE = 1 << 20
"""Characters of base64 that are decoded at once, a multiple of 4."""
_RAW = ("application/octet-stream", "image/")

router = APIRouter(tags=["pictures"])


class Desk:
    """Reads the pictures of requests within the rates of their senders, and counts them."""

    def __init__(self, access: Access, reader: PictureReader, fetcher: PictureFetcher, metrics: WebMetrics) -> None:
        self._access = access
        self._metrics = metrics
        self.reader = reader
        self.fetcher = fetcher

    async def read(self, request: Request, uploads: Sequence[Upload], **options: Any) -> list[bodies.Picture]:
        """Read pictures as `PictureReader.read` does, with its options. A request without any counts as one."""
        self._access.rate.spend(request.state.caller.name, max(1, len(uploads)))
        pictures = await self.reader.read(uploads, **options)
        for picture in pictures:
            self._metrics.read(picture)
        return pictures

    async def read_form(self, request: Request, form: FormData, **options: Any) -> bodies.Picture:
        """Read the only picture of a form, and raise its error."""
        (picture,) = await self.read(request, [await self._uploaded(form)], **options)
        if picture.error is not None:
            raise Refused(row_of(picture.error.code), picture.error.message)
        return picture

    async def files(self, form: FormData) -> list[Upload]:
        """The files of a form, in order. Raises as `content`."""
        files = (value for _, value in form.multi_items() if isinstance(value, UploadFile))
        return [Upload(plain_name(each.filename), await self.content(each)) for each in files]

    async def content(self, file: UploadFile) -> bytes:
        """The bytes of a file; raises InputTooLarge for more than a picture may have before they are in memory."""
        max_bytes = self._access.settings.limits.max_bytes
        if file.size is not None and file.size > max_bytes:
            raise InputTooLarge(f"{plain_name(file.filename)}: expected at most {max_bytes} bytes, got {file.size}")
        return await file.read()

    async def _uploaded(self, form: FormData) -> Upload:
        files = await self.files(form)
        if files:
            return files[0]
        encoded, address = text_of(form, "upload", None), text_of(form, "upload_url")
        if encoded:
            try:
                return Upload("upload", await asyncio.to_thread(_from_base64, encoded))
            except ValueError as error:  # invalid base64, or not ASCII
                raise InputError("upload: expected a file, or one in base64") from error
        if address:
            return await self.fetcher.fetch(address)
        raise InputError("body: expected a picture as `upload` or its address as `upload_url`, got neither")


TheDesk = Annotated[Desk, part(Desk)]


@router.post(
    "/api/v1/plates",
    response_model=bodies.Pictures,
    openapi_extra=bodies.takes(
        {
            "multipart/form-data": bodies.form("file", file={"type": "array", "items": bodies.BINARY}),
            "image/*": bodies.BINARY,
            "application/json": bodies.Address.model_json_schema(),
        }
    ),
)
async def read_pictures(
    request: Request,
    desk: TheDesk,
    uploads: TheUploads,
    sure: Sure = None,
    crops: Annotated[Flag, Query(description="also return a straightened crop of each plate")] = False,
    vehicles: Annotated[Flag, Query(description="also find the vehicle that each plate belongs to")] = False,
) -> Response:
    """Read pictures that are sent as files, as the body itself, or as an address.

    A single picture that fails answers with its error's status; with several, each has its own result.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == "application/json":
        address = await uploads.document(request, bodies.Address)
        crops, vehicles = crops or address.crops, vehicles or address.vehicles
        pictures = [await desk.fetcher.fetch(address.url)]
        return _answer(await desk.read(request, pictures, crops=crops, sure=sure, vehicles=vehicles))
    if kind.startswith(_RAW):
        async with uploads.picture(request) as upload:
            return _answer(await desk.read(request, [upload], crops=crops, sure=sure, vehicles=vehicles))
    async with uploads.form(request) as form:
        pictures = await desk.files(form)
        if not pictures:
            raise InputError("body: expected one picture or more, got none")
        return _answer(await desk.read(request, pictures, crops=crops, sure=sure, vehicles=vehicles))


def _answer(pictures: Sequence[bodies.Picture]) -> Response:
    """Build the answer for pictures that were read; a single failed one gives only its error."""
    if len(pictures) == 1 and pictures[0].error is not None:
        fault = pictures[0].error
        return JSONResponse(bodies.Failure(error=fault).model_dump(), int(row_of(fault.code).http))
    return Response(bodies.Pictures(pictures=list(pictures)).model_dump_json(), media_type="application/json")


def text_of(form: FormData, name: str, longest: int | None = bodies.LONGEST) -> str | None:
    """A field of a form that is a text; raises InputTooLarge for more than ``longest`` characters."""
    value = form.get(name)
    if not isinstance(value, str):
        return None
    if longest is not None and len(value) > longest:
        raise InputTooLarge(f"{name}: expected at most {longest} characters, got {len(value)}")
    return value


def _from_base64(encoded: str) -> bytes:
    """Base64 -> what it encodes, in slices, because Python runs nothing else while it decodes one."""
    if encoded.find("=", 0, -2) >= 0:
        raise ValueError("padding before the end")
    return b"".join(b64decode(encoded[at : at + _SLICE], validate=True) for at in range(0, len(encoded), _SLICE))
