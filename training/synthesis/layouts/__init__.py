"""How the plates of a scheme are laid out. A country brings a module of its own here; plates of others are plain."""

from collections.abc import Callable, Mapping
from functools import lru_cache

from plate_nets.plates import PlateScheme
from training.synthesis.layouts import plain, russia
from training.synthesis.layouts.layout import PlateLayout

Layouts = Mapping[tuple[str, tuple[str, ...]], PlateLayout]
"""By the name of a format and the patterns of its parts."""

_COUNTRIES: dict[str, Callable[[PlateScheme], Layouts]] = {"russia": russia.layouts}
"""By the name of the scheme."""


@lru_cache
def layouts(scheme: PlateScheme) -> Layouts:
    """A scheme -> the layout of each format in each way to write it."""
    own = _COUNTRIES[scheme.name](scheme) if scheme.name in _COUNTRIES else {}
    return {
        (each.name, patterns): own.get((each.name, patterns)) or plain.layout(patterns)
        for each in scheme.formats
        for patterns in each.patterns
    }
