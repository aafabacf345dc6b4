"""Runs commands: `plates` in a process of its own or in this one, those for developers in this one."""

import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import typer
from typer.testing import CliRunner
from typer.testing import Result as Result  # type: ignore[attr-defined]  # click's, or that of a copy in typer

from plate_nets.cli import app as plates_app
from plate_nets.cli.options import URL_VARIABLES


def invoke(main: Callable[..., Any], *arguments: object, **environment: str) -> Result:
    """The function that `python -m MODULE` runs, and its arguments -> the exit code and output."""
    app = typer.Typer()
    app.command()(main)
    return CliRunner().invoke(app, [*map(str, arguments)], env=environment)


def succeed(main: Callable[..., Any], *arguments: object) -> Result:
    """The same for a command that must end well."""
    done = invoke(main, *arguments)
    assert done.exit_code == 0, done.output
    return done


def plates(*arguments: object, **environment: str) -> "subprocess.CompletedProcess[str]":
    """Run `plates`. It knows no server but the one that it is told."""
    known = {name: value for name, value in os.environ.items() if name not in URL_VARIABLES}
    command = [sys.executable, "-m", "plate_nets", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=known | environment, timeout=280)


def run(*arguments: object, **environment: str) -> Result:
    """The same in this process."""
    known: dict[str, str | None] = {**dict.fromkeys(URL_VARIABLES), **environment}
    return CliRunner().invoke(plates_app, [*map(str, arguments)], env=known)
