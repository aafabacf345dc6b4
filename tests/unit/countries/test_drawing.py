"""Schemes that share a reader, and how their files describe the look of plates."""

from pathlib import Path

import pytest

from plate_nets.common.errors import SchemeError
from plate_nets.countries import load_scheme
from plate_nets.countries.drawing import Band, Line, Row, Small
from tests.schemes import SHIPPED

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
    (drawing,) = scheme.synthesis.drawings["car"]
    assert drawing.rows[0] == Row(20, 100, 60, 90) and drawing.ground == (255, 255, 255)
    assert drawing.flag == ((0, 0, 20, 20), ((0, 0, 255),)), "blue, green, red"


def test_a_format_may_have_several_designs_and_inherit_another_one(tmp_path: Path) -> None:
    text = (
        SHARING.replace("[synthesis.drawings.car]", "[[synthesis.drawings.car]]")
        + """
[[synthesis.drawings.car]]
share = 0.5
size = [500, 100]
ground = "#ffffff"
ink = "#000000"
typeface = "narrow"
lines = [{ left = 60, right = 480, height = 70, baseline = 90, gap = 30, between = ["-"] }]
strips = [{ left = 0, width = 40, text = "IS|ISL", stars = true }]
looks = [{ ground = "#ffff00", ink = "#000000", share = 0.2 }]

[synthesis.drawings.lorry]
like = "car"
ink = "#ff0000"
"""
    )
    text = text.replace('pattern = "00 AAA"', 'pattern = "00 AAA"\n\n[[formats]]\nname = "lorry"\npattern = "AA 000"')
    drawings = load_scheme(str(island(tmp_path, text))).synthesis.drawings
    assert [each.share for each in drawings["car"]] == [1, 0.5]
    second = drawings["car"][1]
    assert second.lines == (Line(60, 480, 70, 90, 30, ("-",)),) and second.looks[0].share == 0.2
    assert second.bands == (Band((0, 0, 40, 100), second.bands[0].colour),) and second.stars
    assert second.small == (Small("IS|ISL", 20, second.small[0].height, 91, second.small[0].ink),)
    assert [each.ink for each in drawings["lorry"]] == [(0, 0, 255)] * 2
    assert [each.rows for each in drawings["lorry"]] == [each.rows for each in drawings["car"]]


@pytest.mark.parametrize("name", SHIPPED)
def test_every_shipped_scheme_has_a_shipped_reader(name: str) -> None:
    scheme = load_scheme(name)
    assert scheme.alphabet == load_scheme(scheme.trained_as).alphabet
    assert scheme.formats and sum(scheme.synthesis.shares.values()) == pytest.approx(1)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('reader = "latin"', 'reader = "greek"', "expected algeria or"),
        ("lines = 1", 'lines = 1\nalphabet = "ABC"', "alphabet: expected 0123456789AB"),
        ('ground = "#ffffff"', 'ground = "white"', "ground: expected a colour such as #ff0000, got 'white'"),
        ("size = [520, 112]", "size = [520]", "size: expected \\[width, height\\] in mm"),
        ("left = 20", "lefft = 20", "left: expected mm, got none"),
        ('typeface = "narrow"', 'typeface = "narrow"\nshape = 1', "shape: expected one of"),
        ("    { left = 20, right = 100, height = 60, baseline = 90 },\n", "", "rows: expected 2, one for each part"),
        (
            "small = [",
            "lines = [{ left = 0, right = 9, height = 5, baseline = 6, gap = 1 }]\nsmall = [",
            "rows: expected 2",
        ),
        (
            "small = [",
            "twins = [{ left = 0, right = 9, height = 5, baseline = 6 }]\nsmall = [",
            "twins: expected 2, one",
        ),
        ("[synthesis.", '[synthesis.twins]\n"я" = "ya"\n\n[synthesis.', "synthesis.twins.я: expected symbols of the"),
        ("size = [520, 112]", 'like = "lorry"', "like: expected a format with complete drawings, got 'lorry'"),
        ("small = [{", "strips = [{ left = 0 }]\nsmall = [{", "width: expected mm, got none"),
        ("drawings.car", "drawings.lorry", "lorry: expected one of|expected .*, got an unknown key"),
        ('stripes = ["#ff0000"]', 'stripes = ["red"]', "stripes: expected colours such as"),
    ],
)
def test_an_invalid_drawing_is_refused_in_one_line(old: str, new: str, says: str, tmp_path: Path) -> None:
    assert old in SHARING
    with pytest.raises(SchemeError, match=says) as caught:
        load_scheme(str(island(tmp_path, SHARING.replace(old, new))))
    assert "\n" not in str(caught.value)
