"""How the plates of a scheme are laid out: as its file draws them or, for Russia, a module of its own; else varied."""

from collections.abc import Callable
from functools import lru_cache

import numpy as np

from plate_nets.plates import PlateScheme
from plate_nets.plates.drawing import Colour
from plate_nets.plates.scheme import Fit
from training.synthesis.layouts import drawn, russia, varied
from training.synthesis.layouts.layout import PlateLayout

Layouts = dict[tuple[str, tuple[str, ...]], PlateLayout]
"""By the name of a format and the patterns of its parts."""

_COUNTRIES: dict[str, Callable[[PlateScheme], Layouts]] = {"russia": russia.layouts}
"""By the name of the scheme."""


@lru_cache
def layouts(scheme: PlateScheme) -> Layouts:
    """A scheme -> the layouts that a module has, of each format in each way to write it."""
    return _COUNTRIES[scheme.name](scheme) if scheme.name in _COUNTRIES else {}


def layout_of(scheme: PlateScheme, fit: Fit, rng: np.random.Generator) -> PlateLayout:
    """The layout of a format that a text fits; where none is known, one that the generator decides."""
    if known := layouts(scheme).get((fit.format.name, fit.patterns)):
        return known
    if designs := scheme.synthesis.drawings.get(fit.format.name):
        return drawn.layout(drawn.one_of(designs, rng), fit, rng)
    return varied.layout(fit, rng)


def grounds(scheme: PlateScheme, fit: Fit) -> set[Colour]:
    """The colours that the ground of a format has that a text fits; none where the generator decides."""
    if known := layouts(scheme).get((fit.format.name, fit.patterns)):
        return {known.ground, *(known.other or ())[:1]}
    designs = scheme.synthesis.drawings.get(fit.format.name, ())
    return {design.ground for design in designs} | {look.ground for design in designs for look in design.looks}
