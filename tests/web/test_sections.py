"""Addresses of sections as people type them, and the message about those that are switched off."""

import httpx
import pytest

from tests.web.conftest import Seen

BROWSER = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}


@pytest.mark.parametrize("section", ["try", "live", "events", "lists", "health"])
def test_each_section_has_an_address_of_its_own(seen: Seen, section: str) -> None:
    answer = seen.client.get(f"/{section}", headers=BROWSER)
    assert (answer.status_code, answer.headers.get("location")) == (303, f"/#{section}")


@pytest.mark.parametrize(
    ("path", "option"),
    [("events", "--events"), ("events/stream", "--events"), ("lists", "--watch-list"), ("cameras", "--cameras")],
)
def test_a_disabled_section_names_the_option_that_enables_it(web: httpx.Client, path: str, option: str) -> None:
    answer = web.get(f"/api/v1/{path}")
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "PLATES_NOT_FOUND")
    assert f"start `plates web` with {option}" in answer.json()["error"]["message"]


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("/live", "--events"),
        ("/events", "--events"),
        ("/lists", "--watch-list"),
        ("/cameras", "--cameras"),
        ("/no", "nothing found here"),
    ],
)
def test_a_browser_gets_an_error_as_plain_text(web: httpx.Client, path: str, says: str) -> None:
    answer = web.get(path, headers=BROWSER)
    assert (answer.status_code, answer.headers["content-type"]) == (404, "text/plain; charset=utf-8")
    assert says in answer.text
