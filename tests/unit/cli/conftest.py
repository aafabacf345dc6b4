"""Shared by the tests of commands."""

import pytest

from plate_nets.cli.options import SCHEME_VARIABLE


@pytest.fixture(autouse=True)
def no_scheme_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """A command tells a server of its own process the scheme by the environment: not that of the next test."""
    monkeypatch.setenv(SCHEME_VARIABLE, "")
    monkeypatch.delenv(SCHEME_VARIABLE)
