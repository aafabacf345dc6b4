"""The layout that the file of a scheme has for a format: `synthesis.drawings`."""

from plate_nets.errors import InputError
from plate_nets.plates.drawing import PlateDrawing, Row, Small
from training.synthesis.layouts.layout import PlateLayout, Slot
from training.synthesis.typefaces import TYPEFACES

_SMALL_PITCH = 0.72
"""Of small letters, in their heights."""


def layout(drawing: PlateDrawing, patterns: tuple[str, ...]) -> PlateLayout:
    """A drawing and the patterns of a text's parts -> the layout.

    Raises:
        InputError: no such typeface.
    """
    if drawing.typeface not in TYPEFACES:
        raise InputError(f"typeface: expected {', '.join(TYPEFACES)}, got {drawing.typeface!r}")
    slots = tuple(
        slot for row, pattern in zip(drawing.rows, patterns, strict=True) for slot in in_row(row, len(pattern))
    )
    area, stripes = drawing.flag or ((0.0, 0.0, 0.0, 0.0), ())
    return PlateLayout(
        slots,
        drawing.ground,
        drawing.ink,
        divider=drawing.divider,
        country=tuple(each for small in drawing.small for each in small_letters(small)),
        flag=stripes,
        flag_box=area,
        bolts=((0.03 * drawing.width, 0.5 * drawing.height), (0.97 * drawing.width, 0.5 * drawing.height)),
        width=drawing.width,
        height=drawing.height,
        typeface=drawing.typeface,
        bands=drawing.bands,
    )


def in_row(row: Row, count: int) -> tuple[Slot, ...]:
    """So many characters, evenly spaced."""
    pitch = (row.right - row.left) / count
    return tuple(Slot(row.left + (place + 0.5) * pitch, row.height, row.baseline) for place in range(count))


def small_letters(small: Small) -> tuple[tuple[str, Slot], ...]:
    """Small letters and where they stand; a space leaves a gap."""
    pitch = _SMALL_PITCH * small.height
    start = small.x - pitch * (len(small.text) - 1) / 2
    return tuple(
        (each, Slot(start + place * pitch, small.height, small.baseline))
        for place, each in enumerate(small.text)
        if each != " "
    )
