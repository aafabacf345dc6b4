"""The HTML pages: the main page with its sections, the login, and the API documentation."""

import json
from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

import jinja2
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from plate_nets.recognition.health import known_picture
from plate_nets.types import PLATE_COLUMNS
from plate_nets.web.access import SESSION_COOKIE, SESSION_SECONDS, Access, Caller
from plate_nets.web.faults import Refused, answer_of
from plate_nets.web.openapi import document
from plate_nets.web.texts import LANGUAGES, load_texts, preferred
from plate_nets.web.uploads import Uploads

_HERE = Path(__file__).parent
_LANGUAGE_COOKIE = "plates_language"
_YEAR = 365 * 86_400
HEALTH = "health"
"""A section whose name is also the address of the health check."""


class Pages:
    """The endpoints that answer with HTML.

    Args:
        access: logins, and the limits shown on the page.
        uploads: receives the login.
        sections: the sections of the page.
        with_cameras: whether cameras are watched here.
        lists: names of the watch lists.
    """

    def __init__(
        self,
        access: Access,
        uploads: Uploads,
        sections: tuple[str, ...],
        *,
        with_cameras: bool,
        lists: Sequence[str] = (),
    ) -> None:
        self._access = access
        self._uploads = uploads
        self._with_cameras = with_cameras
        self._lists = lists
        self._sections = sections
        self._templates = jinja2.Environment(
            loader=jinja2.FileSystemLoader(_HERE / "templates"),
            autoescape=True,
            undefined=jinja2.StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )

    def routes(self) -> list[Route | Mount]:
        """The routes of these endpoints."""
        sections = [Route(f"/{name}", _to_section) for name in self._sections if name != HEALTH]
        return [
            Route("/", self.page),
            *sections,
            Route("/login", self.login, methods=["GET", "POST"]),
            Route("/logout", self.log_out, methods=["POST"]),
            Route("/sample.jpg", self.sample),
            Route("/api/docs", self.docs),
            Route("/api/openapi.json", self.openapi),
            Mount("/static", _Static(directory=_HERE / "static")),
        ]

    async def page(self, request: Request) -> Response:
        """The page. `?lang=ru` sets its language, which is remembered."""
        chosen = request.query_params.get("lang")
        if chosen in LANGUAGES:
            response: Response = RedirectResponse("/", 303)
            response.set_cookie(_LANGUAGE_COOKIE, chosen, max_age=_YEAR, httponly=True, samesite="strict")
            return response
        settings = self._access.settings
        facts = {
            "pageToken": self._access.page_token(request.state.caller),
            "sections": self._sections,
            "withCameras": self._with_cameras,
            "lists": self._lists,
            "maxBytes": settings.limits.max_bytes,
            "maxVideo": settings.max_video,
            "maxFiles": settings.max_files,
            "csvColumns": PLATE_COLUMNS,
        }
        return self._render(request, "page.html", facts=facts, limits=settings.limits, sections=self._sections)

    async def login(self, request: Request) -> Response:
        """Show the login form, or turn its token into a browser session."""
        nobody = Caller("")
        wrong = False
        if request.method == "POST":
            async with self._uploads.login(request) as form:
                token, page = (str(form.get(name, "")) for name in ("token", "page"))
            try:
                self._access.check_site(request, nobody, page)
                session = self._access.log_in(request, token)
            except Refused as error:
                if int(answer_of(error).http) != 401:
                    raise
                wrong = True
            else:
                response: Response = RedirectResponse("/", 303)
                response.set_cookie(
                    SESSION_COOKIE,
                    session,
                    max_age=SESSION_SECONDS,
                    httponly=True,
                    samesite="strict",
                    secure=request.url.scheme == "https",
                )
                return response
        return self._render(
            request, "login.html", status=401 if wrong else 200, page_token=self._access.page_token(nobody), wrong=wrong
        )

    async def log_out(self, request: Request) -> Response:
        """End the session."""
        response = Response(status_code=204)
        response.delete_cookie(SESSION_COOKIE)
        return response

    async def sample(self, request: Request) -> Response:
        """The project's own rendered picture, for trying recognition without a photo."""
        return Response(known_picture().image, media_type="image/jpeg")

    async def docs(self, request: Request) -> Response:
        """The OpenAPI document as a page."""
        return self._render(request, "docs.html", api=document(_version()), show=_show)

    async def openapi(self, request: Request) -> Response:
        """The OpenAPI document."""
        return JSONResponse(document(_version()))

    def _render(self, request: Request, name: str, status: int = 200, **values: Any) -> Response:
        language = self._language(request)
        html = self._templates.get_template(name).render(
            values
            | {
                "language": language,
                "other": next(each for each in LANGUAGES if each != language),
                "t": load_texts(language),
                "with_tokens": bool(self._access.settings.tokens),
            }
        )
        return Response(html, status, media_type="text/html")

    def _language(self, request: Request) -> str:
        chosen = request.cookies.get(_LANGUAGE_COOKIE)
        return chosen if chosen in LANGUAGES else preferred(request.headers.get("accept-language", ""))


async def _to_section(request: Request) -> Response:
    """Redirect the address of a section, as people type it, to the page."""
    return RedirectResponse(f"/#{request.scope['path'].strip('/')}", 303)


class _Static(StaticFiles):
    """The package's static files; browsers revalidate them, because their names do not change with the version."""

    def file_response(self, *args: Any, **kwargs: Any) -> Response:
        response = super().file_response(*args, **kwargs)
        response.headers["Cache-Control"] = "no-cache"
        return response


def _version() -> str:
    return metadata.version("plate-nets")


def _show(schema: Mapping[str, Any]) -> str:
    """The JSON Schema of a field -> its type in a few words."""
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    if "anyOf" in schema:
        return " | ".join(_show(each) for each in schema["anyOf"])
    if schema.get("type") == "array":
        return f"[{_show(schema.get('items', {}))}]"
    if "enum" in schema:
        return " | ".join(map(json.dumps, schema["enum"]))
    if schema.get("type") == "object" and "additionalProperties" in schema:
        return f"{{name: {_show(schema['additionalProperties'])}}}"
    return str(schema.get("type", "any"))
