"""Cells of tables that people open in a spreadsheet, which would compute some of them."""

_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""Beginnings of a cell that a spreadsheet takes for a formula, unless an apostrophe precedes them."""


def safe_cell(text: str) -> str:
    """A text -> the cell of a table, with an apostrophe if a spreadsheet would compute it."""
    return f"'{text}" if text.startswith(_FORMULA) else text


def plain_cell(cell: str) -> str:
    """The cell of a table -> its text, without an apostrophe that only keeps a spreadsheet from computing it."""
    text = cell.strip()
    return text[1:] if text.startswith("'") and text[1:].startswith(_FORMULA) else text
