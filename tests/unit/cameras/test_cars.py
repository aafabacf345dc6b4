"""Plates of frames -> one event per car."""

import math
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from plate_nets.cameras.cars import CarEvents
from plate_nets.cameras.fusion import FusionSettings
from plate_nets.cameras.plate_events import Camera
from plate_nets.cameras.stay import CarSettings, Line
from plate_nets.cameras.zones import Zone
from plate_nets.countries import PlateScheme, joined, load_schemes
from plate_nets.events.event import PlateEvent, event_schema
from plate_nets.types import Plate
from tests.events import checked
from tests.spelling import spell
from tests.unit.cameras.traffic import T0, FrameOf, approaching, noise, plate, watch
from tests.watch_lists import watch_list

ONE = "A123BC77"
OTHER = "X900KO99"
SIMILAR = "A128BC77"


def stages(events: list[PlateEvent]) -> list[tuple[str, str]]:
    return [(event.stage, event.plate) for event in events]


def passing(text: str, time: float, start: float = 0.0) -> list[Plate]:
    """A car that crosses the picture in two seconds."""
    return [plate(text, 100 + 500 * (time - start))] if 0 <= time - start < 2 else []


@pytest.mark.parametrize("rate", [25, 5])
def test_a_passing_car_is_reported_early_and_at_the_end(rate: float) -> None:
    events = watch(lambda time: approaching(ONE, time), 4, rate)
    assert stages(events) == [("provisional", ONE), ("final", ONE)]
    first, last = events
    assert first.id == last.id and [event.revision for event in events] == [1, 2] and first.key != last.key
    assert (first.last_seen - first.first_seen).total_seconds() < 1
    assert last.heading == "towards" and last.direction is not None and 270 < last.direction < 360
    assert last.score > 0.999 and last.plate_type == "private"
    assert (last.region.code, last.region.subject, last.reading) == ("ru", "77", ONE)
    assert last.timestamp == last.last_seen and last.box.height > 20, "the best frame has the largest plate"
    assert last.corners is None, "because these plates have none"
    assert last.position_sec == pytest.approx(last.timestamp.timestamp() - T0)


def crossing(time: float) -> list[Plate]:
    """Two cars, of which one hides the other for a moment."""
    right, left = plate(ONE, 100 + 250 * time, 300), plate(OTHER, 900 - 250 * time, 306)
    return [right] if abs(time - 1.6) < 0.15 else [left, right]


@pytest.mark.parametrize(
    ("frames", "seconds", "texts"),
    [
        (lambda time: approaching(ONE, time, speed=8) * (round(time * 10) % 4 < 2), 5, [ONE]),
        (crossing, 5, [ONE, OTHER]),
        (lambda time: [plate(ONE, 300 + 20 * time, 200), plate(SIMILAR, 300 + 20 * time, 260)], 2, [ONE, SIMILAR]),
        (lambda time: passing(ONE, time) + passing(SIMILAR, time, 4), 8, [ONE, SIMILAR]),
        (lambda time: [plate(ONE, 300 + 50 * time), plate(ONE, 300 + 50 * time, 420, height=18)], 3, [ONE]),
        (lambda time: [noise(300, 400, round(time * 10))], 5, []),
        (lambda time: [replace(each, logits=None) for each in passing(ONE, time)], 4, []),
    ],
    ids=["flickers", "crossing", "similar texts", "follows", "two places", "noise", "no evidence"],
)
def test_each_car_is_reported_once(frames: FrameOf, seconds: float, texts: list[str]) -> None:
    events = watch(frames, seconds, 10)
    assert Counter(stages(events)) == {(stage, text): 1 for text in texts for stage in ("provisional", "final")}
    assert len({event.id for event in events}) == len(texts)


def test_every_event_fits_the_schema_and_survives_json() -> None:
    settings = CarSettings(lines=(Line("entry", (640.0, 0.0), (640.0, 720.0)),), zones=(upright("left", 0, 640),))
    events = watch(lambda time: [*passing(ONE, time), plate(OTHER, 800, 500)], 14, 10, settings)
    assert {event.stage for event in events} == {"provisional", "update", "final"}
    for event in events:
        assert set(checked(event)) == set(event_schema()["properties"])
        assert (event.unread is None) == bool(event.plate)


def read(symbols: str, reader: PlateScheme, x: float, y: float = 200, peak: float = 9.0, **reading: Any) -> Plate:
    """A plate that this reader reads, and what else it says of it."""
    found = plate("", x, y)
    says: dict[str, Any] = {"text": symbols, "best": symbols, "scheme": reader.name} | reading
    return replace(found, reading=replace(found.reading, **says), logits=spell(symbols, peak=peak, scheme=reader)[0])


def test_cars_of_two_readers_are_reported_with_their_countries() -> None:
    """Russia's reader reads one plate, the Latin reader the other. The wrong one reads one frame in five of each."""
    russia, turkey = schemes = load_schemes("russia,turkey")

    def frames(time: float) -> list[Plate]:
        x = 100 + 200 * time
        if round(time * 10) % 5 == 4:
            return [read("77ACK123", turkey, x, peak=4.0), read("A123BC34", russia, x, 500, peak=4.0)]
        return [read(ONE, russia, x, peak=12.0), read("34ABC123", turkey, x, 500, peak=12.0)]

    finals = [event for event in watch(frames, 3, 10, scheme=joined(schemes)) if event.stage == "final"]
    told = {event.plate: (event.region.code, event.plate_type, event.score > 0.99) for event in finals}
    assert told == {ONE: ("ru", "private", True), "34ABC123": ("tr", "three letters", True)}


@pytest.mark.parametrize(
    ("symbols", "text", "country"), [("٧١٢٦نطس", "سطن٧١٢٦", "eg"), ("117ﺗ3989", "117تونس3989", "tn")]
)
def test_an_event_has_the_text_in_the_order_of_its_country(symbols: str, text: str, country: str) -> None:
    egypt, _ = schemes = load_schemes("egypt,tunisia")
    cars = CarEvents(Camera("gate"), scheme=joined(schemes))
    for step in range(20):
        cars.update([read(symbols, egypt, 300, text="", best="")], T0 + step / 10)
    (car,) = cars.cars
    (event,) = cars.finish()
    assert car.text == "".join(each.char for each in event.characters) == event.plate == text
    assert event.candidates[0].plate == text and event.region.code == country


def test_all_frames_determine_country_and_colour() -> None:
    """A text of two countries: most frames look Romanian, two Kazakh; some are not read."""
    kazakhstan, _ = schemes = load_schemes("kazakhstan,romania")

    def frames(time: float) -> list[Plate]:
        step = round(time * 10)
        scheme, country, ground = ("kazakhstan", "kz", "yellow") if step % 10 == 0 else ("romania", "ro", "white")
        is_read = step % 10 != 5
        says: dict[str, Any] = {
            "text": "B123ABC" * is_read,
            "scheme": scheme,
            "ground": ground,
            "ground_confidence": 0.5,
        }
        says |= {"country": country if is_read else "unknown", "country_confidence": 0.75 * is_read}
        return [read("B123ABC", kazakhstan, 100 + 20 * step, **says)]

    event = watch(frames, 2, 10, scheme=joined(schemes))[-1]
    assert (event.plate, event.region.code, event.plate_type) == ("B123ABC", "ro", "Bucharest")
    assert event.country is not None and event.ground is not None
    assert (event.country.name, event.ground.name) == ("ro", "white")
    assert (event.country.score, event.ground.score) == pytest.approx((0.75 * 16 / 18, 0.5 * 18 / 20))
    again = PlateEvent.from_dict(checked(event))
    assert (again.country, again.ground) == (event.country, event.ground)


def test_readings_that_flicker_are_one_text() -> None:
    wrong = [{4: ("K", 10.5)}, {}, {1: ("7", 10.5)}, {}, {6: ("1", 10.5)}]
    events = watch(lambda time: [plate(ONE, 100 + 300 * time, doubts=wrong[round(time * 10) % 5])], 2, 10)
    assert {event.plate for event in events} == {ONE} and events[-1].stage == "final"
    assert events[-1].frames.agreeing < events[-1].frames.read == events[-1].frames.seen == 20


def corrected(first: str, x: float, time: float, after: float, peak: float = 10.0) -> list[Plate]:
    """A car that drives on, of which early frames read another text, with this certainty."""
    return [plate(first, x, peak=peak) if time < after else plate(ONE, x, peak=12.0)]


def test_a_text_that_later_frames_correct_is_updated() -> None:
    events = watch(lambda time: corrected(SIMILAR, 100 + 300 * time, time, after=0.6), 4, 10)
    assert stages(events) == [("provisional", SIMILAR), ("update", ""), ("update", ONE), ("final", ONE)]
    assert len({event.id for event in events}) == 1


def test_a_parked_car_is_one_event_with_a_growing_dwell() -> None:
    events = watch(lambda time: [plate(ONE, 300 + math.sin(time * 9))], 40, 5)
    assert stages(events) == [("provisional", ONE), ("update", ONE), ("final", ONE)]
    assert [event.is_parked for event in events] == [False, True, True]
    assert events[-1].dwell_sec == pytest.approx(39.8)
    assert events[-1].direction is None and events[-1].heading is None and events[-1].speed == 0


def test_a_parked_car_stays_tracked_while_the_motion_gate_skips_frames() -> None:
    cars = CarEvents(Camera("gate"))
    events = []
    for frame in range(3):
        events += cars.update([plate(ONE, 300)], T0 + frame / 5)
    for second in range(1, 3600):
        events += cars.unchanged(T0 + second)
    assert stages(events) == [("provisional", ONE), ("update", ONE)]
    events = cars.update([], T0 + 3600)
    assert stages(events) == [("final", ONE)] and events[0].dwell_sec == 3599


def test_a_car_that_returns_within_the_memory_keeps_its_id() -> None:
    events = watch(lambda time: passing(ONE, time) + passing(ONE, time, 30), 40, 10)
    assert stages(events) == [("provisional", ONE), ("final", ONE), ("final", ONE)]
    assert len({event.id for event in events}) == 1 and [event.revision for event in events] == [1, 2, 3]
    assert events[-1].first_seen == events[0].first_seen and events[-1].frames.seen == 40


def test_a_car_that_returns_after_the_memory_is_a_new_event() -> None:
    events = watch(lambda time: passing(ONE, time) + passing(ONE, time, 70), 80, 10)
    assert stages(events) == [("provisional", ONE), ("final", ONE)] * 2
    assert len({event.id for event in events}) == 2


def test_at_one_frame_a_minute_each_car_is_one_event() -> None:
    def frames(time: float) -> list[Plate]:
        minute = round(time / 60)
        return [plate(ONE, 300, peak=12.0), *([plate(OTHER, 700, peak=12.0)] if minute == 2 else [])]

    events = watch(frames, 600, 1 / 60)
    assert events[0].is_parked
    expected = [("final", ONE), ("final", OTHER), ("provisional", ONE)]  # the other is seen in a single frame
    assert sorted(stages(events)) == sorted(expected)


def test_two_reported_parts_of_a_car_become_one_event() -> None:
    def frames(time: float) -> list[Plate]:
        if time < 1:
            return [plate(ONE, 100 + 50 * time, peak=12.0)]
        return [] if time < 2 else corrected(SIMILAR, 600 + 300 * (time - 2), time, after=2.5)

    events = watch(frames, 6, 10)
    told = [("provisional", ONE), ("final", ONE), ("provisional", SIMILAR), ("update", ""), ("update", ONE)]
    assert stages(events) == [*told, ("final", ONE)]
    assert events[4].supersedes == events[2].id != events[0].id
    assert {events[0].id} == {events[index].id for index in (1, 4, 5)}


def test_times_that_go_back_slightly_count_as_now() -> None:
    cars = CarEvents(Camera("gate"))
    times = [0.0, 0.2, 0.1, 0.3, 0.25, 0.4]
    events = [event for time in times for event in cars.update([plate(ONE, 300 + 50 * time)], T0 + time)]
    assert stages(events + cars.finish()) == [("provisional", ONE), ("final", ONE)]


def stand(cars: CarEvents, text: str = ONE, frames: range = range(8), x: float = 300) -> list[PlateEvent]:
    """The events of a car that stands there for some of the frames at 10 frames/s."""
    return [event for frame in frames for event in cars.update([plate(text, x)], T0 + frame / 10)]


@pytest.mark.parametrize(("text", "x"), [("A123BC78", 300), (ONE, 900)], ids=["another", "the same"])
def test_after_a_cut_a_car_is_known_by_its_text_alone(text: str, x: float) -> None:
    cars = CarEvents(Camera("gate"))
    before = stand(cars) + cars.cut()
    assert stages(before) == [("provisional", ONE), ("final", ONE)]
    assert [(car.id, car.seen) for car in cars.cars] == [(before[0].id, False)], "it is remembered"
    after = stand(cars, text, range(8, 16), x) + cars.finish()
    assert stages(after) == [("provisional", text)] * (text != ONE) + [("final", text)]
    assert ({event.id for event in after} == {before[0].id}) == (text == ONE)


def test_a_clock_that_goes_back_ends_all_cars() -> None:
    cars = CarEvents(Camera("gate"))
    events = stand(cars) + stand(cars, frames=range(-36_000, -35_992)) + cars.finish()
    assert stages(events) == [("provisional", ONE), ("final", ONE)] * 2
    assert events[2].timestamp < events[0].timestamp
    assert events[2].position_sec >= events[1].position_sec


def test_a_clock_that_jumps_ahead_ends_missed_tracks() -> None:
    cars = CarEvents(Camera("gate"))
    events = stand(cars) + cars.update([], T0 + 7200)
    assert stages(events) == [("provisional", ONE), ("final", ONE)] and events[-1].dwell_sec == pytest.approx(0.7)
    assert cars.cars == ()


def test_a_crossing_has_a_direction() -> None:
    line = Line("entry", (600.0, 700.0), (600.0, 0.0))  # upwards
    events = watch(lambda time: passing(ONE, time), 4, 25, CarSettings(lines=(line,)))
    (crossing,) = events[-1].crossings
    assert (crossing.line, crossing.direction) == ("entry", "left to right")
    assert crossing.timestamp == pytest.approx(datetime.fromtimestamp(T0 + 1.0, UTC), abs=timedelta(seconds=0.1))
    (back,) = watch(lambda time: [plate(ONE, 1100 - 500 * time)], 2, 25, CarSettings(lines=(line,)))[-1].crossings
    assert back.direction == "right to left"
    beside = Line("beside", (600.0, 0.0), (600.0, 100.0))
    assert watch(lambda time: passing(ONE, time), 4, 25, CarSettings(lines=(beside,)))[-1].crossings == ()


def upright(name: str, left: float, right: float) -> Zone:
    """A zone as high as the picture."""
    return Zone(name, ((left, 0.0), (right, 0.0), (right, 720.0), (left, 720.0)))


def visits(event: PlateEvent) -> list[tuple[str, float | None, float | None]]:
    """Zones with the seconds at which the car entered and left."""
    return [(each.zone, seconds(each.entered), seconds(each.left)) for each in event.zones]


def seconds(moment: datetime | None) -> float | None:
    return None if moment is None else round(moment.timestamp() - T0, 1)


def test_an_event_says_when_its_car_entered_and_left_zones() -> None:
    zones = (upright("in", 0, 350), upright("wide", 300, 1100), upright("far", 2000, 2100))
    events = watch(lambda time: passing(ONE, time), 4, 25, CarSettings(zones=zones))
    # Of 500 px/s from 100; at the first event, after 0.3 s, it is in one zone
    assert [event.stage for event in events] == ["provisional", "update", "final"]
    assert visits(events[0]) == [("in", 0.0, None)]
    assert visits(events[1]) == [("in", 0.0, None), ("wide", 0.4, None)]
    assert visits(events[-1]) == [("in", 0.0, 0.5), ("wide", 0.4, 2.0)]
    assert watch(lambda time: passing(ONE, time), 4)[-1].zones == ()


def test_a_car_on_the_border_of_a_zone_visits_it_once() -> None:
    settings = CarSettings(zones=(upright("in", 0, 300),))
    events = watch(lambda time: [plate(ONE, 300 + 20 * math.sin(9 * time) + 300 * max(0, time - 3))], 6, 25, settings)
    ((zone, entered, left),) = visits(events[-1])
    assert (zone, entered) == ("in", 0.0) and left == pytest.approx(3, abs=0.4)


def test_a_car_that_returns_visits_a_zone_again() -> None:
    settings = CarSettings(zones=(upright("in", 0, 350),))
    events = watch(lambda time: passing(ONE, time) + passing(ONE, time, 20), 24, 25, settings)
    assert len({event.id for event in events}) == 1
    assert visits(events[-1]) == [("in", 0.0, 0.5), ("in", 20.0, 20.5)]
    hidden = watch(lambda time: [] if 1 < time < 1.5 else [plate(ONE, 200 + time)], 4, 25, settings)
    assert visits(hidden[-1]) == [("in", 0.0, 4.0)]


def test_speed_and_direction_are_those_of_the_way() -> None:
    event = watch(lambda time: [plate(ONE, 100 + 211.2 * time)], 3, 25)[-1]  # a plate is 105.6 px wide
    assert event.speed == pytest.approx(2.0, rel=0.1)
    assert event.direction == pytest.approx(0.0, abs=1) or event.direction == pytest.approx(360, abs=1)
    assert event.heading is None
    away = watch(lambda time: approaching(ONE, max(0.0, 1.2 - time)), 1.2, 25)[-1]
    assert away.heading == "away" and away.direction is not None and 90 < away.direction < 180


def test_a_plate_that_the_edge_cuts_in_the_first_frame_does_not_come_closer() -> None:
    def leaving(time: float) -> list[Plate]:
        (seen,) = approaching(ONE, 3.6 - time, speed=5.0)
        box = seen.box
        return [seen if time else replace(seen, box=replace(box, ymax=box.ymin + 0.3 * box.height), corners=())]

    assert watch(lambda time: leaving(time + 0.01), 1.0, 25)[-1].heading == "away"
    assert watch(leaving, 1.0, 25)[-1].heading is None


def test_cars_report_their_best_frame_and_are_forgotten_after_the_memory() -> None:
    cars = CarEvents(Camera("gate"))
    kept: dict[str, int] = {}
    for frame in range(20):
        time = T0 + frame / 25
        events = cars.update(approaching(ONE, frame / 25), time)
        kept |= {car.id: frame for car in cars.cars if car.best_time == time}
    (car,) = cars.cars
    assert car.seen and car.text == ONE and kept == {car.id: 19}
    events = cars.update([], T0 + 30)
    assert [event.id for event in events] == [car.id] and [each.seen for each in cars.cars] == [False]
    cars.update([], T0 + 100)
    assert cars.cars == ()


def test_a_car_without_a_certain_text_has_an_event_if_requested() -> None:
    shown = [plate(ONE, 300, doubts={4: ("K", 8.5)})]
    lists = [watch_list("staff", {"A123KC77": "Kim", ONE: "Olga"})]
    assert watch(lambda _: shown, 1, 10) == []
    cars = CarEvents(Camera("gate"), CarSettings(unread=True), watch_lists=lists)
    assert [event for frame in range(10) for event in cars.update(shown, T0 + frame / 10)] == []
    (event,) = cars.finish()
    assert (event.stage, event.plate, event.score, event.reading, event.characters) == ("final", "", 0.0, ONE, ())
    assert [each.plate for each in event.candidates[:2]] == [ONE, "A123KC77"]
    assert 0.5 < event.candidates[0].score < 0.99 and event.watch == ()
    assert event.unread is not None and event.unread.reason == "unsure"
    checked(event)
    assert cars.update([noise(300, 400, seed=1)], T0 + 5) == [] == cars.finish()


def test_a_reported_text_is_withdrawn_if_no_text_is_certain_any_more() -> None:
    lists = [watch_list("staff", {SIMILAR: "Olga"})]
    events = watch(lambda time: corrected(SIMILAR, 300 + 300 * time, time, 0.5, peak=9.0), 1, 10, watch_lists=lists)
    assert stages(events)[0] == ("provisional", SIMILAR)
    assert len(events[0].watch) == 1
    assert events[-1].stage == "final" and (events[-1].plate, events[-1].score, events[-1].watch) == ("", 0.0, ())


def test_a_barely_certain_text_waits_for_the_end() -> None:
    shown = [plate(ONE, 300, doubts={4: ("8", 4.0)})]  # one look, so it gets no more certain
    score = watch(lambda _: shown, 1, settings=CarSettings(unread=True))[-1].candidates[0].score
    for allowed, expected in ((0.9, []), (1.8, ["final"]), (2.2, ["provisional", "final"])):
        settings = CarSettings(fusion=FusionSettings(sure=1 - allowed * (1 - score)))
        assert [event.stage for event in watch(lambda _: shown, 1, settings=settings)] == expected


@pytest.mark.parametrize("sure", [0.9, 0.99])
def test_events_are_consistent_and_reach_the_threshold(sure: float) -> None:
    doubts = [{4: ("K", 7.0)}, {}, {7: ("1", 6.0)}]
    settings = CarSettings(fusion=FusionSettings(sure=sure))
    event = watch(lambda time: [plate(ONE, 100 + 250 * time, doubts=doubts[round(time * 10) % 3])], 3, 10, settings)[-1]
    scores = [each.score for each in event.candidates]
    assert (event.stage, event.plate, event.candidates[0].plate) == ("final", ONE, ONE)
    assert event.score == scores[0] >= sure and scores == sorted(scores, reverse=True) and sum(scores) <= 1
    assert "".join(each.char for each in event.characters) == ONE
    assert min(each.score for each in event.characters) >= event.score


def test_watch_lists_are_matched_by_the_evidence() -> None:
    lists = [watch_list("staff", {"A123KC77": "Kim", OTHER: "Olga"}), watch_list("stolen", {"A123BC99": "red"})]

    def frames(time: float) -> list[Plate]:
        doubt = 12.05 if round(time * 10) == 3 else 4.0  # one frame reads an entry, but all together do not
        return [plate(ONE, 300 + 200 * time, peak=12.0, doubts={4: ("K", doubt)})]

    event = watch(frames, 1, 10, watch_lists=lists)[-1]
    assert (event.stage, event.plate, event.watch) == ("final", ONE, ())
    (event,) = watch(lambda time: [plate(OTHER, 300, peak=12.0)], 0.1, 10, watch_lists=lists)
    (match,) = event.watch
    assert (match.list, match.entry, match.label, match.distance) == ("staff", OTHER, "Olga", 0)
    assert match.probability > 0.99


def test_an_event_has_the_properties_of_its_camera_and_the_corners_of_its_best_frame() -> None:
    zone = timezone(timedelta(hours=3))
    cars = CarEvents(Camera("gate-1", "rtsp://host/ch1", "given", zone))
    cars.update([replace(plate(ONE, 300, peak=12.0), corners=tuple(map(float, range(8))))], 1_700_000_000.5)
    (event,) = cars.finish()
    assert (event.camera_id, event.source_url, event.clock) == ("gate-1", "rtsp://host/ch1", "given")
    assert event.corners == ((0.0, 1.0), (2.0, 3.0), (4.0, 5.0), (6.0, 7.0))
    record = event.to_dict()
    assert record["timestamp"] == "2023-11-14T22:13:20.500Z"
    assert record["timestamp_local"] == "2023-11-15T01:13:20.500+03:00"
