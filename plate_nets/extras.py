"""The packages that a client does not need: extras of this package (pyproject.toml), imported late."""

from collections.abc import Iterator
from contextlib import contextmanager

from plate_nets.errors import MissingExtra


@contextmanager
def needs(extra: str, purpose: str) -> Iterator[None]:
    """A block of imports, what they are for and the extra that brings them -> one line where a package is missing.

    Raises:
        MissingExtra: a package is not installed.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] == __package__:
            raise
        raise MissingExtra(extra, purpose, error.name) from error
