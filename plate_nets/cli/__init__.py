"""The command line `plates`. A command is a function in a module of this folder, named in `COMMANDS`.

Exit codes: 0 done; 1 some pictures or cameras failed, or not healthy; 2 wrong usage, or no server; 130 and 143: ended
by a signal (`serve` drains on SIGTERM and exits with 0).
"""

import functools
import inspect
import io
import math
import os
import signal
import sys
from collections.abc import Callable
from importlib import metadata
from types import FrameType
from typing import Annotated, Any

import typer
from rich.console import Console

from plate_nets.cli.batch import batch
from plate_nets.cli.compare import compare
from plate_nets.cli.evaluate import evaluate
from plate_nets.cli.events import events, export
from plate_nets.cli.frigate import frigate
from plate_nets.cli.health import health
from plate_nets.cli.learn import learn
from plate_nets.cli.mcp import mcp
from plate_nets.cli.read import read
from plate_nets.cli.serve import serve
from plate_nets.cli.swap import swap
from plate_nets.cli.watch import watch
from plate_nets.cli.web import web
from plate_nets.common.errors import InputError, PlateError

COMMANDS: tuple[Callable[..., None], ...] = (
    serve,
    read,
    batch,
    watch,
    web,
    frigate,
    mcp,
    health,
    learn,
    swap,
    evaluate,
    compare,
)

FAILED = 2
INTERRUPTED = 130
TERMINATED = 143

app = typer.Typer(
    name="plates",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def guarded(command: Callable[..., None]) -> Callable[..., None]:
    """Wrap a command: our errors become one line on stderr, and Ctrl-C ends it cleanly."""

    @functools.wraps(command)
    def run(*args: Any, **kwargs: Any) -> None:
        try:
            for name, value in kwargs.items():
                if isinstance(value, float) and not math.isfinite(value):  # typer's bounds accept NaN
                    raise InputError(f"--{name.replace('_', '-')}: expected a finite number, got {value}")
            command(*args, **kwargs)
        except KeyboardInterrupt as error:
            raise typer.Exit(INTERRUPTED) from error
        except BrokenPipeError as error:  # the reader of our output has closed it
            sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115  for the flush at the end
            raise typer.Exit(FAILED) from error
        except (PlateError, MemoryError, OSError) as error:
            Console(stderr=True, highlight=False, soft_wrap=True).print(f"plates: {_in_words(error)}", markup=False)
            raise typer.Exit(FAILED) from error

    return run


def _in_words(error: PlateError | MemoryError | OSError) -> str:
    if isinstance(error, MemoryError):
        return "there is too little memory; free some"
    if isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename else ""
        return f"{where}{error.strerror or error}"
    return str(error)


def _show_version(requested: bool) -> None:
    if requested:
        typer.echo(f"plates {metadata.version('plate-nets')}")
        raise typer.Exit


@app.callback()
def _common(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", callback=_show_version, is_eager=True)
    ] = False,
) -> None:
    """Licence-plate recognition for photos and cameras, served by NVIDIA Triton."""


def _help(command: Callable[..., None]) -> str:
    """The docstring of a command with each paragraph in one line, so that --help wraps it to the terminal."""
    return "\n\n".join(" ".join(part.split()) for part in (inspect.getdoc(command) or "").split("\n\n"))


for _command in COMMANDS:
    app.command(help=_help(_command))(guarded(_command))
events.command(help=_help(export))(guarded(export))
events.callback()(lambda: None)  # keeps `export` a subcommand although it is the only one
app.add_typer(events, name="events")


def main() -> None:
    for stream in (sys.stdout, sys.stderr):  # escape names that the terminal cannot show
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    signal.signal(signal.SIGTERM, _terminate)
    # A shell script starts background commands with SIGINT ignored; an explicit SIGINT must still end them.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    app()


def _terminate(number: int, frame: FrameType | None) -> None:
    raise SystemExit(TERMINATED)
