"""Errors of the synthesis, which say where, what, expected and got."""

from collections.abc import Iterable

from plate_nets.errors import InputError


def unknown(where: str, symbol: str, expected: Iterable[str]) -> InputError:
    """The error for a symbol or kind that is not drawn."""
    return InputError(f"{where}: unknown {symbol!r}; expected one of {' '.join(expected)}")
