"""Vehicles of frames -> tracks: the vehicle of a plate over all frames, its visible side, and cars without a plate."""

import math
from collections.abc import Callable, Sequence
from dataclasses import astuple, replace

import numpy as np
import pytest

from plate_nets.cameras.cars import CarEvents
from plate_nets.cameras.plate_events import Camera
from plate_nets.cameras.settings import WatcherSettings
from plate_nets.cameras.stay import CarSettings
from plate_nets.cameras.vehicles import Sights, VehicleTracker
from plate_nets.cameras.watcher import Watcher
from plate_nets.common.errors import InputError
from plate_nets.events.event import PlateEvent
from plate_nets.recognition.vehicles import with_vehicles
from plate_nets.types import Box, Plate, Vehicle
from tests.events import checked
from tests.unit.cameras.traffic import T0, Blind, noise, plate

TEXT = "A123BC77"
Look = tuple[Sequence[Plate], Sequence[Vehicle]]


def car(x: float, y: float = 300.0, height: float = 24.0, kind: str = "car", score: float = 0.8) -> Vehicle:
    """The vehicle around a plate with this centre and height: 3.5 plates wide."""
    unit = 4.4 * height
    return Vehicle(Box(x - 1.75 * unit, y - 2.2 * unit, x + 1.75 * unit, y + 0.7 * unit), kind, score)


def watch(
    look: Callable[[float], Look], seconds: float, settings: CarSettings = CarSettings(), rate: float = 10.0
) -> tuple[list[PlateEvent], CarEvents]:
    """The events of an invented video, without those at its end."""
    cars, events = CarEvents(Camera("gate"), settings), []
    for index in range(round(seconds * rate)):
        plates, vehicles = look(index / rate)
        events += cars.update(with_vehicles(plates, vehicles), T0 + index / rate, vehicles)
    return events, cars


def straight_on(time: float, come: bool) -> tuple[float, float]:
    """A car that approaches or drives away -> its plate's y and height in px."""
    z = 25 - 8 * time if come else 7 + 8 * time
    return 100 + 3000 / z, 300 / z


def last(look: Callable[[float], Look], seconds: float) -> PlateEvent:
    """The only event at the end of an invented video."""
    _, cars = watch(look, seconds)
    (final,) = cars.finish()
    return final


@pytest.mark.parametrize(("come", "side"), [(True, "front"), (False, "rear")])
def test_the_side_is_front_if_a_car_comes_and_rear_if_it_leaves(come: bool, side: str) -> None:
    def look(time: float) -> Look:
        y, height = straight_on(time, come)
        kind = "truck" if int(time * 10) % 5 == 0 else "car"
        return [plate(TEXT, 640, y, height)], [car(640, y, height, kind, 0.9)]

    events, cars = watch(look, 2)
    (final,) = cars.finish()
    assert final.vehicle is not None and events[0].vehicle is not None
    assert (final.vehicle.type, final.vehicle.side) == ("car", side), "what most frames say"
    assert final.vehicle.score == pytest.approx(0.9 * 0.8), "of all frames"
    assert final.vehicle.box.xmin < final.box.xmin and final.vehicle.box.ymax > final.box.ymax
    checked(final)


@pytest.mark.parametrize(
    ("widths", "heights", "growth"),
    [((100, 150), (80, 160), math.log(1.5)), ((150, 100), (160, 80), -math.log(1.5)), ((210, 200), (100, 200), 0.0)],
)
def test_a_vehicle_grows_if_its_width_and_its_height_do(
    widths: tuple[float, float], heights: tuple[float, float], growth: float
) -> None:
    """The edge of the picture cuts the height of a vehicle that enters at the bottom, also if it leaves."""
    sights = Sights()
    for time, (width, height) in enumerate(zip(widths, heights, strict=True)):
        sights.add(Vehicle(Box(0, 0, width, height), "car", 0.9), time)
    assert sights.growth == pytest.approx(growth)


@pytest.mark.parametrize(
    ("vehicles", "told"),
    [([car(640)], ("car", None, 0.8)), ([car(640, kind="bus", score=0.2)], ("bus", None, 0.2)), ([], None)],
    ids=["stands, so its side is unknown", "too weak to be tracked", "none"],
)
def test_the_vehicle_of_a_plate_is_told(vehicles: list[Vehicle], told: tuple[str, str | None, float] | None) -> None:
    vehicle = last(lambda time: ([plate(TEXT, 640)], vehicles), 2).vehicle
    assert (vehicle and (vehicle.type, vehicle.side, round(vehicle.score, 6))) == told


@pytest.mark.parametrize(("seen", "count"), [(True, 1), (False, 2)])
def test_the_vehicle_of_a_hidden_plate_moves_it_along(seen: bool, count: int) -> None:
    """A post hides a moving car's plate for three seconds. Its text is too weak to be recognised again."""
    weak = plate(TEXT, 0, peak=4.0)

    def look(time: float) -> Look:
        x = 200 + 100 * time
        hidden = 1 <= time < 4
        shown = replace(weak, box=plate(TEXT, x).box)
        return [] if hidden else [shown], [car(x)] if seen or not hidden else []

    cars = CarEvents(Camera("gate"))
    tracks = set()
    for index in range(60):
        plates, vehicles = look(index / 10)
        cars.update(with_vehicles(plates, vehicles), T0 + index / 10, vehicles)
        tracks |= {each.id for each in cars.cars}
    assert len(tracks) == count


def test_the_box_in_the_best_frame_is_computed_if_the_vehicle_was_missed() -> None:
    def look(time: float) -> Look:
        near = time >= 0.9
        return [plate(TEXT, 640, 300, 48 if near else 24)], [] if near else [car(640)]

    final = last(look, 1)
    assert final.box.height == 48 and final.vehicle is not None
    np.testing.assert_allclose(astuple(final.vehicle.box), astuple(car(640, 300, 48).box), atol=1)


@pytest.mark.parametrize("unread", [False, True])
def test_a_vehicle_without_a_plate_is_an_event_if_requested(unread: bool) -> None:
    settings = CarSettings(unread=unread)
    events, cars = watch(lambda time: ([], [car(200 + 200 * time, kind="bus")] if time < 2 else []), 4, settings)
    assert len(events) == unread and not cars.finish()
    for event in events:
        assert (event.plate, event.reading, event.stage, event.candidates) == ("", "", "final", ())
        assert event.vehicle is not None and event.vehicle.type == "bus" and event.box == event.vehicle.box
        assert event.frames.seen == 20 and event.dwell_sec == pytest.approx(1.9)
        checked(event)


def test_a_vehicle_with_a_reported_plate_is_not_another_event() -> None:
    def look(time: float) -> Look:
        x = 200 + 200 * time
        shown = [plate(TEXT, x)] if time < 1.5 else []
        return shown, [car(x)] if time < 3 else []

    events, cars = watch(look, 6, CarSettings(unread=True))
    assert {event.plate for event in events} == {TEXT} and len({event.id for event in events}) == 1
    assert cars.finish() == [] and not cars.plateless


def test_a_vehicle_whose_plate_cannot_be_read_is_one_event() -> None:
    """Its plate has another weak text in each frame, and makes no event of its own."""

    def look(time: float) -> Look:
        x = 200 + 200 * time
        return ([noise(x, 300, round(time * 10))], [car(x)]) if time < 2 else ([], [])

    events, cars = watch(look, 5, CarSettings(unread=True))
    assert [event.plate for event in events] == [""] and cars.finish() == []
    assert events[0].vehicle is not None


def test_a_vehicle_seen_briefly_or_uncertainly_is_not_reported() -> None:
    def look(time: float) -> Look:
        return [], [car(200 + 100 * time, score=0.45), *([car(900)] if 0.5 < time < 0.8 else [])]

    events, cars = watch(look, 3, CarSettings(unread=True))
    assert events + cars.finish() == []


def test_a_cut_ends_vehicles_too() -> None:
    _, cars = watch(lambda time: ([], [car(300)]), 1, CarSettings(unread=True))
    assert [event.plate for event in cars.cut()] == [""] and cars.finish() == []


def test_vehicles_side_by_side_that_pass_each_other_stay_two() -> None:
    tracker = VehicleTracker()
    for index in range(30):
        time = index / 10
        tracker.update([car(100 + 300 * time), car(1000 - 300 * time, 340, kind="truck")], time)
    assert [track.frames for track in tracker.tracks] == [30, 30]
    assert sorted(track.sights.judged.name for track in tracker.tracks) == ["car", "truck"]


def test_without_motion_the_tracks_stay() -> None:
    tracker = VehicleTracker()
    tracker.update([car(300)], 0.0)
    tracker.unchanged(30.0)
    assert tracker.update([car(300)], 30.5) == [] and len(tracker.tracks) == 1
    (gone,) = tracker.update([], 32.0)
    assert gone.last_seen == 30.5 and not tracker.tracks


def test_a_reader_without_vehicles_is_refused_if_they_are_requested() -> None:
    with pytest.raises(InputError, match=r"^vehicles: expected a reader with a method scene, got Blind$"):
        Watcher(Blind(), "a.mp4", WatcherSettings(vehicles=True))
