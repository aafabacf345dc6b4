"""How plates look, as classes: of a country one, or several where `PlateFormat.design` tells its formats apart."""

from plate_nets.plates.scheme import PlateFormat, PlateScheme

UNKNOWN = "unknown"
"""The class of plates of any other country, and what is said of a plate whose country is not sure."""

DESIGNS = (
    UNKNOWN, "am", "ar", "az", "be", "br", "br old", "by", "cz", "de", "ee", "es", "fi", "fr", "gb", "ge", "id", "in",
    "it", "kg", "kz", "lt", "lv", "md", "nl", "pl", "pt", "ro", "ru", "se", "tr", "ua", "us", "uz", "vn",
)  # fmt: skip
"""In the order of the classes of `CountryNet`, which its weights are bound to: countries by ISO 3166 alpha-2."""

CLASSES = {design: index for index, design in enumerate(DESIGNS)}


def design_of(scheme: PlateScheme, plate_format: PlateFormat) -> str:
    """A format of a country -> its class; `UNKNOWN` of a country that `CountryNet` does not know."""
    design = f"{scheme.country} {plate_format.design}".rstrip()
    return design if design in CLASSES else UNKNOWN
