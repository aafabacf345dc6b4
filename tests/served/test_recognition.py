"""The served pipeline's answers for frames with known plates."""

import itertools
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest
import tritonclient.http as httpclient

from plate_nets.client import PlateClient, WireProtocol
from plate_nets.common.control_key import headers
from plate_nets.contract import MODELS, models
from plate_nets.countries import main_scheme
from plate_nets.evaluation.dataset import load_dataset
from plate_nets.networks.runtimes.precision import CALIBRATION, SCENE
from plate_nets.recognition.decoding import DecodingSettings, PlateDecoder
from plate_nets.recognition.health import known_picture
from plate_nets.recognition.images import decode_image
from plate_nets.recognition.local import LocalReader
from plate_nets.recognition.reader import FrameLimits
from plate_nets.types import Frame, Plate
from tests.frames import ASPECT, Placed, compose, encode, hard_to_read, overlap
from tests.paths import PHOTOS, needs_photos
from tests.served.conftest import Served
from tests.waiting import eventually

TEXTS = ("A123BC77", "M456OP199", "K777AA97", "H555TX36", "E001KX77", "C482MT36", "T312BE97", "B060EP35")
CAR = compose(480, 640, [Placed("A123BC77", 100, 300), Placed("M456OP199", 380, 120)])


def texts(plates: list[Plate]) -> set[str]:
    return {plate.reading.text for plate in plates} - {""}


def check(plates: list[Plate], placed: Placed) -> None:
    """Check that one plate is read, with its box where it was placed."""
    found = next((plate for plate in plates if plate.reading.text == placed.text), None)
    assert found is not None, f"{placed.text} not among {plates}"
    assert overlap(found.box, placed.box) > 0.5, (found.box, placed.box)


def test_the_known_picture(client: PlateClient) -> None:
    """The client has no key, and needs none."""
    assert client.is_ready()
    client.health()
    assert texts(client.read(known_picture().image)) == set(known_picture().texts)


def test_two_plates_come_highest_score_first(client: PlateClient) -> None:
    plates = client.read(CAR)
    assert {"A123BC77", "M456OP199"} <= texts(plates)
    assert [plate.score for plate in plates] == sorted((plate.score for plate in plates), reverse=True)
    assert all(0 < plate.score <= 1 and 0 <= plate.reading.confidence <= 1 for plate in plates)


@pytest.mark.parametrize("protocol", ["http", "grpc"])
def test_a_caller_can_set_the_minimum_confidence(served: Served, reader: LocalReader, protocol: WireProtocol) -> None:
    blurred = hard_to_read(CAR)
    with PlateClient(served.url(protocol), protocol, timeout=60) as client:
        for sure in (0.5, None, 0.95, 0.9999):
            plates = client.read(blurred, sure=sure)
            least = DecodingSettings().sure if sure is None else sure
            assert [bool(each.reading.text) for each in plates] == [each.reading.confidence >= least for each in plates]
            assert [each.reading.text for each in plates] == [
                each.reading.text for each in reader.read(blurred, sure=sure)
            ]
        assert texts(client.read(blurred, sure=0.5)) and not texts(client.read(blurred, sure=0.9999))


def test_corners_turn_with_the_plate_and_a_mirrored_one_gets_no_text(
    http_client: PlateClient, reader: LocalReader
) -> None:
    matrix = cv2.getRotationMatrix2D((320, 240), -12, 1)
    turned = np.asarray(cv2.warpAffine(CAR, matrix, (640, 480), borderValue=(110, 110, 110)), np.uint8)
    plates = http_client.read(turned)
    local = reader.read(turned)
    assert [plate.corners for plate in plates] == [pytest.approx(plate.corners, abs=0.5) for plate in local]
    (plate,) = (plate for plate in plates if plate.reading.text == "A123BC77")
    assert plate.corners[:2] == pytest.approx(matrix @ (100, 300, 1), abs=0.25 * 160 * ASPECT)
    assert texts(http_client.read(np.ascontiguousarray(CAR[:, ::-1]))) == set()


def test_a_request_for_the_earlier_outputs_gets_just_these(served: Served) -> None:
    former = ["coordinates", "texts", "scores", "confidences", "readings"]
    frame = httpclient.InferInput("input__0", CAR.shape, "UINT8")
    frame.set_data_from_numpy(CAR)
    with httpclient.InferenceServerClient(served.http) as triton:
        outputs = [httpclient.InferRequestedOutput(name) for name in former]
        answer = triton.infer("plate_recognition", [frame], outputs=outputs).get_response()
    assert [each["name"] for each in answer["outputs"]] == former


@pytest.mark.parametrize("size", [(900, 600), (1000, 400), (300, 1200), (721, 1283), (1500, 2000)])
def test_coordinates_are_pixels_of_the_frame_as_sent(http_client: PlateClient, size: tuple[int, int]) -> None:
    h, w = size
    width = max(150, max(h, w) // 8)
    placed = Placed("A123BC77", (w - width) // 2, h // 2, width)
    check(http_client.read(compose(h, w, [placed])), placed)


PLACES = list(itertools.product((0, 0.5, 1), (0, 0.5, 1)))
PLACES.remove((0.5, 0.5))


@pytest.mark.parametrize("place", PLACES, ids=lambda place: f"{place[0]:g}down-{place[1]:g}right")
@pytest.mark.parametrize("size", [(480, 640), (900, 600)])
def test_plates_are_read_at_each_edge_and_corner(
    http_client: PlateClient, size: tuple[int, int], place: tuple[float, float]
) -> None:
    h, w = size
    width, height = 150, round(150 * ASPECT)
    text = TEXTS[PLACES.index(place)]
    placed = Placed(text, round(place[1] * (w - width)), round(place[0] * (h - height)), width)
    plates = http_client.read(compose(h, w, [placed]))
    check(plates, placed)
    for box in (plate.box for plate in plates):
        assert 0 <= box.xmin < box.xmax <= w and 0 <= box.ymin < box.ymax <= h


def test_200_plates_in_a_picture(http_client: PlateClient) -> None:
    placed = [
        Placed(f"{a}{i + 1:03d}{b}{c}77", 200 * (i % 10) + 30, 100 * (i // 10) + 10, 140)
        for i, (a, b, c) in enumerate(itertools.islice(itertools.product("ABEKMHOPCTYX", repeat=3), 200))
    ]
    plates = http_client.read(compose(2000, 2000, placed))
    found = texts(plates) & {each.text for each in placed}
    assert found
    for each in placed:
        if each.text in found:
            check(plates, each)
    assert "A123BC77" in texts(http_client.read(CAR))


def test_the_networks_of_the_reader_do_not_run_without_a_plate(served: Served, http_client: PlateClient) -> None:
    def run(frame: Frame, *, with_plates: bool) -> list[int]:
        """How often each model runs for a frame."""
        models = ("plate_recognition", "yolo", "stn", "lprnet")
        before = served.executions(*models)
        assert bool(http_client.read(frame)) == with_plates
        return [b - a for a, b in zip(before, served.executions(*models), strict=True)]

    # The server counts after it answers, so the count of the previous frame may come late
    assert eventually(lambda: run(np.full((480, 640, 3), 90, np.uint8), with_plates=False) == [1, 1, 0, 0], 10)
    assert eventually(lambda: run(CAR, with_plates=True) == [1, 1, 1, 1], 10)


@pytest.mark.parametrize("suffix", [".png", ".bmp", ".webp", ".jpg", ".heic", ".avif"])
def test_an_encoded_picture_gets_the_same_answer_as_its_frame(http_client: PlateClient, suffix: str) -> None:
    encoded = encode(CAR, suffix)
    plates = http_client.read(encoded)
    assert plates
    assert plates == http_client.read(decode_image(encoded, FrameLimits()))


FRAMES = [
    CAR,
    compose(900, 600, [Placed("K777AA97", 200, 500, 140), Placed("H555TX36", 300, 100, 150)]),
    compose(720, 1280, [Placed(text, 40 + 300 * (i % 4), 100 + 300 * (i // 4)) for i, text in enumerate(TEXTS)]),
    np.full((480, 640, 3), 90, np.uint8),
]


def agree(ones: list[Plate], others: list[Plate]) -> None:
    """Check for the same texts, and boxes within half a pixel."""
    assert [(one.reading.text, one.reading.best) for one in ones] == [
        (other.reading.text, other.reading.best) for other in others
    ]
    for one, other in zip(ones, others, strict=True):
        sides = [(each.box.xmin, each.box.ymin, each.box.xmax, each.box.ymax) for each in (one, other)]
        assert sides[0] == pytest.approx(sides[1], abs=0.5)
        rounding = 0.01 if one.reading.text else 0.05  # uncertain values vary more
        sureness = [(each.score, each.reading.confidence, *each.reading.characters) for each in (one, other)]
        assert sureness[0] == pytest.approx(sureness[1], abs=rounding)


@pytest.mark.parametrize("frame", FRAMES, ids=["two", "tall", "eight", "none"])
def test_http_grpc_and_one_process_agree(served: Served, reader: LocalReader, frame: np.ndarray) -> None:
    with PlateClient(served.http) as http, PlateClient(served.grpc, "grpc") as grpc:
        over_http = http.read(frame, evidence=True)
        assert over_http == grpc.read(frame, evidence=True)
    agree(over_http, reader.read(frame))


@needs_photos
def test_server_and_one_process_agree_on_photos(client: PlateClient, reader: LocalReader) -> None:
    photos = [path.read_bytes() for path, _ in list(load_dataset(PHOTOS).photos())[::50]]
    answers = [client.read(photo, evidence=True) for photo in photos]
    for photo, answer in zip(photos, answers, strict=True):
        agree(answer, reader.read(photo))
    assert sum(bool(plate.reading.text) for answer in answers for plate in answer) >= 3


def test_vehicles_are_the_same_as_from_the_reader_in_process(served: Served, reader: LocalReader) -> None:
    """This holds whatever vehicles the weights find."""
    frame = np.asarray(cv2.imread(str(CALIBRATION / SCENE)), np.uint8)
    expected = reader.scene(frame)
    with PlateClient(served.http) as http, PlateClient(served.grpc, "grpc") as grpc:
        scene = http.scene(frame)
        assert scene == grpc.scene(frame)
        assert http.read(frame, vehicles=True) == scene.plates
    assert [each.type for each in scene.vehicles] == [each.type for each in expected.vehicles]
    assert [each.vehicle is None for each in scene.plates] == [each.vehicle is None for each in expected.plates]
    for ours, theirs in zip(scene.vehicles, expected.vehicles, strict=True):
        assert ours.score == pytest.approx(theirs.score, abs=0.05)


@pytest.mark.parametrize("frame", FRAMES, ids=["two", "tall", "eight", "none"])
def test_evidence_is_returned_if_requested(http_client: PlateClient, frame: np.ndarray) -> None:
    usual, plates = http_client.read(frame), http_client.read(frame, evidence=True)
    assert [(plate.logits, plate.reading.characters) for plate in usual] == [(None, ())] * len(plates)
    assert [replace(plate, reading=replace(plate.reading, characters=())) for plate in plates] == usual
    for plate in plates:
        assert plate.logits is not None
        (reading,) = PlateDecoder(main_scheme()).decode(plate.logits[None])
        told = plate.reading
        assert (told.text, told.best, told.format, told.scheme) == (
            reading.text,
            reading.best,
            reading.format,
            "russia",
        )
        assert plate.reading.characters == pytest.approx(reading.characters, abs=1e-6)


def test_requests_of_other_threads_do_not_change_an_answer(client: PlateClient) -> None:
    """Requests of many threads with one client meet in one batch. Each must be answered as if it were alone."""
    alone = [client.read(frame) for frame in FRAMES]

    def ask(number: int) -> tuple[int, list[Plate]]:
        return number % len(FRAMES), client.read(FRAMES[number % len(FRAMES)])

    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(ask, range(24)))
    for number, plates in answers:
        assert [(plate.reading.text, plate.reading.best, plate.box) for plate in plates] == [
            (plate.reading.text, plate.reading.best, plate.box) for plate in alone[number]
        ]
        for plate, expected in zip(plates, alone[number], strict=True):
            assert plate.reading.confidence == pytest.approx(expected.reading.confidence, abs=1e-3)


def test_published_client_code_works_unchanged(served: Served, http_client: PlateClient, tmp_path: Path) -> None:
    path = tmp_path / "car.png"
    cv2.imwrite(str(path), CAR)
    url = served.http

    # As this pipeline's clients write it
    triton_client = httpclient.InferenceServerClient(url=url, verbose=False)
    image = cv2.imread(str(path))
    inputs = [httpclient.InferInput("input__0", image.shape, "UINT8")]
    inputs[0].set_data_from_numpy(image)
    outputs = [
        httpclient.InferRequestedOutput("coordinates", binary_data=False),
        httpclient.InferRequestedOutput("texts", binary_data=False),
    ]
    results = triton_client.infer(model_name="plate_recognition", inputs=inputs, outputs=outputs)
    coordinates = results.as_numpy("coordinates")
    plate_texts = results.as_numpy("texts")
    triton_client.close()

    assert coordinates.shape == (len(plate_texts), 4) and coordinates.dtype == np.float32
    assert plate_texts.shape == (len(plate_texts), 1)
    plates = http_client.read(CAR)
    assert plate_texts[:, 0].tolist() == [plate.reading.text for plate in plates]
    expected = [[p.box.xmin, p.box.ymin, p.box.xmax, p.box.ymax] for p in plates]
    np.testing.assert_allclose(coordinates, expected, atol=1e-3)


def test_the_server_serves_exactly_the_contract(served: Served) -> None:
    expected = models(main_scheme())
    with httpclient.InferenceServerClient(served.http) as client:
        index = client.get_model_repository_index(headers=headers(served.control_key))
        assert {model["name"] for model in index} == set(expected)
        for name, spec in ((name, expected[name]) for name in MODELS):  # the other readers are not loaded
            metadata = client.get_model_metadata(name)
            for side, tensors in (("inputs", spec.inputs), ("outputs", spec.outputs)):
                batch = [-1] if spec.max_batch_size else []
                assert [(each["name"], each["datatype"], each["shape"]) for each in metadata[side]] == [
                    (each.name, {"STRING": "BYTES"}.get(each.dtype, each.dtype), [*batch, *each.dims])
                    for each in tensors
                ]
