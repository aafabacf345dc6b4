"""Why plates have no text: drawn plates of each reason with the real readers, and the order of the reasons.

`python -m tests.unit.recognition.test_reasons` counts 200 drawings of each.
"""

from collections import Counter
from dataclasses import replace
from typing import get_args

import cv2
import numpy as np
import pytest

from plate_nets.countries import load_scheme
from plate_nets.events.event import event_schema
from plate_nets.recognition.local import LocalReader
from plate_nets.recognition.reasons import look, spoilt_by, why_unread
from plate_nets.types import REASON_UNITS, Box, Frame, Plate, Reading, Reason, Sight, Unread
from tests.unread import SPOILS, Spoil, drawn, unfocused, unread


def readers() -> tuple[LocalReader, LocalReader]:
    return LocalReader(threads=1), LocalReader(load_scheme("germany"), threads=1)


@pytest.fixture(scope="module")
def both() -> tuple[LocalReader, LocalReader]:
    return readers()


def counted(kind: str, count: int, both: tuple[LocalReader, LocalReader]) -> Counter[str]:
    """The reasons of drawings of one kind."""
    plates = unread(kind, count, *both)
    return Counter(why_unread(plate, load_scheme(plate.reading.scheme)).reason for plate in plates)


@pytest.mark.slow
@pytest.mark.parametrize("kind", SPOILS)
@pytest.mark.parametrize(
    ("count", "least"),
    [(5, 0.8), pytest.param(200, 0.95, marks=[pytest.mark.soak, pytest.mark.timeout(3600)])],
    ids=["short", "200_drawings"],
)
def test_the_reason_is_what_was_drawn(
    both: tuple[LocalReader, LocalReader], kind: str, count: int, least: float
) -> None:
    found = counted(kind, count, both)
    assert found[kind] >= least * count, found


def test_the_list_of_reasons_is_closed() -> None:
    schema = event_schema()["properties"]["unread"]["properties"]
    assert set(SPOILS) == set(get_args(Reason)) >= set(REASON_UNITS)
    assert schema["reason"]["enum"] == [*get_args(Reason)]


def _moving(frame: Frame, box: Box, rng: np.random.Generator) -> Frame:
    length = int(rng.uniform(0.3, 0.8) * box.height)
    return np.asarray(cv2.blur(frame, (length, 1) if rng.random() < 0.5 else (1, length)), np.uint8)


@pytest.mark.parametrize(
    ("fault", "spoil"),
    [
        ("smeared", _moving),
        ("blurred", unfocused),
        ("dark", SPOILS["dark"]),
        ("glare", SPOILS["glare"]),
        ("too_low", SPOILS["too_low"]),
        (None, SPOILS["no_format"]),
    ],
)
def test_the_fault_of_a_camera_is_what_was_drawn(fault: str | None, spoil: Spoil) -> None:
    rng = np.random.default_rng(5)
    found = []
    for _ in range(20):
        frame, box = drawn("too_low" if fault == "too_low" else "no_format", load_scheme("germany"), rng)
        plate = Plate(box, 0.8, Reading("", "", 0.5))
        found.append(spoilt_by(replace(plate, sight=look(spoil(frame, box, rng), plate))))
    assert found.count(fault) >= 19  # type: ignore[arg-type]


SEEN = Sight(brightness=0.9, glare=0.0, blur=0.7, focus=0.7, ends=0.0, edge=50.0)
PLATE = Plate(Box(0, 0, 100, 20), 0.8, Reading("", "A123BC7", 0.5), sight=SEEN)


@pytest.mark.parametrize(
    ("plate", "says"),
    [
        (PLATE, "unsure 0.5"),
        (replace(PLATE, sight=None), "unsure 0.5"),
        (replace(PLATE, box=Box(0, 0, 40, 6), sight=replace(SEEN, edge=0)), "too_low 6 px"),
        (replace(PLATE, sight=replace(SEEN, edge=-2, brightness=0.01)), "cut_off 0 px"),
        (replace(PLATE, sight=replace(SEEN, brightness=0.04, glare=0.2)), "dark 4 %"),
        (replace(PLATE, sight=replace(SEEN, glare=0.2, blur=5)), "glare 20 %"),
        (replace(PLATE, sight=replace(SEEN, blur=2.14, ends=0.5)), "blurred 2.14 px"),
        (replace(PLATE, sight=replace(SEEN, ends=0.5)), "hidden 7 characters"),
        (replace(PLATE, reading=Reading("", "A12?", 0.5)), "hidden 3 characters"),
        (replace(PLATE, reading=Reading("", "?", 0.7)), "script_unknown 0.7"),
        (replace(PLATE, reading=Reading("", "A123BC7", 0.9)), "no_format 0.9"),
        (replace(PLATE, corners=(0, 0, 20, 0, 20, 12, 0, 12)), "too_low 6 px"),  # two lines of 6 px
    ],
)
def test_an_earlier_reason_explains_the_later_ones(plate: Plate, says: str) -> None:
    assert str(why_unread(plate, load_scheme("russia"))) == says


def test_a_reader_that_nobody_knows_has_no_formats() -> None:
    assert why_unread(replace(PLATE, reading=Reading("", "A123BC7", 0.9)), None) == Unread("unsure", 0.9)


if __name__ == "__main__":
    for each in SPOILS:
        found = counted(each, 200, readers())
        print(f"{each}: {found[each] / found.total():.3f} {dict(found)}", flush=True)  # noqa: T201
