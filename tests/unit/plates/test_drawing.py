"""Schemes that share a reader, and how their files say what plates look like."""

from pathlib import Path

import pytest

from plate_nets.errors import SchemeError
from plate_nets.plates import load_scheme
from plate_nets.plates.drawing import Row

SHIPPED = ("brazil", "kazakhstan", "latin", "russia", "uzbekistan")

SHARING = """\
name = "island"
reader = "latin"
lines = 1

[signs]
0 = "0123456789"
A = "ABC"

[[formats]]
name = "car"
pattern = "00 AAA"

[synthesis.drawings.car]
size = [520, 112]
ground = "#ffffff"
ink = "#000000"
typeface = "narrow"
rows = [
    { left = 20, right = 100, height = 60, baseline = 90 },
    { left = 120, right = 480, height = 76, baseline = 94 },
]
small = [{ text = "IS", x = 500, height = 10, baseline = 60 }]
flag = { area = [0, 0, 20, 20], stripes = ["#ff0000"] }
"""


def island(folder: Path, text: str = SHARING) -> Path:
    path = folder / "island.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_scheme_takes_the_alphabet_of_the_reader_that_it_names(tmp_path: Path) -> None:
    scheme = load_scheme(str(island(tmp_path)))
    assert scheme.alphabet == load_scheme("latin").alphabet and scheme.trained_as == "latin"
    drawing = scheme.synthesis.drawings["car"]
    assert drawing.rows[0] == Row(20, 100, 60, 90) and drawing.ground == (255, 255, 255)
    assert drawing.flag == ((0, 0, 20, 20), ((0, 0, 255),)), "blue, green, red"


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_schemes_are_read_by_a_reader_that_is_there(name: str) -> None:
    scheme = load_scheme(name)
    assert scheme.alphabet == load_scheme(scheme.trained_as).alphabet
    assert scheme.formats and sum(scheme.synthesis.shares.values()) == pytest.approx(1)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('reader = "latin"', 'reader = "greek"', "expected brazil or"),
        ("lines = 1", 'lines = 1\nalphabet = "ABC"', "alphabet: expected 0123456789AB"),
        ('ground = "#ffffff"', 'ground = "white"', "ground: expected a colour such as #ff0000, got 'white'"),
        ("size = [520, 112]", "size = [520]", "size: expected \\[width, height\\] in mm"),
        ("left = 20", "lefft = 20", "left: expected mm, got none"),
        ('typeface = "narrow"', 'typeface = "narrow"\nshape = 1', "shape: expected one of"),
        ("    { left = 20, right = 100, height = 60, baseline = 90 },\n", "", "rows: expected 2, one a part"),
        ("drawings.car", "drawings.lorry", "lorry: expected one of|expected .*, got an unknown key"),
        ('stripes = ["#ff0000"]', 'stripes = ["red"]', "stripes: expected colours such as"),
    ],
)
def test_a_drawing_that_is_not_right_is_refused_in_one_line(old: str, new: str, says: str, tmp_path: Path) -> None:
    assert old in SHARING
    with pytest.raises(SchemeError, match=says) as caught:
        load_scheme(str(island(tmp_path, SHARING.replace(old, new))))
    assert "\n" not in str(caught.value)
