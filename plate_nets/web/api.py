"""The HTTP API for pictures: `POST /api/v1/plates`, and the formats of other servers' clients."""

import asyncio
import time
from base64 import b64decode
from collections.abc import Sequence

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from plate_nets.common.errors import InputError, InputTooLarge
from plate_nets.recognition.local import LocalReader
from plate_nets.recognition.reader import check_sure
from plate_nets.web import bodies, codeproject, plate_recognizer
from plate_nets.web.access import Access
from plate_nets.web.faults import Refused, row_of
from plate_nets.web.fetch import PictureFetcher
from plate_nets.web.metrics import WebMetrics
from plate_nets.web.reading import PictureReader, Regions
from plate_nets.web.uploads import Upload, Uploads, files_of

_TRUE = ("1", "true", "yes")
_SLICE = 1 << 20
"""Characters of base64 that are decoded at once, a multiple of 4."""
_RAW = ("application/octet-stream", "image/")


class PictureApi:
    """The endpoints that read pictures.

    Args:
        access: the rate limits and the limits of a request.
        reader: reads the pictures.
        fetcher: fetches pictures from addresses.
        metrics: counts the pictures.
        uploads: receives the bodies.
    """

    def __init__(
        self, access: Access, reader: PictureReader, fetcher: PictureFetcher, metrics: WebMetrics, uploads: Uploads
    ) -> None:
        self._access = access
        self._uploads = uploads
        self._settings = access.settings
        self._reader = reader
        self._fetcher = fetcher
        self._metrics = metrics
        self._device = "CPU" if isinstance(reader.reader, LocalReader) else "server"

    def routes(self) -> list[Route]:
        """The routes of these endpoints."""
        return [
            Route("/api/v1/plates", self.plates, methods=["POST"]),
            *(Route(path, self.plate_reader, methods=["POST"]) for path in plate_recognizer.PATHS),
            *(Route(path, self.alpr, methods=["POST"]) for path in codeproject.PATHS),
            Route(codeproject.LIST, self.models, methods=["GET", "POST"]),
            Route(codeproject.CUSTOM, self.custom, methods=["POST"]),
            *(Route(path, self.status, methods=["GET"]) for path in codeproject.STATUS),
        ]

    async def plates(self, request: Request) -> Response:
        """Read pictures sent as files, as the body itself, or as an address.

        A single picture that fails answers with its error's status; with several, each has its own result.
        """
        crops, vehicles = (request.query_params.get(name, "").lower() in _TRUE for name in ("crops", "vehicles"))
        sure = sure_of(request)
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind == "application/json":
            address = await self._uploads.document(request, bodies.Address)
            uploads = [await self._fetcher.fetch(address.url)]
            options = crops or address.crops, sure, vehicles or address.vehicles
            return picture_response(await self._read(request, uploads, *options))
        if kind.startswith(_RAW):
            async with self._uploads.picture(request) as upload:
                return picture_response(await self._read(request, [upload], crops, sure, vehicles))
        async with self._uploads.form(request) as form:
            uploads = await files_of(form, self._settings)
            if not uploads:
                raise InputError("body: expected one picture or more, got none")
            return picture_response(await self._read(request, uploads, crops, sure, vehicles))

    async def plate_reader(self, request: Request) -> Response:
        """Read one picture, `upload` or `upload_url`, in the format of Plate Recognizer's Snapshot API."""
        async with self._uploads.form(request) as form:
            camera, timestamp, config = (_text(form, name) for name in ("camera_id", "timestamp", "config"))
            codes = [code for code in form.getlist("regions") if isinstance(code, str)]
            regions = plate_recognizer.regions_of(codes, config, self._reader.scheme)
            picture = await self._read_one(request, await self._uploaded(form), True, regions)
        return JSONResponse(plate_recognizer.answer(picture, camera, timestamp), 201)

    async def alpr(self, request: Request) -> Response:
        """Read one picture in the format of CodeProject.AI Server."""
        return await self._codeproject(request, codeproject.ALPR)

    async def custom(self, request: Request) -> Response:
        """Read one picture with a custom model of CodeProject.AI Server."""
        return await self._codeproject(request, codeproject.model_of(request.path_params["model"]))

    async def models(self, request: Request) -> Response:
        """List the custom models as CodeProject.AI Server does."""
        return JSONResponse(codeproject.models(self._device))

    async def status(self, request: Request) -> Response:
        """Tell the server's status as CodeProject.AI Server does."""
        return JSONResponse(codeproject.status(request.path_params["name"]))

    async def _codeproject(self, request: Request, model: str) -> Response:
        started = time.perf_counter()
        async with self._uploads.form(request) as form:
            least = codeproject.least_of(_text(form, "min_confidence"))
            picture = await self._read_one(request, await self._uploaded(form))
        return JSONResponse(codeproject.answer(picture, model, least, self._device, started))

    async def _read_one(
        self, request: Request, upload: Upload, vehicles: bool = False, regions: Regions | None = None
    ) -> bodies.Picture:
        (picture,) = await self._read(request, [upload], vehicles=vehicles, regions=regions)
        if picture.error is not None:
            raise Refused(row_of(picture.error.code), picture.error.message)
        return picture

    async def _read(
        self,
        request: Request,
        uploads: Sequence[Upload],
        crops: bool = False,
        sure: float | None = None,
        vehicles: bool = False,
        regions: Regions | None = None,
    ) -> list[bodies.Picture]:
        self._access.rate.spend(request.state.caller.name, len(uploads))
        pictures = await self._reader.read(uploads, crops, sure, vehicles, regions)
        for picture in pictures:
            self._metrics.read(picture)
        return pictures

    async def _uploaded(self, form: FormData) -> Upload:
        files = await files_of(form, self._settings)
        if files:
            return files[0]
        encoded, address = _text(form, "upload", None), _text(form, "upload_url")
        if encoded:
            try:
                return Upload("upload", await asyncio.to_thread(_from_base64, encoded))
            except ValueError as error:  # invalid base64, or not ASCII
                raise InputError("upload: expected a file, or one in base64") from error
        if address:
            return await self._fetcher.fetch(address)
        raise InputError("body: expected a picture as `upload` or its address as `upload_url`, got neither")


def sure_of(request: Request) -> float | None:
    """The minimum probability of a text, from ``?sure=``; None without it.

    Raises:
        InputError: not between 0 and 1.
    """
    sure = request.query_params.get("sure")
    return None if sure is None else check_sure(sure)


def picture_response(pictures: Sequence[bodies.Picture]) -> Response:
    """Build the answer for pictures that were read; a single failed one gives only its error."""
    if len(pictures) == 1 and pictures[0].error is not None:
        fault = pictures[0].error
        return JSONResponse(bodies.Failure(error=fault).model_dump(), int(row_of(fault.code).http))
    return Response(bodies.Pictures(pictures=list(pictures)).model_dump_json(), media_type="application/json")


def _text(form: FormData, name: str, longest: int | None = bodies.LONGEST) -> str | None:
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
