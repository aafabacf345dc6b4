"""One server, plates of two countries: the caller, the server's setting and the plate decide which scheme reads."""

from collections.abc import Iterator
from pathlib import Path

import cv2
import numpy as np
import pytest

from plate_nets.client import PlateClient, parse_url
from plate_nets.client.transports import ServerAccess, open_transport
from plate_nets.client.transports.calls import Input, infer
from plate_nets.common.errors import InputError
from plate_nets.contract import COUNTRY, IMAGE, LPRNET, LPRNET_LATIN, PLATE_RECOGNITION, SCHEME, SCHEMES
from plate_nets.countries import load_scheme, main_scheme
from plate_nets.countries.designs import GROUNDS, UNKNOWN
from plate_nets.triton.server import EmbeddedTriton
from plate_nets.types import STEPS, Frame, Plate
from tests.frames import Placed, compose
from tests.serve import Served
from training.synthesis import plates

RUSSIA, UZBEKISTAN = main_scheme(), load_scheme("uzbekistan")
AMERICA = load_scheme("united_states")
RUSSIAN, UZBEK, AMERICAN = "A123BC77", "01A234BC", "ABC1234"


def two_countries() -> Frame:
    """A Russian plate with an Uzbek one to its right."""
    frame = compose(600, 900, [Placed(RUSSIAN, 120, 400)])
    drawn = plates.draw(UZBEKISTAN, "private", UZBEK, np.random.default_rng(3))
    frame[400:434, 600:760] = cv2.resize(drawn, (160, 34), interpolation=cv2.INTER_AREA)
    return frame


MIXED = two_countries()


@pytest.fixture(scope="module")
def mixed(model_repository: Path) -> Iterator[EmbeddedTriton]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PLATES_PLATE_RECOGNITION_SCHEME", "russia,uzbekistan,united_states")
        patch.setenv("PLATES_YOLO_MAX_PIXELS", str(MIXED.size // 3))
        with EmbeddedTriton(model_repository, exit_timeout=0) as server:
            yield server


@pytest.fixture(params=["http", "grpc"])
def url(request: pytest.FixtureRequest, mixed: EmbeddedTriton) -> str:
    return f"http://{mixed.http_url}" if request.param == "http" else f"grpc://{mixed.grpc_url}"


def test_each_plate_is_read_by_its_own_scheme(url: str) -> None:
    with PlateClient(url, timeout=60) as client:
        found = {plate.reading.text: plate for plate in client.read(MIXED, evidence=True)}
        client.health()
    assert set(found) == {RUSSIAN, UZBEK}
    assert [(found[text].reading.scheme, found[text].reading.format) for text in (RUSSIAN, UZBEK)] == [
        ("russia", "private"),
        ("uzbekistan", "private"),
    ]
    shapes = {plate.logits.shape for plate in found.values() if plate.logits is not None}
    assert shapes == {(UZBEKISTAN.classes, STEPS)}, "padded to the most classes"


@pytest.mark.parametrize(("scheme", "text"), [(RUSSIA, RUSSIAN), (UZBEKISTAN, UZBEK)])
def test_a_request_for_a_scheme_gets_only_its_plates(url: str, scheme: object, text: str) -> None:
    with PlateClient(url, timeout=60, scheme=scheme) as client:  # type: ignore[arg-type]
        readings = [plate.reading for plate in client.read(MIXED, evidence=True)]
    assert sorted(reading.text for reading in readings) == ["", text]
    assert {reading.scheme for reading in readings} == {scheme.name}  # type: ignore[attr-defined]


@pytest.mark.parametrize("asked", ["brazil", "russia,atlantis", "cis", " "])
def test_a_scheme_that_is_not_served_is_refused_with_the_served_ones(url: str, asked: str) -> None:
    _, encoded = cv2.imencode(".jpg", MIXED)
    call = infer(PLATE_RECOGNITION, Input(IMAGE, encoded.reshape(-1)), outputs=[SCHEMES], parameters={SCHEME: asked})
    with open_transport(ServerAccess(parse_url(url))) as transport, pytest.raises(InputError) as caught:
        transport.send(call, 60)
    assert "scheme: expected russia or uzbekistan or united_states, got" in str(caught.value)


def test_a_short_plate_may_have_one_line_if_a_requested_country_has_such_plates(url: str) -> None:
    frame = compose(600, 900, [Placed(RUSSIAN, 120, 400)])
    drawn = plates.draw(AMERICA, "letters first", AMERICAN, np.random.default_rng(3))
    frame[340:420, 600:760] = cv2.resize(drawn, (160, 80), interpolation=cv2.INTER_AREA)
    with PlateClient(url, timeout=60) as client:
        found = {plate.reading.text: (plate.reading.scheme, plate.reading.format) for plate in client.read(frame)}
    assert found == {RUSSIAN: ("russia", "private"), AMERICAN: ("united_states", "letters first or personal")}


def test_country_and_colour_are_given_for_several_schemes_or_on_request(url: str, mixed: EmbeddedTriton) -> None:
    where = Served(mixed.http_url, mixed.grpc_url, mixed.control_key)

    def looked(client: PlateClient, appearance: bool = False) -> tuple[int, list[Plate]]:
        (before,) = where.executions(COUNTRY.name)
        found = client.read(MIXED, appearance=appearance)
        (after,) = where.executions(COUNTRY.name)
        return after - before, found

    with PlateClient(url, timeout=60, scheme=RUSSIA) as one, PlateClient(url, scheme=[RUSSIA, UZBEKISTAN]) as several:
        times, found = looked(one)
        assert times == 0 and {plate.country + plate.ground for plate in found} == {""}
        for times, found in (looked(one, appearance=True), looked(several)):
            assert times == 1 and {plate.ground for plate in found} <= set(GROUNDS)
            assert {plate.country for plate in found} <= {"ru", "uz", UNKNOWN}
            assert all(0 < plate.ground_confidence <= 1 for plate in found)


def test_settings_of_a_model_come_from_the_environment(url: str) -> None:
    with PlateClient(url, timeout=60) as client, pytest.raises(InputError, match="at most 540000 pixels, got 540900"):
        client.read(compose(601, 900))


def test_only_readers_that_are_needed_are_loaded(mixed: EmbeddedTriton) -> None:
    assert mixed.models == ("yolo", "stn", LPRNET.name, LPRNET_LATIN.name, "country", "plate_recognition")
