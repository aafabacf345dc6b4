"""Every page runs as written, and few reasons excuse a block that is not run. test_guides.py runs docs/how-to."""

import re
from pathlib import Path

import pytest

from tests.packaging.conftest import PROJECT, shell
from tests.packaging.pages import GUIDES, PAGES, README, Page
from tests.packaging.walk import NOT_RUN, OUTPUT, UNTIL_STOPPED, is_walked, walk_through
from tests.paths import ROOT

pytestmark = pytest.mark.timeout(1800)

REASONS = ("needs a container engine", "needs a cluster", "takes hours", "it runs this page's tests")
ELSEWHERE = re.compile(r"(tests/\S+\.py) does it")


@pytest.mark.parametrize("page", [page for page in PAGES if page not in GUIDES and is_walked(page)], ids=str)
def test_the_blocks_of_a_page_run_as_described(page: Page, folder: Path, request: pytest.FixtureRequest) -> None:
    walk_through(page, folder, request)


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_every_code_block_is_run_or_gives_a_reason(page: Page) -> None:
    for block in page.blocks:
        assert block.language in ("bash", "python", "yaml", "toml", "text"), block
        assert block.language != "text" or not re.search(r"^(plates|python|make|docker) ", block.code, re.M), block
        marks = ("", OUTPUT) if block.language == "text" else ("", UNTIL_STOPPED)
        assert block.mark in marks or block.mark.startswith(NOT_RUN), block
        if block.mark.startswith(NOT_RUN):
            reason = block.mark.removeprefix(NOT_RUN)
            elsewhere = ELSEWHERE.fullmatch(reason)
            assert (ROOT / elsewhere[1]).is_file() if elsewhere else reason in REASONS, block.mark
            assert block.language == "bash" and shell(f"set -n\n{block.code}").returncode == 0, block
            for name in re.findall(r"--?f(?:ile)? (\S+)", block.code):
                assert (ROOT / name).is_file(), name
    assert not re.search(r"\n\n    \S", page.prose), "code that is only indented: no test would find it"


def test_the_extras_that_pages_install_exist() -> None:
    named = {words for page in PAGES for words in re.findall(r"plate-nets\[([\w,]+)\]", page.text)}
    assert named
    assert {*",".join(named).split(",")} <= PROJECT["optional-dependencies"].keys()


def test_the_output_shown_is_what_the_demo_prints(demo: str) -> None:
    """The plates and texts are the same; times and last digits may differ."""
    shown = next(block.code for block in README.blocks if block.mark == OUTPUT)
    texts = [re.findall(r"^(\S+: .*?)  confidence", output, re.MULTILINE) for output in (shown, demo)]
    assert texts[0]
    assert texts[0] == texts[1]


def test_a_second_run_installs_and_converts_nothing(demo: str) -> None:
    assert demo
    result = shell("make --question .venv/embedded.stamp model_repository/stn/1/model.xml out/scene.jpg || echo to do")
    assert result.stdout == ""
