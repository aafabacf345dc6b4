"""What the plates of a camera say of its focus, light and exposure."""

from dataclasses import replace

import pytest

from plate_nets.cameras.view_check import ViewCheck
from plate_nets.types import Box, Plate, Reading, Sight

SHARP = Sight(brightness=0.8, glare=0.0, blur=0.7, focus=0.7, ends=0.0, edge=50.0)
SMEARED = replace(SHARP, blur=3.0)
UNFOCUSED = replace(SMEARED, focus=2.8)


def plate(sight: Sight | None, height: float = 20.0) -> Plate:
    return Plate(Box(0, 0, 5 * height, height), 0.8, Reading("", "", 0.5), sight=sight)


def checked(*sights: Sight, speed: float = 0.0) -> ViewCheck:
    """After as many cars as sights."""
    check = ViewCheck()
    for number, sight in enumerate(sights):
        check.note([(str(number), plate(sight), speed)])
    return check


@pytest.mark.parametrize(
    ("sights", "fault"),
    [
        ([SHARP] * 7 + [SMEARED] * 3, "smeared"),
        ([SHARP] * 8 + [SMEARED] * 2, None),
        ([SMEARED] * 3 + [UNFOCUSED] * 7, "blurred"),
        ([replace(SHARP, brightness=0.1)] * 10, "dark"),
        ([replace(SHARP, edge=0.0, blur=5.0)] * 10, None),  # of cars that leave the picture
        ([SMEARED] * 10 + [SHARP] * 50, None),
    ],
)
def test_a_fault_of_many_of_the_last_cars_is_that_of_the_camera(sights: list[Sight], fault: str | None) -> None:
    view = checked(*sights).view()
    assert view is not None and view.fault == fault


def test_a_few_cars_and_frames_of_one_car_say_nothing() -> None:
    check = checked(*[SMEARED] * 9)
    for _ in range(9):
        check.note([("8", plate(SMEARED), 0.0), ("unseen", plate(None), 0.0)])
    assert check.view() is None


def test_a_car_counts_as_at_its_largest() -> None:
    check = checked(*[SMEARED] * 10)
    for height, sight in ((40.0, SHARP), (30.0, SMEARED)):
        check.note([(str(number), plate(sight, height), 0.0) for number in range(10)])
    view = check.view()
    assert view is not None and (view.fault, view.smear, view.brightness) == (None, 0.0, 0.8)


@pytest.mark.parametrize(("speed", "shutter"), [(0.0, None), (1.0, 125), (8.0, 500), (8.1 * 1.3, 1000), (1000.0, 4000)])
def test_the_exposure_follows_from_the_speed(speed: float, shutter: int | None) -> None:
    """In plate widths a second; a width is five heights, and a plate may move a tenth of its height."""
    view = checked(*[SMEARED] * 10, speed=speed).view()
    assert view is not None and view.shutter == shutter


def test_frames_are_due_by_their_own_clock() -> None:
    check = ViewCheck()
    times = (100.0, 100.4, 100.5, 100.9, 50.0, 50.1)
    assert [time for time in times if check.is_due(time)] == [100.0, 100.5, 50.0]
