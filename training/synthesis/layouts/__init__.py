"""Layouts for the plates of a scheme: from its file or, for Russia, from a module; random otherwise."""

from functools import lru_cache

import numpy as np

from plate_nets.countries import PlateScheme
from plate_nets.countries.drawing import Colour
from plate_nets.countries.scheme import Fit
from training.synthesis.layouts import drawn, russia, varied
from training.synthesis.layouts.layout import PlateLayout

Layouts = dict[tuple[str, tuple[str, ...]], PlateLayout]
"""By the name of a format and the patterns of its parts."""


@lru_cache
def layouts(scheme: PlateScheme) -> Layouts:
    """The layouts that a module has for a scheme, for each format in each of its forms."""
    return russia.layouts(scheme) if scheme.name == "russia" else {}


def layout_of(scheme: PlateScheme, fit: Fit, rng: np.random.Generator) -> PlateLayout:
    """The layout of the format that a text fits; if none is known, the generator decides."""
    if known := layouts(scheme).get((fit.format.name, fit.patterns)):
        return known
    if designs := scheme.synthesis.drawings.get(fit.format.name):
        return drawn.layout(drawn.one_of(designs, rng), fit, rng)
    return varied.layout(fit, rng)


def grounds(scheme: PlateScheme, fit: Fit) -> set[Colour]:
    """The ground colours of the format that a text fits; empty if the generator decides."""
    if known := layouts(scheme).get((fit.format.name, fit.patterns)):
        return {known.ground, *(known.other or ())[:1]}
    designs = scheme.synthesis.drawings.get(fit.format.name, ())
    return {design.ground for design in designs} | {look.ground for design in designs for look in design.looks}
