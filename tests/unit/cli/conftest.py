"""Shared by the tests of commands."""

import pytest

from plate_nets.cli.options import DETAIL_VARIABLE, SCHEME_VARIABLE


@pytest.fixture(autouse=True)
def no_setting_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """A command tells a server of its own process some settings by the environment: not that of the next test."""
    for variable in (SCHEME_VARIABLE, DETAIL_VARIABLE):
        monkeypatch.setenv(variable, "")
        monkeypatch.delenv(variable)
