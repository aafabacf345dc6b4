"""Runs a command of `training` in this process."""

from collections.abc import Callable
from typing import Any

import typer
from typer.testing import CliRunner
from typer.testing import Result as Result  # type: ignore[attr-defined]  # click's, or that of a copy in typer


def invoke(main: Callable[..., Any], *arguments: object) -> Result:
    """The function that `python -m MODULE` runs, and its arguments -> the exit code and output."""
    app = typer.Typer()
    app.command()(main)
    return CliRunner().invoke(app, [*map(str, arguments)])
