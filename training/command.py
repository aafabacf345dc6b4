"""The commands of this folder end with one line for an expected error."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import typer

from plate_nets.common.errors import PlateError


@contextmanager
def errors_in_one_line() -> Iterator[None]:
    """End a command with one line and exit code 1 for our errors and those of the disk; also a decorator."""
    try:
        yield
    except (PlateError, OSError) as error:
        typer.echo(f"error: {error}", err=True)
        sys.exit(1)
