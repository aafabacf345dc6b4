"""Everything that the pages link to or name exists, and the unit tests are where CONTRIBUTING.md says."""

import re
import runpy
from pathlib import Path

import pytest

from tests.paths import ROOT

DOCUMENTS = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "plate_nets/weights/MODEL_CARD.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
]
FOLDERS = "benchmarks|converters|deploy|docs|model_repository|plate_nets|tests|tools|training"


def anchors(document: Path) -> set[str]:
    """The headings of a document in the form of link targets."""
    headings = re.findall(r"^#+ (.+)$", document.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(document: Path) -> None:
    for link in re.findall(r"\]\(([^)\s]+)\)", document.read_text(encoding="utf-8")):
        if "://" in link:
            continue
        name, _, anchor = link.partition("#")
        target = document.parent / name if name else document
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_named_files_exist(document: Path) -> None:
    for path in re.findall(rf"`((?:{FOLDERS})/[^`\s]*)`", document.read_text(encoding="utf-8")):
        assert any(ROOT.glob(path.rstrip("/"))), path


def test_the_tables_of_settings_are_those_of_the_code() -> None:
    page = (ROOT / "docs" / "reference" / "settings.md").read_text(encoding="utf-8")
    filled = runpy.run_path(str(ROOT / "tools" / "settings_tables.py"))["filled"]
    assert page == filled(page), "run: python tools/settings_tables.py"


def test_the_unit_tests_mirror_the_folders_of_modules() -> None:
    packages = {path.parent.name for path in (ROOT / "plate_nets").glob("*/__init__.py")} | {"benchmarks"}
    folders = {path.name for path in (ROOT / "tests" / "unit").iterdir() if path.is_dir() and any(path.glob("*.py"))}
    assert folders <= packages
