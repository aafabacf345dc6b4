"""Packages that a client does not need: extras of this package (pyproject.toml), imported when needed."""

from collections.abc import Iterator
from contextlib import contextmanager

from plate_nets.common.errors import MissingExtra


@contextmanager
def needs(extra: str, purpose: str) -> Iterator[None]:
    """Turn a missing package in a block of imports into one line that names the extra to install.

    Raises:
        MissingExtra: a package is not installed.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] == __name__.partition(".")[0]:
            raise
        raise MissingExtra(extra, purpose, error.name) from error
