"""How the plates of a scheme are laid out: as its file draws them or, for Russia, a module of its own; else varied."""

from collections.abc import Callable
from functools import lru_cache

import numpy as np

from plate_nets.plates import PlateScheme
from plate_nets.plates.scheme import Fit
from training.synthesis.layouts import drawn, russia, varied
from training.synthesis.layouts.layout import PlateLayout

Layouts = dict[tuple[str, tuple[str, ...]], PlateLayout]
"""By the name of a format and the patterns of its parts."""

_COUNTRIES: dict[str, Callable[[PlateScheme], Layouts]] = {"russia": russia.layouts}
"""By the name of the scheme."""


@lru_cache
def layouts(scheme: PlateScheme) -> Layouts:
    """A scheme -> the layouts that are known, of each format in each way to write it."""
    own = _COUNTRIES[scheme.name](scheme) if scheme.name in _COUNTRIES else {}
    drawings = scheme.synthesis.drawings
    return own | {
        (each.name, patterns): drawn.layout(drawings[each.name], patterns)
        for each in scheme.formats
        if each.name in drawings
        for patterns in each.patterns
    }


def layout_of(scheme: PlateScheme, fit: Fit, rng: np.random.Generator) -> PlateLayout:
    """The layout of a format that a text fits; where none is known, one that the generator decides."""
    return layouts(scheme).get((fit.format.name, fit.patterns)) or varied.layout(fit.format, fit.patterns, rng)
