"""A browser at the page: how people look at it, what must not happen meanwhile, and the barriers that axe finds."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, Request, ViewportSize

from plate_nets.web.texts import load_texts
from tests.paths import ROOT

PHONE: ViewportSize = {"width": 390, "height": 844}
DESK: ViewportSize = {"width": 1280, "height": 800}
AXE = (Path(__file__).parent / "axe-core" / "axe.min.js").read_text(encoding="utf-8")
SERIOUS = ("serious", "critical")
OUT = ROOT / "out"


@dataclass(frozen=True)
class Look:
    """How a person looks at the page."""

    viewport: ViewportSize
    locale: str

    @property
    def name(self) -> str:
        return f"{'phone' if self.viewport is PHONE else 'desk'}_{self.locale[:2]}"

    def text(self, key: str, **values: object) -> str:
        """The page's text with the key "section.name"."""
        section, _, name = key.partition(".")
        return str(load_texts(self.locale[:2])[section][name]).format(**values)


DESK_EN, PHONE_RU = Look(DESK, "en-GB"), Look(PHONE, "ru-RU")
LOOKS = (DESK_EN, PHONE_RU)
"""Both widths and both languages, in two runs."""
NAMES = tuple(each.name for each in LOOKS)


@contextmanager
def looking(browser: Browser, url: str, look: Look, path: str, timezone_id: str | None = None) -> Iterator[Page]:
    """The page in a browser of its own, without faults, and no wider than the screen at the end."""
    with browser.new_context(
        base_url=url, viewport=look.viewport, locale=look.locale, timezone_id=timezone_id
    ) as context:
        faults = watch(context, url)
        page = opened(context, path)
        yield page
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert faults == []


def watch(context: BrowserContext, url: str) -> list[str]:
    """Everything in this context that must not happen, as it happens."""
    faults: list[str] = []
    host = urlsplit(url).netloc

    def asked(request: Request) -> None:
        if urlsplit(request.url).netloc not in (host, "") and not request.url.startswith(("data:", "blob:")):
            faults.append(f"foreign request: {request.url}")

    context.on("request", asked)
    context.on("console", lambda message: faults.append(message.text) if is_fault(message) else None)
    context.on("weberror", lambda error: faults.append(str(error.error)))
    context.on("dialog", lambda dialog: faults.append(f"dialog: {dialog.message}"))
    return faults


def is_fault(message: ConsoleMessage) -> bool:
    """Whether it is more than the browser's own note about a refused request, which the page reports itself."""
    return message.type in ("error", "warning") and not message.text.startswith("Failed to load resource: the server")


def opened(context: BrowserContext, path: str = "/") -> Page:
    page = context.new_page()
    page.goto(path)
    page.wait_for_selector(f"html[data-ready={path.partition('#')[2] or 'try'}]")
    return page


def check(page: Page, where: str) -> list[str]:
    """The barriers that axe finds serious or critical."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE)
    found = page.evaluate("() => axe.run(document, { resultTypes: ['violations'] })")["violations"]
    return [
        f"{where}: {each['id']}: {node['html']} {node['failureSummary']}"
        for each in found
        if each["impact"] in SERIOUS
        for node in each["nodes"]
    ]


def picture(page: Page, name: str) -> None:
    """A screenshot for a person to look at."""
    OUT.mkdir(exist_ok=True)
    page.screenshot(path=OUT / f"{name}.png")
