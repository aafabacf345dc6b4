"""Watch lists: what a file may contain, and what matches."""

import unicodedata
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path

import pytest

from plate_nets.cameras.fusion import Fusion, view
from plate_nets.cameras.watch_lists import WatchList, load_watch_list, matches, near_entries
from plate_nets.common.errors import InputError
from plate_nets.countries import PlateScheme, joined, load_scheme, load_schemes
from plate_nets.events.event import WatchMatch
from plate_nets.types import Box
from tests.events import MOMENT
from tests.spelling import RUSSIA, spell
from tests.watch_lists import watch_list

Loaded = Callable[[str], WatchList]


@pytest.fixture
def loaded(tmp_path: Path) -> Loaded:
    """A list "staff" from the text of its file."""

    def load(text: str) -> WatchList:
        path = tmp_path / "staff.csv"
        path.write_text(text, encoding="utf-8")
        return load_watch_list(path)

    return load


def evidence(
    text: str, doubts: dict[int, tuple[str, float]] | None = None, frames: int = 1, scheme: PlateScheme = RUSSIA
) -> Fusion:
    fusion = Fusion(scheme)
    for _ in range(frames):
        fusion.add(view(spell(text, doubts=doubts, scheme=scheme)[0], scheme, 8, Box(0, 0, 100, 24)))
    return fusion


def matched(lists: Sequence[WatchList], text: str, evidence: Fusion) -> tuple[WatchMatch, ...]:
    return matches(lists, text, evidence, "gate", MOMENT)


def test_a_list_has_plates_with_labels(loaded: Loaded) -> None:
    """An apostrophe before a formula is not part of the label."""
    rows = "plate,label\nа 123 вс-77,Kim\nX900KO99,\nA124BC77,'+7 912\nA125BC77,'s-Hertogenbosch\n"
    labels = {"A123BC77": "Kim", "X900KO99": "", "A124BC77": "+7 912", "A125BC77": "'s-Hertogenbosch"}
    assert loaded(rows) == watch_list("staff", labels)


LIMITED = "plate,label,phone,valid_from,valid_until,hours,cameras\n"


@pytest.mark.parametrize(
    ("cells", "says"),
    [
        ("30.11.2026,,,", "valid_from: expected a date such as 2026-11-30, got '30.11.2026'"),
        (",2026-02-30,,", "valid_until: expected a date such as 2026-11-30, got '2026-02-30'"),
        ("2026-11-30,2026-11-29,,", "valid_until: expected 2026-11-30 or later, got 2026-11-29"),
        (",,7-19,", "hours: expected two times such as 22:00-07:00, got '7-19'"),
        (",,07:00-24:00,", "hours: expected times from 00:00 to 23:59, got '07:00-24:00'"),
        (",,,gate\x1b[2J", "cameras: expected one line, got 'gate\\x1b[2J'"),
    ],
)
def test_each_bad_row_is_left_out_with_a_message(loaded: Loaded, cells: str, says: str) -> None:
    rows = f",none\nA123BC77,Kim\nA123BC77,again\nA*23,star\nA124BC77,Kim,1,{cells}\nX900KO99,Olga\n"
    found = loaded(LIMITED + rows)
    assert list(found.entries) == ["A123BC77", "X900KO99"]
    assert found.faults == (
        "watch list staff, line 2: expected a plate, got ''",
        "watch list staff, line 4: expected each plate once, got 'A123BC77'",
        "watch list staff, line 5: expected letters and digits, got 'A*23'",
        f"watch list staff, line 6: {says}",
    )


@pytest.mark.parametrize(
    ("cells", "times", "valid"),
    [
        ("2026-11-22,2026-11-22,,", ["11-21T23:59", "11-22T00:00", "11-22T23:59", "11-23T00:00"], [0, 1, 1, 0]),
        ("2026-11-22,,,", ["11-21T12:00", "11-30T12:00"], [0, 1]),
        (",,07:00-19:00,", ["11-22T06:59", "11-22T07:00", "11-22T18:59", "11-22T19:00"], [0, 1, 1, 0]),
        (",,22:00-06:00,", ["11-22T22:00", "11-22T00:00", "11-22T05:59"], [1, 1, 1]),
        (",,22:00-06:00,", ["11-22T06:00", "11-22T21:59"], [0, 0]),
        (",,,yard gate", ["11-22T12:00"], [1]),
        (",,,yard", ["11-22T12:00"], [0]),
    ],
)
def test_an_entry_matches_only_where_and_when_it_is_valid(
    loaded: Loaded, cells: str, times: list[str], valid: list[int]
) -> None:
    staff = loaded(f"{LIMITED}A123BC77,Kim,1,{cells}\n")
    seen = evidence("A123BC77")
    moments = [datetime.fromisoformat(f"2026-{each}+05:30") for each in times]
    assert [len(matches([staff], "A123BC77", seen, "gate", moment)) for moment in moments] == valid
    assert staff.remarks(["gate"]) == (["watch list staff: no camera is called yard"] if "yard" in cells else [])
    assert staff.remarks([]) == []


def test_a_text_is_told_the_entries_that_may_match_it() -> None:
    labels = {"A123KC77": "one off", "A128KC77": "two off", "A123ZC77": "unknown sign", "A123ZZ77": "two off", "X1": ""}
    near = near_entries(watch_list("staff", labels | {"A123BC77": "itself"}).entries, "A123BC77", RUSSIA)
    assert [(each.plate, each.distance, each.probability) for each in near] == [
        ("A123BC77", 0, 0.3),
        ("A123KC77", 1, 0.3),
        ("A123ZC77", 1, 0.0),
        ("A128KC77", 2, 0.3),
    ]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"number,label\n", "missing column plate; expected plate,label"),
        (b"", "missing column plate"),
        (b"plate,label\n\xff\xfe,x\n", "expected CSV in UTF-8"),
        (None, "No such file"),
    ],
)
def test_a_file_that_is_not_a_list_is_refused(tmp_path: Path, content: bytes | None, message: str) -> None:
    path = tmp_path / "list.csv"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError, match=f"^watch list vip: .*{message}"):
        load_watch_list(path, "vip")


SIMILAR = ["A123KC77", "A128BC77", "X900KO99"]
LONG = [f"A{number:03}BC77" for number in range(1, 1000) if number != 123]


@pytest.mark.parametrize(
    ("entries", "doubt", "frames", "found"),
    [
        (SIMILAR, 8.92, 1, [("A123KC77", 1, pytest.approx(0.475, abs=0.02))]),
        (SIMILAR, 8.0, 5, []),
        (LONG, 0.0, 1, []),
        (["A123ZC77", "A123ZZ77", "ZZZZZZZZ"], 0.0, 1, [("A123ZC77", 1, 0.0)]),
    ],
    ids=["a probable text", "an improbable text", "a long list", "a sign that no network reads, by edit distance"],
)
def test_an_entry_matches_by_the_probability_of_its_text(
    entries: list[str], doubt: float, frames: int, found: list[tuple[str, int, float]]
) -> None:
    seen = evidence("A123BC77", {4: ("K", doubt)}, frames)
    matching = matched([watch_list("staff", dict.fromkeys(entries, "Kim"))], "A123BC77", seen)
    assert [(match.entry, match.distance, match.probability) for match in matching] == found


def test_the_most_probable_entry_comes_first() -> None:
    lists = [watch_list("a", {"A123KC77": "second"}), watch_list("b", {"A123BC77": "first"})]
    found = matched(lists, "A123BC77", evidence("A123BC77", {4: ("K", 8.9)}))
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
        ("京A88731", "京A·88731"),
        ("京A88731", "京Ａ８８７３１"),
        ("12가3456", unicodedata.normalize("NFD", "12가3456")),
        ("٧١٢٦نطس", "سطن 7126"),
        ("٧١٢٦ھطس", "سطه٧١٢٦"),
        ("٧١٢٦ىأس", "سای۷۱۲۶"),
        ("۱۲ب۳۴۵۶۷", "12ب34567"),
        ("۱۲ی۳۴۵۶۷", "١٢ي٣٤٥٦٧"),
        ("12345أ6", "١٢٣٤٥|ا|٦"),
    ],
)
def test_an_entry_names_a_plate_in_any_spelling(loaded: Loaded, symbols: str, entry: str) -> None:
    scheme = joined(load_schemes("china,korea,egypt,iran,morocco,tunisia"))
    (match,) = matched([loaded(f"plate,label\n{entry},Kim\n")], symbols, evidence(symbols, scheme=scheme))
    assert (match.label, match.distance) == ("Kim", 0) and match.probability > 0.9


@pytest.mark.parametrize(
    ("scheme", "text", "entry"), [("latin", "12KA3456", "12か3456"), ("iran", "۱۲ب۳۴۵۶۷", "12ص34567")]
)
def test_an_entry_matches_no_other_plate_whose_latin_form_or_digits_it_has(
    loaded: Loaded, scheme: str, text: str, entry: str
) -> None:
    assert matched([loaded(f"plate,label\n{entry},Kim\n")], text, evidence(text, scheme=load_scheme(scheme))) == ()
