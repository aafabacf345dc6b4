"""The HTML pages: the main page with its sections, the login, and the API documentation."""

from pathlib import Path
from typing import Annotated, Any

import jinja2
from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from fastapi.staticfiles import StaticFiles

from plate_nets.recognition.health import known_picture
from plate_nets.types import PLATE_COLUMNS
from plate_nets.web.access import SESSION_COOKIE, SESSION_SECONDS, Access, Caller
from plate_nets.web.faults import Refused, answer_of
from plate_nets.web.parts import CAMERAS, EVENTS, LISTS, Sources, TheAccess, TheUploads, part
from plate_nets.web.texts import LANGUAGES, load_texts, preferred

_HERE = Path(__file__).parent
_LANGUAGE_COOKIE = "plates_language"
_YEAR = 365 * 86_400
HEALTH = "health"
"""A section whose name is also the address of the health check."""


_NOBODY = Caller("")
"""The sender of a login."""

router = APIRouter(include_in_schema=False)


class Pages:
    """Renders the pages."""

    def __init__(self, access: Access, sources: Sources) -> None:
        self._access = access
        self._lists = [each.name for each in sources.lists.watch_lists()] if sources.lists else []
        sections = {
            "try": True,
            "live": sources.store,
            "events": sources.store,
            "lists": sources.lists,
            "cameras": sources.cameras,
            HEALTH: True,
        }
        self._sections = [name for name, source in sections.items() if source is not None]
        self._templates = jinja2.Environment(
            loader=jinja2.FileSystemLoader(_HERE / "templates"),
            autoescape=True,
            undefined=jinja2.StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )

    def main(self, request: Request) -> Response:
        settings = self._access.settings
        facts = {
            "pageToken": self._access.page_token(request.state.caller),
            "sections": self._sections,
            "lists": self._lists,
            "maxBytes": settings.limits.max_bytes,
            "maxVideo": settings.max_video,
            "maxFiles": settings.max_files,
            "csvColumns": PLATE_COLUMNS,
        }
        return self._render(request, "page.html", facts=facts, limits=settings.limits, sections=self._sections)

    def login(self, request: Request, *, wrong: bool = False) -> Response:
        """The login. ``wrong``: after a token that is not accepted."""
        token = self._access.page_token(_NOBODY)
        return self._render(request, "login.html", 401 if wrong else 200, page_token=token, wrong=wrong)

    def docs(self, request: Request) -> Response:
        return self._render(request, "docs.html", page_token=self._access.page_token(request.state.caller))

    def _render(self, request: Request, name: str, status: int = 200, **values: Any) -> Response:
        language = _language(request)
        html = self._templates.get_template(name).render(
            values
            | {
                "language": language,
                "other": next(each for each in LANGUAGES if each != language),
                "t": load_texts(language),
                "with_tokens": bool(self._access.settings.tokens),
            }
        )
        return HTMLResponse(html, status)


ThePages = Annotated[Pages, part(Pages)]


@router.get("/")
async def page(request: Request, pages: ThePages, lang: str = "") -> Response:
    """The page. `?lang=ru` sets its language, which is remembered."""
    if lang not in LANGUAGES:
        return pages.main(request)
    response = RedirectResponse("/", 303)
    response.set_cookie(_LANGUAGE_COOKIE, lang, max_age=_YEAR, httponly=True, samesite="strict")
    return response


@router.get("/try")
@router.get("/live", dependencies=[EVENTS])
@router.get("/events", dependencies=[EVENTS])
@router.get("/lists", dependencies=[LISTS])
@router.get("/cameras", dependencies=[CAMERAS])
async def section(request: Request) -> Response:
    """Redirect the address of a section, as people type it, to the page."""
    return RedirectResponse(f"/#{request.scope['path'].strip('/')}", 303)


@router.get("/login")
async def show_login(request: Request, pages: ThePages) -> Response:
    """The login."""
    return pages.login(request)


@router.post("/login")
async def log_in(request: Request, pages: ThePages, access: TheAccess, uploads: TheUploads) -> Response:
    """Turn a token into a browser session."""
    async with uploads.login(request) as form:
        token, page = (str(form.get(name, "")) for name in ("token", "page"))
    try:
        access.check_site(request, _NOBODY, page)
        session = access.log_in(request, token)
    except Refused as error:
        if int(answer_of(error).http) != 401:
            raise
        return pages.login(request, wrong=True)
    response = RedirectResponse("/", 303)
    response.set_cookie(
        SESSION_COOKIE,
        session,
        max_age=SESSION_SECONDS,
        httponly=True,
        samesite="strict",
        secure=request.url.scheme == "https",
    )
    return response


@router.post("/logout", status_code=204, response_class=Response)
async def log_out(response: Response) -> None:
    """End the session."""
    response.delete_cookie(SESSION_COOKIE)


@router.get("/sample.jpg")
async def sample() -> Response:
    """The project's own rendered picture, for trying recognition without a photo."""
    return Response(known_picture().image, media_type="image/jpeg")


@router.get("/api/docs")
async def docs(request: Request, pages: ThePages) -> Response:
    """The OpenAPI document as a page."""
    return pages.docs(request)


def _language(request: Request) -> str:
    chosen = request.cookies.get(_LANGUAGE_COOKIE)
    return chosen if chosen in LANGUAGES else preferred(request.headers.get("accept-language", ""))


class Static(StaticFiles):
    """Static files; browsers revalidate them, because their names do not change with the version."""

    def file_response(self, *args: Any, **kwargs: Any) -> Response:
        response = super().file_response(*args, **kwargs)
        response.headers["Cache-Control"] = "no-cache"
        return response


STATIC = {
    "/static/swagger": Static(packages=[("fastapi_offline", "static")]),
    "/static": Static(directory=_HERE / "static"),
}
"""Swagger UI for the page of the API, and the package's own files."""
