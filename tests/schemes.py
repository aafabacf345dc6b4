"""The countries of the package, and one that it lacks, with another alphabet and other formats."""

from pathlib import Path

from plate_nets.countries import PlateScheme, load_scheme
from tests.paths import ROOT

SHIPPED = sorted(path.stem for path in (ROOT / "plate_nets" / "countries" / "schemes").glob("*.toml"))
"""The names of the schemes in the package."""

TESTLAND = """\
name = "testland"
lines = 1
alphabet = "0123456789ACDEFGHKMNPRTVWXYZ"

[signs]
9 = "0123456789"
L = "ACDEFGHKMNPRTVWXYZ"

[[formats]]
name = "car"
pattern = "LL 9999"

[[formats]]
name = "lorry"
pattern = "9999 LLL"
"""


def write_testland(folder: Path, text: str = TESTLAND) -> Path:
    """Write the scheme's file into a folder."""
    path = folder / "testland.toml"
    path.write_text(text, encoding="utf-8")
    return path


def make_testland(folder: Path) -> PlateScheme:
    """The scheme, loaded from a file in a folder."""
    return load_scheme(str(write_testland(folder)))


def for_testland(repository: Path) -> PlateScheme:
    """Make a copy of the model repository read plates of Testland: a file, and three lines of configs."""
    folder = repository / "plate_recognition"
    write_testland(folder)
    config = folder / "config.pbtxt"
    parameter = 'parameters { key: "scheme" value: { string_value: "testland.toml" } }\n'
    scheme = load_scheme("testland.toml", folder)
    text = config.read_text(encoding="utf-8")
    assert "dims: [-1, 23, 18]" in text
    text = text.replace("dims: [-1, 23, 18]", f"dims: [-1, {scheme.classes}, 18]")
    config.write_text(text + parameter, encoding="utf-8")
    config = repository / "lprnet" / "config.pbtxt"
    text = config.read_text(encoding="utf-8")
    assert "dims: [23, 18]" in text
    config.write_text(text.replace("dims: [23, 18]", f"dims: [{scheme.classes}, 18]"), encoding="utf-8")
    return scheme
