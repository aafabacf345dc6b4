"""Everything that the pages link to or name exists, and the unit tests are where CONTRIBUTING.md says."""

import re
import runpy
from pathlib import Path

import pytest

from tests.packaging.pages import PAGES, Page
from tests.paths import ROOT

FOLDERS = "benchmarks|converters|deploy|docs|model_repository|plate_nets|tests|tools|training"


def anchors(document: Path) -> set[str]:
    """The headings of a document in the form of link targets."""
    headings = re.findall(r"^#+ (.+)$", document.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_links_lead_somewhere(page: Page) -> None:
    for link in re.findall(r"\]\(([^)\s]+)\)", page.text):
        if "://" in link:
            continue
        name, _, anchor = link.partition("#")
        target = page.path.parent / name if name else page.path
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_named_files_exist(page: Page) -> None:
    for path in re.findall(rf"`((?:{FOLDERS})/[^`\s]*)`", page.text):
        assert any(ROOT.glob(path.rstrip("/"))), path


def test_the_tables_of_settings_are_those_of_the_code() -> None:
    page = (ROOT / "docs" / "reference" / "settings.md").read_text(encoding="utf-8")
    filled = runpy.run_path(str(ROOT / "tools" / "settings_tables.py"))["filled"]
    assert page == filled(page), "run: python tools/settings_tables.py"


def test_the_unit_tests_mirror_the_folders_of_modules() -> None:
    packages = {path.parent.name for path in (ROOT / "plate_nets").glob("*/__init__.py")} | {"benchmarks"}
    folders = {path.name for path in (ROOT / "tests" / "unit").iterdir() if path.is_dir() and any(path.glob("*.py"))}
    assert folders <= packages
