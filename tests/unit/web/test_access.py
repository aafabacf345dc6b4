"""Rates and tokens without a server."""

import pytest

from plate_nets.errors import InputError
from plate_nets.web.access import Rate
from plate_nets.web.faults import Refused, fault_of
from plate_nets.web.settings import WebSettings
from plate_nets.web.uploads import plain_name


def test_a_rate_limit_refills_and_is_separate_for_each_name() -> None:
    now = 0.0
    rate = Rate(2.0, 3, lambda: now)
    rate.spend("one", 3)
    with pytest.raises(Refused) as refused:
        rate.spend("one", 2)
    assert refused.value.retry_after == 1
    rate.spend("other", 3)
    now = 1.0
    rate.spend("one", 2)


@pytest.mark.parametrize("token", ["short", "has spaces in it ok", "ключ-из-букв-кириллицы"])
def test_an_invalid_token_is_refused(token: str) -> None:
    with pytest.raises(InputError, match="token"):
        WebSettings(tokens=(token,))


@pytest.mark.parametrize(
    ("name", "plain"),
    [("../../a.jpg", "a.jpg"), ("C:\\photos\\b.png", "b.png"), ("a\r\nb", "ab"), ("", "picture"), (None, "picture")],
)
def test_a_name_is_one_line_and_no_path(name: str | None, plain: str) -> None:
    assert plain_name(name) == plain


def test_an_internal_error_reveals_no_details() -> None:
    assert "secret" not in fault_of(RuntimeError("secret")).message
