"""Watch lists: what a file may contain, and what matches."""

from pathlib import Path

import pytest

from plate_nets.cameras.fusion import Fusion, view
from plate_nets.cameras.watch_lists import WatchList, WatchSettings, load_watch_list, matches
from plate_nets.common.errors import InputError
from plate_nets.countries import PlateScheme, joined, load_schemes
from plate_nets.types import Box
from tests.spelling import RUSSIA, spell


def write(folder: Path, text: str, name: str = "staff.csv") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def evidence(
    text: str, doubts: dict[int, tuple[str, float]] | None = None, frames: int = 1, scheme: PlateScheme = RUSSIA
) -> Fusion:
    fusion = Fusion(scheme)
    for _ in range(frames):
        fusion.add(view(spell(text, doubts=doubts, scheme=scheme)[0], scheme, 8, Box(0, 0, 100, 24)))
    return fusion


def test_a_list_has_plates_with_labels(tmp_path: Path) -> None:
    found = load_watch_list(write(tmp_path, "plate,label\nа 123 вс-77,Kim\nX900KO99,\n"))
    assert found == WatchList("staff", {"A123BC77": "Kim", "X900KO99": ""})


def test_an_apostrophe_before_a_formula_is_not_part_of_the_label(tmp_path: Path) -> None:
    found = load_watch_list(write(tmp_path, "plate,label\nA123BC77,'+7 912\nX900KO99,'s-Hertogenbosch\n"))
    assert found.entries == {"A123BC77": "+7 912", "X900KO99": "'s-Hertogenbosch"}


def test_each_bad_row_is_left_out_with_a_message(tmp_path: Path) -> None:
    rows = "plate,label\n,none\nA123BC77,Kim\nA123BC77,again\nA*23,star\nX900KO99,Olga\n"
    found = load_watch_list(write(tmp_path, rows), "vip")
    assert list(found.entries) == ["A123BC77", "X900KO99"]
    assert found.faults == (
        "watch list vip, line 2: expected a plate, got ''",
        "watch list vip, line 4: expected each plate once, got 'A123BC77'",
        "watch list vip, line 5: expected letters and digits, got 'A*23'",
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [("number,label\n", "missing column plate; expected plate,label"), ("", "missing column plate")],
)
def test_a_file_that_is_not_a_list_is_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        load_watch_list(write(tmp_path, text))


def test_a_missing_or_binary_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"watch list none: .*No such file"):
        load_watch_list(tmp_path / "none.csv")
    (tmp_path / "bytes.csv").write_bytes(b"plate,label\n\xff\xfe,x\n")
    with pytest.raises(InputError, match="expected CSV in UTF-8"):
        load_watch_list(tmp_path / "bytes.csv")


def test_an_entry_matches_by_the_probability_of_its_text() -> None:
    staff = WatchList("staff", {"A123KC77": "Kim", "A128BC77": "near", "X900KO99": "far"})
    (match,) = matches([staff], "A123BC77", evidence("A123BC77", {4: ("K", 8.92)}))
    assert (match.entry, match.label, match.distance) == ("A123KC77", "Kim", 1)
    assert match.probability == pytest.approx(0.475, abs=0.02)
    assert matches([staff], "A123BC77", evidence("A123BC77", {4: ("K", 8.0)}, frames=5)) == ()


def test_a_similar_plate_on_a_long_list_does_not_match() -> None:
    long = WatchList("all", {f"A{number:03}BC77": "" for number in range(1, 1000) if number != 123})
    assert matches([long], "A123BC77", evidence("A123BC77")) == ()


def test_an_entry_that_the_networks_cannot_read_matches_by_edit_distance() -> None:
    foreign = WatchList("foreign", {"A123ZC77": "one off", "A123ZZ77": "two off", "ZZZZZZZZ": ""})
    found = matches([foreign], "A123BC77", evidence("A123BC77"))
    assert [(match.entry, match.distance, match.probability) for match in found] == [("A123ZC77", 1, 0.0)]
    assert matches([foreign], "A123BC77", evidence("A123BC77"), WatchSettings(fallback_distance=0)) == ()


def test_the_most_probable_entry_comes_first() -> None:
    lists = [WatchList("a", {"A123KC77": "second"}), WatchList("b", {"A123BC77": "first"})]
    found = matches(lists, "A123BC77", evidence("A123BC77", {4: ("K", 8.9)}))
    assert [match.label for match in found] == ["first", "second"]


@pytest.mark.parametrize(
    ("symbols", "entry"),
    [
        ("京A88731", "京A88731"),
        ("京A88731", "bj-a88731"),
        ("117ﺗ3989", "117 تونس 3989"),
        ("117ﺗ3989", "117-TN-3989"),
        ("٧١٢٦نطس", "سطن ٧١٢٦"),
        ("٧١٢٦نطس", "STTN 7126"),
    ],
)
def test_an_entry_names_a_plate_in_its_script_or_in_latin_letters(tmp_path: Path, symbols: str, entry: str) -> None:
    scheme = joined(load_schemes("china,egypt,tunisia"))
    loaded = load_watch_list(write(tmp_path, f"plate,label\n{entry},Kim\n"))
    (match,) = matches([loaded], symbols, evidence(symbols, scheme=scheme))
    assert (match.label, match.distance) == ("Kim", 0) and match.probability > 0.9
