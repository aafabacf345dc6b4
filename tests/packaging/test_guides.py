"""The guides of docs/how-to run as written. They are in a file of their own, so that `make test` runs them beside the
other pages."""

from pathlib import Path

import pytest

from tests.packaging.pages import GUIDES, Page
from tests.packaging.walk import is_walked, walk_through

pytestmark = pytest.mark.timeout(1800)


@pytest.mark.parametrize("page", [page for page in GUIDES if is_walked(page)], ids=str)
def test_the_blocks_of_a_guide_run_as_described(page: Page, folder: Path, request: pytest.FixtureRequest) -> None:
    walk_through(page, folder, request)
