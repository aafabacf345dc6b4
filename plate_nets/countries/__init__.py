"""The plates of a country: alphabet and formats as one value, read from a TOML file."""

from plate_nets.countries.scheme import PlateFormat, PlateScheme, joined
from plate_nets.countries.scheme_file import (
    DEFAULT_SCHEMES,
    MAIN_SCHEME,
    default_plates,
    default_schemes,
    group,
    load_scheme,
    load_schemes,
    main_scheme,
    own_reader,
    shipped,
)

__all__ = [
    "DEFAULT_SCHEMES",
    "MAIN_SCHEME",
    "PlateFormat",
    "PlateScheme",
    "default_plates",
    "default_schemes",
    "group",
    "joined",
    "load_scheme",
    "load_schemes",
    "main_scheme",
    "own_reader",
    "shipped",
]
