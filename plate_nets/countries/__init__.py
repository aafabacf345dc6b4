"""The plates of a country: alphabet and formats as one value, read from a TOML file."""

from plate_nets.countries.scheme import PlateFormat, PlateScheme, joined
from plate_nets.countries.scheme_file import (
    DEFAULT_SCHEME,
    default_scheme,
    group,
    load_scheme,
    load_schemes,
    own_reader,
)

__all__ = [
    "DEFAULT_SCHEME",
    "PlateFormat",
    "PlateScheme",
    "default_scheme",
    "group",
    "joined",
    "load_scheme",
    "load_schemes",
    "own_reader",
]
