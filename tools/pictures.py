"""`python tools/pictures.py`: makes the pictures of docs/images that show the demo and the page, from `make demo
demo-video` and a browser.
"""

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import yaml
from playwright.sync_api import Page, expect, sync_playwright

ROOT = Path(__file__).parent.parent
OUT, IMAGES = ROOT / "out", ROOT / "docs" / "images"
CHROMIUM = "/usr/bin/chromium"
WIDTH, HEIGHT = 1280, 840
"""Of the page, px."""
QUALITY = 85
_PATIENCE = 120_000
"""Milliseconds for all readings."""


@contextmanager
def shown(clip: Path) -> Iterator[str]:
    """The address of a page that watches a clip as its camera."""
    with tempfile.TemporaryDirectory() as folder:
        plan = {"cameras": [{"id": "gate-1", "source": str(clip)}]}
        Path(folder, "cameras.yaml").write_text(yaml.safe_dump(plan), encoding="utf-8")
        command = [sys.executable, "-m", "plate_nets", "web", "--local", "--port", "0", "--cameras", "cameras.yaml"]
        command += ["--pictures", "pictures"]
        with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True) as page:
            assert page.stdout is not None
            try:
                yield page.stdout.readline().split()[1]
            finally:
                page.terminate()


def save(page: Page, name: str) -> None:
    page.screenshot(path=IMAGES / name, type="jpeg", quality=QUALITY)


def main() -> None:
    shutil.copy(OUT / "scene_plates.jpg", IMAGES / "demo.jpg")
    shutil.copy(OUT / "demo_moments.jpg", IMAGES / "video.jpg")
    with shown(OUT / "demo.mp4") as url, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, locale="en-GB")
        page.set_default_timeout(_PATIENCE)
        page.goto(f"{url}try")
        page.set_input_files("input[type=file]", OUT / "scene.jpg")
        page.locator(".plate .sign").first.wait_for()
        save(page, "web.jpg")
        page.goto(f"{url}live")
        expect(page.get_by_text("ended")).to_be_visible(timeout=_PATIENCE)
        save(page, "web_live.jpg")
        browser.close()


if __name__ == "__main__":
    main()
