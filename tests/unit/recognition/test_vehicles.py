"""The vehicle of a plate, by its place and its size in the vehicle; rather none than a wrong one."""

import numpy as np
import pytest

from plate_nets.countries import main_scheme
from plate_nets.recognition.vehicles import rows_of, vehicles_of, with_vehicles
from plate_nets.types import Box, Plate, Reading, Vehicle
from training.synthesis.scene import render_scene

CAR = Box(100, 100, 400, 340)


def plate(xmin: float, ymin: float, width: float = 80, height: float = 18) -> Plate:
    return Plate(Box(xmin, ymin, xmin + width, ymin + height), 0.9, Reading("", "", 0.0))


def vehicle(box: Box, kind: str = "car", score: float = 0.8) -> Vehicle:
    return Vehicle(box, kind, score)


def owners(plates: list[Plate], vehicles: list[Vehicle]) -> list[int | None]:
    """By number, the vehicle of each plate."""
    found = with_vehicles(plates, vehicles)
    assert [(each.box, each.reading) for each in found] == [(each.box, each.reading) for each in plates]
    return [vehicles.index(each.vehicle) if each.vehicle else None for each in found]


def test_rows_are_vehicles_and_back() -> None:
    seen = (vehicle(CAR), vehicle(Box(0, 0, 8, 9), "motorcycle", 0.5))
    assert rows_of(seen).tolist()[1] == [0, 0, 8, 9, 0.5, 3]
    assert vehicles_of(rows_of(seen)) == (Vehicle(CAR, "car", float(np.float32(0.8))), seen[1])
    assert rows_of(()).shape == (0, 6) and vehicles_of(rows_of(())) == ()


@pytest.mark.parametrize(
    ("there", "of", "own"),
    [
        (plate(210, 280), CAR, True),
        (plate(110, 250, 40, 30), CAR, True),
        (plate(210, 110), CAR, False),
        (plate(210, 332), CAR, False),
        (plate(380, 280), CAR, False),
        (plate(120, 200, 260, 60), CAR, False),
        (plate(210, 280, 6, 2), CAR, False),
        (plate(270, 190, 40, 30), Box(250, 60, 330, 260), True),
        (plate(320, 300, 40, 12), Box(20, 20, 900, 330), True),
    ],
    ids=["bumper", "side of a car", "on the roof", "on the road", "beside it", "too large", "too small", "motorcycle",
         "lorry from its side"],
)  # fmt: skip
def test_a_plate_belongs_to_a_vehicle_by_its_place_and_size(there: Plate, of: Box, own: bool) -> None:
    assert owners([there], [vehicle(of)]) == [0 if own else None]


BESIDE, LARGE = Box(160, 130, 450, 360), Box(50, 20, 850, 600)
BUS = vehicle(LARGE, "bus")
TOGETHER: dict[str, tuple[list[Plate], list[Vehicle], list[int | None]]] = {
    "neither": ([], [], []),
    "a plate alone": ([plate(200, 270)], [], [None]),
    "a vehicle alone": ([], [vehicle(CAR)], []),
    "a weak second box": ([plate(210, 280)], [vehicle(CAR), vehicle(BESIDE, score=0.3)], [0]),
    "a weak first box": ([plate(210, 280)], [vehicle(CAR, score=0.3), vehicle(BESIDE)], [1]),
    "two boxes": ([plate(210, 280)], [vehicle(CAR), vehicle(BESIDE, score=0.7)], [None]),
    "two vehicles": ([plate(240, 280)], [vehicle(CAR), vehicle(Box(200, 110, 480, 350))], [None]),
    "two plates": ([plate(120, 280), plate(280, 280)], [vehicle(CAR)], [None, None]),
    "a car on a transporter": (
        [plate(300, 230), plate(400, 540)], [vehicle(LARGE, "truck"), vehicle(Box(200, 60, 480, 290))], [1, 0]
    ),
    "a tow": (
        [plate(105, 225, 50, 12), plate(300, 360, 90, 20)],
        [vehicle(Box(100, 80, 330, 270)), vehicle(Box(160, 130, 500, 420))], [0, 1],
    ),
    "a car pictured on a bus": (
        [plate(390, 330), plate(420, 550)], [BUS, vehicle(Box(300, 200, 560, 380), score=0.9)], [None, 0]
    ),
    "a car before a bus": ([plate(390, 560)], [BUS, vehicle(Box(300, 400, 560, 620))], [1]),
}  # fmt: skip


@pytest.mark.parametrize(("plates", "vehicles", "own"), TOGETHER.values(), ids=TOGETHER)
def test_each_plate_has_its_own_vehicle_or_none_if_it_is_unclear(
    plates: list[Plate], vehicles: list[Vehicle], own: list[int | None]
) -> None:
    assert owners(plates, vehicles) == own


@pytest.mark.parametrize("seed", range(6))
def test_plates_of_drawn_streets_have_the_cars_that_were_drawn_around_them(seed: int) -> None:
    """Streets with cars side by side and behind each other. An ambiguous plate has no vehicle."""
    scene = render_scene(main_scheme(), np.random.default_rng(seed), (1280, 720), 6)
    cars = [vehicle(each.car) for each in scene.plates]
    found = owners([Plate(each.box, 0.9, Reading("", "", 0.0)) for each in scene.plates], cars)
    told = [own == number for number, own in enumerate(found) if own is not None]
    assert all(told) and len(told) >= len(found) / 2


def test_a_plate_on_the_road_in_front_of_a_car_belongs_to_no_vehicle() -> None:
    scene = render_scene(main_scheme(), np.random.default_rng(1), (1280, 720), 1)
    (drawn,) = scene.plates
    lying = plate(drawn.box.xmin, drawn.car.ymax, drawn.box.width, drawn.box.height)
    assert owners([lying], [vehicle(drawn.car)]) == [None]
