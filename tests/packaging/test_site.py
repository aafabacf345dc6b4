"""The site that `make docs` builds can be read without a network, and has the content of the pages."""

import re
from pathlib import Path

import pytest

from tests.packaging.conftest import shell
from tests.packaging.pages import PAGES
from tests.paths import ROOT

LOADED = re.compile(
    r"""<(?:script|img|iframe|source)\b[^>]*?\bsrc=["']?([^"'\s>]+)|<link\b[^>]*?\bhref=["']?([^"'\s>]+)"""
)
CODE = re.compile(r"<(pre|code|script)\b.*?</\1>", re.S)


@pytest.fixture(scope="module")
def site() -> Path:
    shell("make docs", check=True)
    return ROOT / "out" / "site"


def test_a_reader_needs_no_network(site: Path) -> None:
    for path in site.rglob("*.html"):
        for source in map("".join, LOADED.findall(path.read_text(encoding="utf-8"))):
            assert "://" not in source, f"{path.name}: {source}"
            name = source.partition("?")[0].partition("#")[0]
            assert name.startswith("/") or (path.parent / name).exists(), f"{path.name}: {source}"


def test_every_page_exists_and_is_linked(site: Path) -> None:
    index = (site / "search" / "search_index.js").read_text(encoding="utf-8")
    for page in PAGES:
        title = re.findall(r"^# (.+)$", page.text, re.M)[0]
        assert f'"title":"{title}"' in index, page


def test_no_markup_is_left_as_text(site: Path) -> None:
    """Python's Markdown needs more empty lines than others: without them it shows a table or list as typed."""
    for path in site.rglob("*.html"):
        shown = CODE.sub("", path.read_text(encoding="utf-8"))
        left = re.search(r"^(?:<p>)?(\| |\d\. |- |```|#+ |<p>:::).*", shown, re.M)
        assert left is None, f"{path.name}: {left and left[0]}"


def test_each_command_and_option_is_in_the_reference(site: Path) -> None:
    page = (site / "reference" / "cli.html").read_text(encoding="utf-8")
    for words in ("plates read", "plates serve", "plates events export", "--sure", "--save-annotated"):
        assert words in page
