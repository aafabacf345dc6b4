"""What clients of other servers send, and what they use of the answer, rewritten from their wire format.

- `plate_recognition.py` of parkpow/deep-license-plate-recognition, Plate Recognizer's own script;
- frigate_plate_recognizer, with Plate Recognizer's API and with that of CodeProject.AI Server.
"""

import base64
import json
from typing import Any

import httpx
import pytest

from plate_nets.types import Box
from plate_nets.web import bodies, codeproject, plate_recognizer
from tests.frames import Placed, compose, encode, overlap
from tests.web.conftest import CAR, ROAD, TEXT, TOKEN

PLATES = (Placed(TEXT, 100, 300), Placed("M871CA99", 700, 420))
BOTH = sorted(plate.text.lower() for plate in PLATES)
STREET = encode(compose(600, 960, PLATES), ".jpg")

Answer = dict[str, Any]


def ask(client: httpx.Client, picture: bytes, name: str = "upload", key: str = "", **sent: Any) -> Answer:
    """As Plate Recognizer's script asks, with ``--api-key``. Without a file name, the part is called like its field."""
    headers = {"Authorization": f"Token {key}"} if key else {}
    files = {"upload": (name, picture)}
    answer = client.post("/v1/plate-reader/", data={"config": "{}"} | sent, files=files, headers=headers)
    if not 200 <= answer.status_code <= 300:
        raise RuntimeError(answer.json()["detail"])
    return dict(answer.json())


def box_of(result: Answer, of: str = "plate") -> Box:
    box = result["box"] if of == "plate" else result["vehicle"]["box"]
    return Box(*(box[side] for side in ("xmin", "ymin", "xmax", "ymax")))


def texts(results: list[Answer]) -> list[str]:
    return sorted(result["plate"] for result in results)


@pytest.mark.parametrize("mmc", [False, True])
@pytest.mark.parametrize("regions", [[], ["ru"], ["us-ca", "th-37"]])
def test_plate_recognizer_s_script_reads(web: httpx.Client, mmc: bool, regions: list[str]) -> None:
    more = {"mmc": "True"} if mmc else {}
    answer = ask(web, STREET, "car.jpg", regions=regions, camera_id="gate", **more)
    assert (answer["filename"], answer["camera_id"]) == ("car.jpg", "gate")
    assert answer["timestamp"].endswith("Z") and answer["processing_time"] > 0
    assert texts(answer["results"]) == BOTH
    for result in answer["results"]:
        assert 0 < result["dscore"] <= 1 and result["score"] > 0.9
        assert result["region"]["code"] == "ru" and 0.5 <= result["region"]["score"] <= 1
        assert result["candidates"][0] == {"plate": result["plate"], "score": result["score"]}
        assert any(overlap(box_of(result), each.box) > 0.6 for each in PLATES)


def test_an_invalid_key_is_reported_with_its_fault(guarded: httpx.Client) -> None:
    assert texts(ask(guarded, CAR, key=TOKEN)["results"]) == [TEXT.lower()]
    for picture, key, says in ((CAR, "wrong", "token"), (b"no picture", TOKEN, "expected a JPEG")):
        with pytest.raises(RuntimeError, match=says):
            ask(guarded, picture, key=key)


def test_a_picture_as_base64_and_an_address_without_its_slash(web: httpx.Client) -> None:
    """The first is from the API's reference, the second from frigate_plate_recognizer."""
    for path, body in (
        ("/v1/plate-reader/", {"data": {"upload": base64.b64encode(CAR).decode()}}),
        ("/v1/plate-reader", {"data": {"regions": ["ru"]}, "files": {"upload": CAR}}),
    ):
        answer = web.post(path, **body)
        assert (answer.status_code, texts(answer.json()["results"])) == (201, [TEXT.lower()])


def test_a_picture_as_base64_may_have_megabytes(web: httpx.Client) -> None:
    encoded = base64.b64encode(CAR + bytes(3 << 20)).decode()
    for body in ({"data": {"upload": encoded}}, {"files": {"upload": (None, encoded)}}):
        answer = web.post("/v1/plate-reader/", **body)
        assert (answer.status_code, texts(answer.json()["results"])) == (201, [TEXT.lower()])


def test_the_script_can_make_tables_and_crops(web: httpx.Client) -> None:
    """``--format csv`` needs rows with the same columns; ``--crop-lp``, ``--crop-vehicle``, ``--annotate-images`` and
    ``--split-image`` boxes of whole pixels, the vehicle's score, and names for files."""
    road, *pictures = (ask(web, picture) for picture in (ROAD, CAR, STREET))
    results = [result for picture in pictures for result in picture["results"]]
    assert (road["results"], texts(results)) == ([], sorted([TEXT.lower(), *BOTH]))
    assert len({(*each, *each["box"], *each["region"], *each["vehicle"]) for each in results}) == 1, "the columns"
    for result in results:
        plate, vehicle = box_of(result), box_of(result, "vehicle")
        sides = (*result["box"].values(), *result["vehicle"]["box"].values())
        assert all(isinstance(side, int) for side in sides)
        assert vehicle.width > plate.width
        assert vehicle.height > plate.height
        assert result["region"]["code"] == "ru"
        assert result["vehicle"]["type"]
        assert result["vehicle"]["score"] > 0


def test_regions_choose_what_a_plate_is_read_as(web: httpx.Client) -> None:
    """As the API's reference says, they are a guide: other plates are read too, unless the region is "strict"."""

    def read(regions: list[str], **config: str) -> list[Answer]:
        data = {"regions": regions, "config": json.dumps(config)}
        return list(web.post("/v1/plate-reader/", data=data, files={"upload": CAR}).json()["results"])

    (plain,) = read([])
    for codes in (["ru"], ["RU", "kz"], ["ru-mow"], ["kz,ru"], ["xx"], ["us-ny"]):
        (result,) = read(codes)
        assert (result["plate"], result["region"]["code"]) == (TEXT.lower(), "ru"), codes
        assert result["score"] == pytest.approx(plain["score"], abs=0.01)
    (strict,) = read(["us-ny", "de"], region="strict")
    assert strict["region"] == {"code": "", "score": 0.0}
    assert read(["ru"], region="strict")[0]["plate"] == TEXT.lower()
    for odd in ("[" * 2000, "strict", "[]"):
        answer = web.post("/v1/plate-reader/", data={"regions": "ru", "config": odd}, files={"upload": CAR})
        assert texts(answer.json()["results"]) == [TEXT.lower()]


def picture_of(plate: Box, reading: str = "A001AA", **told: object) -> bodies.Picture:
    """A picture of 100x40 pixels that was read, with one plate."""
    sides = [plate.xmin, plate.ymin, plate.xmax, plate.ymax]
    known = {"text": "", "reading": reading, "confidence": 0.5, "score": 0.9, "format": "", "scheme": "", "region": ""}
    body = {**known, "box": sides, "corners": sides * 2, "characters": [], "candidates": [], **told}
    return bodies.Picture(file="", width=100, height=40, milliseconds=1, plates=[bodies.Plate.model_validate(body)])


@pytest.mark.parametrize("plate", [Box(0, 0, 40, 10), Box(60, 30, 100, 40), Box(45, 20, 55, 23)])
def test_the_box_of_a_vehicle_contains_its_plate_and_is_within_the_picture(plate: Box) -> None:
    (result,) = plate_recognizer.answer(picture_of(plate), None, None)["results"]
    box = box_of(result, "vehicle")
    assert 0 <= box.xmin <= plate.xmin and plate.xmax <= box.xmax <= 100
    assert 0 <= box.ymin <= plate.ymin and plate.ymax <= box.ymax <= 40


@pytest.mark.parametrize(
    ("country", "region", "code"),
    [("ro", "", "ro"), ("unknown", "", ""), (None, "77", ""), ("ru", "77", "ru"), ("us", "ca", "us-ca")],
)
def test_the_region_is_the_country_or_the_state_of_the_plate(country: str | None, region: str, code: str) -> None:
    read = picture_of(Box(0, 0, 40, 10), country=country, country_confidence=0.75, region=region)
    (result,) = plate_recognizer.answer(read, None, None)["results"]
    assert result["region"] == {"code": code, "score": 0.75}


def test_a_plate_without_a_reading_is_left_out() -> None:
    unread = picture_of(Box(0, 0, 40, 10), reading="")
    assert plate_recognizer.answer(unread, None, None)["results"] == []
    found = codeproject.answer(unread)
    assert (found["predictions"], found["count"], found["message"]) == ([], 0, "No plates found")


@pytest.mark.parametrize("path", ["/v1/vision/alpr", "/v1/image/alpr"])
def test_a_client_of_codeproject_ai_works(web: httpx.Client, path: str) -> None:
    """As frigate_plate_recognizer does: one part without a file name, no token; the first prediction counts."""
    answer = web.post(path, files={"upload": ("upload", CAR)})
    assert answer.status_code == 200
    found = answer.json()
    (prediction,) = found["predictions"]
    assert (prediction["plate"], prediction["label"]) == (TEXT, f"Plate: {TEXT}")
    assert prediction["confidence"] > 0.9
    assert 100 <= prediction["x_min"] + 10 < prediction["x_max"] <= 270 and prediction["y_min"] < prediction["y_max"]
    assert (found["success"], found["message"], found["count"], found["code"]) == (True, f"Found Plate: {TEXT}", 1, 200)
    assert (found["moduleId"], found["moduleName"], found["command"]) == ("ALPR", "License Plate Reader", "alpr")
    assert (found["inferenceDevice"], found["processedBy"]) == ("CPU", "localhost")
    times = [found[name] for name in ("inferenceMs", "processMs", "analysisRoundTripMs")]
    assert all(isinstance(each, int) for each in times) and times == sorted(times)


def test_custom_models_of_codeproject_ai(web: httpx.Client) -> None:
    """As Blue Iris asks: the list first, then a name of it, with the picture as `image` and the least confidence."""
    for method in ("GET", "POST"):
        listed = web.request(method, "/v1/vision/custom/list").raise_for_status().json()
        assert (listed["success"], listed["command"], listed["moduleId"]) == (True, "list-custom", "ALPR")
    found = {}
    for name in (*listed["models"], "License-Plate.pt"):
        files = {"image": ("gate.jpg", STREET, "image/jpeg")}
        answer = web.post(f"/v1/vision/custom/{name}", data={"min_confidence": "0.4"}, files=files)
        found[name] = answer.raise_for_status().json()
    assert sorted(each["plate"].lower() for each in found["alpr"]["predictions"]) == BOTH
    places = found["license-plate"]
    assert places["predictions"] == found["License-Plate.pt"]["predictions"]
    assert [each["label"] for each in places["predictions"]] == ["DayPlate"] * 2
    assert (places["command"], places["count"]) == ("custom", 2)


@pytest.mark.parametrize("path", ["/v1/status", "/v1/server/status"])
def test_the_status_of_codeproject_ai(web: httpx.Client, path: str) -> None:
    for name in ("ping", "version"):
        told = web.get(f"{path}/{name}").raise_for_status().json()
        assert (told["success"], told["code"]) == (True, 200)
        numbers = [told["version"][part] for part in ("major", "minor", "patch")]
        assert told["message"].startswith(".".join(map(str, numbers)))
    update = web.get(f"{path}/updateavailable").raise_for_status().json()
    assert (update["success"], update["updateAvailable"]) == (True, False)
    assert update["current"] == update["latest"] == update["version"]


def test_codeproject_ai_s_least_confidence() -> None:
    known = picture_of(Box(0, 0, 40, 10))
    assert [codeproject.answer(known, "alpr", least)["count"] for least in (0.5, 0.51)] == [1, 0]
    assert [codeproject.answer(known, "license-plate", least)["count"] for least in (0.9, 0.91)] == [1, 0]


@pytest.mark.parametrize(
    ("path", "content", "sent", "status", "words"),
    [
        ("/v1/vision/custom/ipcam-general", CAR, "0.4", 404, "expected one of alpr, license-plate"),
        ("/v1/vision/custom/alpr", CAR, "nan", 400, "min_confidence: expected a number between 0 and 1"),
        ("/v1/vision/alpr", CAR, "half", 400, "min_confidence"),
        ("/v1/vision/alpr", b"no picture", "", 400, "expected a JPEG"),
        ("/v1/vision/detection", CAR, "", 404, "nothing found here"),
        ("/v1/status/ping", CAR, "", 405, "method"),
    ],
)
def test_codeproject_ai_s_errors(
    web: httpx.Client, path: str, content: bytes, sent: str, status: int, words: str
) -> None:
    answer = web.post(path, data={"min_confidence": sent}, files={"upload": content})
    assert answer.status_code == answer.json()["code"] == status
    assert answer.json()["success"] is False and words in answer.json()["error"]


def test_codeproject_ai_s_clients_without_a_token(guarded: httpx.Client) -> None:
    for answer in (guarded.post("/v1/vision/alpr", files={"upload": CAR}), guarded.get("/v1/status/ping")):
        assert answer.status_code == answer.json()["code"] == 401
        assert answer.json()["success"] is False and "token" in answer.json()["error"]
