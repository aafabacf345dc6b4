"""The layout for plates of which nothing is known but their text: black on white, characters evenly spaced."""

from training.synthesis.layouts.layout import BLACK, HEIGHT, WHITE, WIDTH, PlateLayout, Slot

_PITCH = 56.3
_CHARACTER = 66.0
_GAP = 0.4
"""Between two parts, in characters."""
_EDGE = 22.0


def layout(patterns: tuple[str, ...]) -> PlateLayout:
    """The patterns of a text's parts -> the layout."""
    count = sum(map(len, patterns)) + _GAP * (len(patterns) - 1)
    pitch = min(_PITCH, (WIDTH - 2 * _EDGE) / count)
    height = _CHARACTER * pitch / _PITCH
    baseline = (HEIGHT + height) / 2
    slots, x = [], (WIDTH - pitch * (count - 1)) / 2
    for pattern in patterns:
        for _ in pattern:
            slots.append(Slot(x, height, baseline))
            x += pitch
        x += _GAP * pitch
    return PlateLayout(tuple(slots), WHITE, BLACK)
