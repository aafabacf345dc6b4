"""CSV from users -> rows of text."""

import csv
import io
from collections.abc import Iterator, Sequence
from pathlib import Path

from plate_nets.common.errors import InputError, InputTooLarge
from plate_nets.common.intake.files import MAX_TABLE, read_file

_MAX_COLUMNS = 100
"""Cells of a header; ours have 14. A row takes as long as the header is wide, however short it is itself."""
_SHOWN = 200
"""Characters of a text in a message."""


def read_table(source: Path | bytes, columns: Sequence[str]) -> Iterator[tuple[int, dict[str, str]]]:
    """A CSV file, or its bytes -> its rows, each with the number of its last line.

    A missing cell is empty; cells without a column are dropped.

    Args:
        source: in UTF-8, with or without a byte order mark (spreadsheets write one).
        columns: those that must exist.

    Raises:
        OSError: it does not open.
        InputError: it is not CSV in UTF-8, exceeds a size limit, or lacks a column.
    """
    encoded = read_file(source, MAX_TABLE) if isinstance(source, Path) else source
    try:
        encoded.decode("utf-8-sig")  # only to say where it is not UTF-8: as a text, it takes four times the memory
    except UnicodeDecodeError as error:
        line = encoded.count(b"\n", 0, error.start)
        raise InputError(f"expected CSV in UTF-8 after line {line}: {error.reason}") from error
    reader = csv.DictReader(io.TextIOWrapper(io.BytesIO(encoded), "utf-8-sig", newline=""), restval="")
    try:
        header = reader.fieldnames or ()
        if len(header) > _MAX_COLUMNS:
            raise InputTooLarge(f"expected a table of at most {_MAX_COLUMNS} columns, got {len(header)}")
        missing = [name for name in columns if name not in header]
        if missing:
            raise InputError(f"missing column {', '.join(missing)}; expected {','.join(columns)}")
        for row in reader:
            yield reader.line_num, {name: cell for name, cell in row.items() if name is not None}
    except csv.Error as error:
        raise InputError(f"expected CSV in UTF-8 after line {reader.line_num}: {error}") from error


def is_line(text: str) -> bool:
    """Whether a user's text is one line without control characters, safe to show in a table or on a terminal."""
    return len(text.splitlines()) <= 1 and not any(ord(each) < 0x20 or 0x7F <= ord(each) < 0xA0 for each in text)


def excerpt(text: str) -> str:
    """A user's text for a message: one line without control characters, shortened if it is long."""
    line = text if is_line(text) else ascii(text)
    return line if len(line) <= _SHOWN else f"{line[:_SHOWN]}..."
