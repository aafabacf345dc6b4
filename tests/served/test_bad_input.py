"""Bad input gives a clear 4xx that says what was expected. The server lives, and the next request is right."""

from collections.abc import Iterator
from typing import Any

import cv2
import numpy as np
import pytest
import tritonclient.http as httpclient
from numpy.typing import NDArray
from tritonclient.utils import InferenceServerException

from plate_nets.client import PlateClient
from plate_nets.common.errors import InputError
from plate_nets.recognition.local import LocalReader
from tests.bombs import HUGE
from tests.frames import Placed, compose, encode
from tests.served.conftest import Served, http_infer

CAR = compose(480, 640, [Placed("A123BC77", 100, 300)])
GREY = np.full((60, 80), 90, np.uint8)
JPEG = encode(CAR, ".jpg")


@pytest.fixture(autouse=True)
def next_request_is_right(http_client: PlateClient) -> Iterator[None]:
    yield
    assert "A123BC77" in [plate.reading.text for plate in http_client.read(CAR)]


def encoded(data: bytes) -> NDArray[np.uint8]:
    return np.frombuffer(data, np.uint8)


NOT_A_PICTURE = "PLATES_BAD_INPUT: image: expected a JPEG, PNG, WEBP, BMP, HEIC or AVIF picture, got"
NOT_A_FRAME = "[-1,-1,3]"
BAD: dict[str, tuple[dict[str, NDArray[Any]], str]] = {
    "not an image": ({"image": encoded(b"%PDF-1.7 not a picture")}, NOT_A_PICTURE),
    "no bytes": ({"image": encoded(b"")}, NOT_A_PICTURE),
    "truncated JPEG": ({"image": encoded(JPEG[: len(JPEG) // 2])}, NOT_A_PICTURE),
    "JPEG without its last bytes": ({"image": encoded(JPEG[:-20])}, NOT_A_PICTURE),
    "truncated PNG": ({"image": encoded(encode(CAR)[:-500])}, NOT_A_PICTURE),
    "0x0": ({"input__0": np.zeros((0, 0, 3), np.uint8)}, "expected at least 8 pixels a side, got 0x0"),
    "0 wide": ({"input__0": np.zeros((50, 0, 3), np.uint8)}, "expected at least 8 pixels a side, got 0x50"),
    "1x1": ({"input__0": np.zeros((1, 1, 3), np.uint8)}, "expected at least 8 pixels a side, got 1x1"),
    "1x1 encoded": ({"image": encoded(encode(np.zeros((1, 1, 3), np.uint8)))}, "image: expected at least 8 pixels"),
    "grey": ({"input__0": GREY}, NOT_A_FRAME),
    "one channel": ({"input__0": GREY[..., None]}, NOT_A_FRAME),
    "4 channels": ({"input__0": np.zeros((60, 80, 4), np.uint8)}, NOT_A_FRAME),
    "a batch": ({"input__0": CAR[None]}, NOT_A_FRAME),
    "float": ({"input__0": CAR.astype(np.float32)}, "UINT8"),
    "signed": ({"input__0": CAR.astype(np.int8)}, "UINT8"),
    "both": ({"input__0": CAR, "image": encoded(JPEG)}, "exactly one of input__0 and image, got both"),
    "60 megapixels": ({"input__0": np.zeros((6000, 10000, 3), np.uint8)}, "at most 50000000 pixels, got 60000000"),
    "64 megapixels encoded": ({"image": encoded(HUGE)}, "at most 50000000 pixels, got 64000000 (8000x8000)"),
    "unknown tensor": ({"picture": CAR}, "picture"),
    "no input": ({}, "exactly one of input__0 and image, got neither"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_a_clear_400(served: Served, name: str) -> None:
    inputs, expected = BAD[name]
    with pytest.raises(InferenceServerException) as caught:
        http_infer(served.http, inputs)
    assert caught.value.status() == "400"
    assert expected in caught.value.message()
    assert "Traceback" not in caught.value.message() and ".py" not in caught.value.message()


@pytest.mark.parametrize(
    "name", ["not an image", "truncated JPEG", "1x1", "0x0", "60 megapixels", "64 megapixels encoded"]
)
def test_a_client_raises_the_errors_of_a_reader_in_process(client: PlateClient, reader: LocalReader, name: str) -> None:
    ((tensor, array),) = BAD[name][0].items()
    said = []
    for each in (client, reader):
        with pytest.raises(InputError, match=r"^(image|input__0): expected") as caught:
            each.read(array if tensor == "input__0" else array.tobytes())
        said.append((type(caught.value), str(caught.value)))
    assert said[0] == said[1]


@pytest.mark.parametrize("shape", [(8, 20000, 3), (20000, 8, 3), (8, 8, 3)])
def test_extreme_frames_are_answered(client: PlateClient, shape: tuple[int, ...]) -> None:
    assert client.read(np.full(shape, 90, np.uint8)) == []


@pytest.mark.parametrize("code", [cv2.COLOR_BGR2GRAY, cv2.COLOR_BGR2BGRA], ids=["grey", "alpha"])
def test_encoded_pictures_of_other_channels_are_read(http_client: PlateClient, code: int) -> None:
    plates = http_client.read(encode(cv2.cvtColor(CAR, code).astype(np.uint8)))
    assert "A123BC77" in [plate.reading.text for plate in plates]


@pytest.mark.parametrize("model", ["stn", "lprnet"])
@pytest.mark.parametrize("batch", [0, 33])
def test_batches_larger_than_the_reader_sends_are_refused(served: Served, model: str, batch: int) -> None:
    tensor = httpclient.InferInput("input__0", (batch, 3, 24, 94), "FP32")
    tensor.set_data_from_numpy(np.zeros((batch, 3, 24, 94), np.float32))
    with httpclient.InferenceServerClient(served.http) as client, pytest.raises(InferenceServerException):
        client.infer(model, [tensor])
