"""Errors of the synthesis. They name the place, what was expected and what was found."""

from collections.abc import Iterable

from plate_nets.errors import InputError


def unknown(where: str, symbol: str, expected: Iterable[str]) -> InputError:
    """The error for a symbol or kind that is not drawn."""
    return InputError(f"{where}: unknown {symbol!r}; expected one of {' '.join(expected)}")
