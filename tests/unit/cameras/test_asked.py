"""How long a camera is read that somebody asks for, and what the answer has."""

from dataclasses import replace

import pytest

from plate_nets.cameras.asked import AskedReading
from plate_nets.cameras.cars import Car
from plate_nets.types import Box
from tests.events import event, later

CERTAIN = Car("1", Box(0, 0, 1, 1), "A123BC77", 0.999, 0.0, seen=True)
UNCERTAIN = replace(CERTAIN, id="2", text="")
GONE = replace(UNCERTAIN, id="3", seen=False)


@pytest.mark.parametrize(
    ("cars", "seconds", "read"),
    [
        ([CERTAIN], 5.0, 1.0),
        ([CERTAIN, GONE], 5.0, 1.0),
        ([CERTAIN, UNCERTAIN], 5.0, 5.0),
        ([], 5.0, 5.0),
        ([CERTAIN], 0.5, 0.5),
        ([UNCERTAIN], 30.0, 30.0),
    ],
)
def test_a_second_is_read_and_more_until_each_text_is_certain(cars: list[Car], seconds: float, read: float) -> None:
    asked = AskedReading()
    asked.ask(seconds)
    frames = [100 + number / 4 for number in range(200)]
    assert next(time for time in frames if asked.is_over(time, cars)) == 100 + read


def test_the_answer_has_the_last_record_of_each_car_that_was_seen() -> None:
    """Also of one that was reported before, and of one that turned out to be an earlier car."""
    asked, standing, passed, new = AskedReading(), event(1), event(2), event(3)
    for each in (standing, passed):
        asked.note(each)
    first, same = asked.ask(), asked.ask(30)
    assert first is same
    asked.is_over(0.0, [replace(CERTAIN, id=standing.id), replace(CERTAIN, id=new.id)])
    joined = replace(later(passed), supersedes=new.id)
    for each in (new, later(standing), joined):
        asked.note(each)
    asked.answer()
    assert first.result(0) == [later(standing), joined]
    asked.forget([])
    again = asked.ask()
    asked.is_over(60.0, [replace(CERTAIN, id=standing.id)])
    asked.answer()
    assert again.result(0) == []
