"""Vehicles in the HTTP API, and in the formats for other servers' clients."""

from collections.abc import Iterator

import httpx
import pytest

from plate_nets.web.settings import WebSettings
from tests.vehicles import bus_reader
from tests.web.conftest import CAR, TEXT, running

PLATES = "/api/v1/plates"


@pytest.fixture(scope="module")
def street() -> Iterator[httpx.Client]:
    """A page whose reader sees a bus in every picture."""
    with running(bus_reader(), WebSettings()) as client:
        yield client


@pytest.mark.parametrize(("query", "kind"), [("", None), ("?vehicles=false", None), ("?vehicles=true", "bus")])
def test_a_plate_has_its_vehicle_if_requested(street: httpx.Client, query: str, kind: str | None) -> None:
    for sent in ({"files": {"file": CAR}}, {"content": CAR, "headers": {"Content-Type": "image/jpeg"}}):
        (picture,) = street.post(f"{PLATES}{query}", **sent).json()["pictures"]
        (plate,) = picture["plates"]
        assert plate["text"] == TEXT and (plate["vehicle"] and plate["vehicle"]["type"]) == kind


def test_plate_recognizer_s_clients_get_the_vehicle_that_was_found(street: httpx.Client) -> None:
    (result,) = street.post("/v1/plate-reader/", files={"upload": CAR}).json()["results"]
    vehicle = result["vehicle"]
    assert (vehicle["type"], vehicle["score"]) == ("Bus", 0.81)
    assert vehicle["box"]["xmin"] < result["box"]["xmin"] and vehicle["box"]["xmax"] > result["box"]["xmax"]


def test_the_format_of_codeproject_has_no_vehicles(street: httpx.Client) -> None:
    answer = street.post("/v1/vision/alpr", files={"upload": CAR}).json()
    assert answer["predictions"][0]["plate"] == TEXT and "vehicle" not in answer["predictions"][0]
