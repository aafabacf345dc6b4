"""Times of pictures: steady if the source's stamps are, and never going back."""

import pytest

from plate_nets.cameras.stamps import StampClock

ARRIVAL = 1_700_000_000.0


def positions(stamps: list[float | None], arrivals: list[float] | None = None, *, live: bool = False) -> list[float]:
    clock = StampClock(live)
    arrivals = arrivals or [0.0] * len(stamps)
    found = [clock.stamp(stamp, ARRIVAL + arrival) for stamp, arrival in zip(stamps, arrivals, strict=True)]
    assert found[0].time == ARRIVAL + arrivals[0]
    assert [round(each.time - found[0].time, 6) for each in found] == [round(each.position, 6) for each in found]
    return [round(each.position, 3) for each in found]


@pytest.mark.parametrize(
    ("stamps", "expected"),
    [
        ([5.0, 5.04, 5.08], [0, 0.04, 0.08]),
        ([0.0, 0.04, 0.5, 0.52], [0, 0.04, 0.5, 0.52]),  # a variable rate
        ([0.0, 60.0, 120.0], [0, 60, 120]),  # one picture a minute
        ([7.0, 7.04, 0.0, 0.04, 0.08], [0, 0.04, 0.08, 0.12, 0.16]),  # stamps start again
        ([0.0, 0.04, 95443.0, 95443.04], [0, 0.04, 0.08, 0.12]),  # and jump ahead
        ([0.0, 0.04, 0.04, 0.08], [0, 0.04, 0.08, 0.12]),  # one occurs twice
        ([None, None, None], [0, 0.04, 0.08]),
    ],
)
def test_a_file_uses_its_time_stamps_if_they_are_plausible(stamps: list[float | None], expected: list[float]) -> None:
    assert positions(stamps) == expected


@pytest.mark.parametrize(
    ("stamps", "arrivals", "expected"),
    [
        ([5.0, 5.1, 5.2], [0, 0.13, 0.21], [0, 0.1, 0.2]),  # stamps are steadier than arrivals
        ([5.0, 5.1, 5.2, 5.3], [0, 3.0, 3.0, 3.0], [0, 0.1, 0.2, 0.3]),  # a burst after a stall
        ([5.0, 5.1, 1.0, 1.1], [0, 0.1, 0.2, 0.3], [0, 0.1, 0.2, 0.3]),  # the camera's clock was set
        ([5.0, 99.0, 99.1], [0, 0.1, 0.2], [0, 0.1, 0.2]),
        ([0.0, 0.5, 1.0, 1.5, 2.0], [2.0, 2.1, 2.2, 2.3, 2.5], [0, 0.1, 0.2, 0.3, 0.5]),  # connecting delayed them
        ([None, None], [0, 0.7], [0, 0.7]),
        ([0.0, 0.04, 0.08], [0, 30, 60], [0, 30, 60]),  # stamps of a stream that claim a false rate
    ],
)
def test_arrival_limits_the_time_of_a_camera(
    stamps: list[float | None], arrivals: list[float], expected: list[float]
) -> None:
    assert positions(stamps, arrivals, live=True) == pytest.approx(expected, abs=0.05)


def test_a_clock_that_is_set_back_is_followed_and_the_position_continues() -> None:
    clock = StampClock(live=True)
    taken = [(5.0, 0.0), (5.1, 0.1), (5.2, -3599.8), (5.3, -3599.7), (5.4, -3599.6)]  # stamp and arrival
    stamps = [clock.stamp(stamp, ARRIVAL + arrival) for stamp, arrival in taken]
    assert [each.time - ARRIVAL for each in stamps] == pytest.approx([arrival for _, arrival in taken], abs=0.01)
    assert [each.position for each in stamps] == pytest.approx([0, 0.1, 0.1, 0.2, 0.3], abs=0.01)
    assert {each.fault for each in stamps} == {None}


@pytest.mark.parametrize(
    ("live", "taken", "faults"),
    [
        (False, [(stamp, 0.0) for stamp in (0.0, 0.04, None, 0.12, -5.0, -4.96)], [None] * 4 + ["jumped", None]),
        (
            True,
            [(5.0, 0.0), (5.1, 30.0), (5.2, 30.1), (1.0, 30.2), (99.0, 30.3)],
            [None, "late", None] + ["jumped"] * 2,
        ),
    ],
    ids=["file", "camera"],
)
def test_a_jump_is_reported_and_no_missing_stamp_or_late_picture_is_one(
    live: bool, taken: list[tuple[float | None, float]], faults: list[str | None]
) -> None:
    """``taken``: stamp and arrival."""
    clock = StampClock(live)
    assert [clock.stamp(stamp, ARRIVAL + arrival).fault for stamp, arrival in taken] == faults


def test_the_given_start_is_the_time_of_the_first_picture() -> None:
    clock = StampClock(live=False, start=1000.0)
    assert [clock.stamp(stamp, ARRIVAL).time for stamp in (3.0, 3.5)] == [1000.0, 1000.5]
