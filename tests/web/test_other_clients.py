"""What clients of other servers send, and how they use the answer, rewritten from their wire format.

- `plate_recognition.py` of parkpow/deep-license-plate-recognition, Plate Recognizer's own script, in each of its modes;
- frigate_plate_recognizer, with Plate Recognizer's API and with that of CodeProject.AI Server.
"""

import base64
import csv
import io
import json
from dataclasses import dataclass, field
from itertools import combinations, product
from pathlib import Path
from typing import Any

import httpx
import pytest
from PIL import Image, ImageDraw

from plate_nets.types import Box
from plate_nets.web import bodies, codeproject, plate_recognizer
from tests.frames import Placed, compose, encode, overlap
from tests.web.conftest import CAR, ROAD, TEXT, TOKEN

PLATES = (Placed(TEXT, 100, 300), Placed("M871CA99", 700, 420))
STREET = encode(compose(600, 960, PLATES), ".jpg")

Answer = dict[str, Any]


@dataclass(frozen=True)
class Script:
    """Plate Recognizer's script: just ``--sdk-url``, or ``--api-key``; ``--regions``, ``--mmc``, ``--camera-id``."""

    url: str
    key: str = ""
    regions: list[str] = field(default_factory=list)
    mmc: bool = False
    camera: str = ""

    def ask(self, picture: bytes, name: str = "upload") -> Answer:
        """Without a file name, the part is called like its field."""
        data: dict[str, Any] = {"regions": self.regions, "config": json.dumps({})}
        data |= {"camera_id": self.camera} if self.camera else {}
        data |= {"mmc": "True"} if self.mmc else {}
        answer = httpx.post(
            f"{self.url}/v1/plate-reader/",
            data=data,
            files={"upload": (name, picture)},
            headers={"Authorization": f"Token {self.key}"} if self.key else {},
            timeout=60,
            trust_env=False,
        )
        if not 200 <= answer.status_code <= 300:
            raise RuntimeError(answer.json()["detail"])
        return dict(answer.json())

    def ask_split(self, picture: bytes, x: int, y: int) -> list[Answer]:
        """``--split-image``: the whole picture and overlapping parts of it; boxes are moved, and of equal plates the
        best is kept."""
        whole = Image.open(io.BytesIO(picture))
        w, h = whole.width / (x + 1), whole.height / (y + 1)
        windows = [(0.0, 0.0, float(whole.width), float(whole.height))]
        for i, j in product(range(x + 1), range(y + 1)):
            left, top = (i * w - (i > 0) * w / 10, j * h - (j > 0) * h / 10)
            windows.append((left, top, (i + 1) * w + (i < x) * w / 10, (j + 1) * h + (j < y) * h / 10))
        found: list[Answer] = []
        for window in windows:
            part = io.BytesIO()
            whole.crop(window).save(part, "JPEG", quality=95)
            for result in self.ask(part.getvalue())["results"]:
                for box in (result["box"], result["vehicle"].get("box", {})):
                    for side, shift in zip(("xmin", "ymin", "xmax", "ymax"), window[:2] * 2, strict=True):
                        box[side] += shift
                found.append(result)
        worse = set()
        for one, other in combinations(range(len(found)), 2):
            if overlap(box_of(found[one]), box_of(found[other])) > 0.1:
                worse.add(min(one, other, key=lambda index: found[index]["score"]))
        return [result for index, result in enumerate(found) if index not in worse]


def box_of(result: Answer, of: str = "plate") -> Box:
    box = result["box"] if of == "plate" else result["vehicle"]["box"]
    return Box(*(box[side] for side in ("xmin", "ymin", "xmax", "ymax")))


def flat(value: Answer, before: str = "") -> Answer:
    """``--format csv``: nested names joined by an underscore, lists as JSON."""
    row: Answer = {}
    for name, each in value.items():
        if isinstance(each, dict):
            row |= flat(each, f"{before}{name}_")
        else:
            row[before + name] = json.dumps(each) if isinstance(each, list) else each
    return row


def write_csv(answers: list[Answer], path: Path) -> None:
    """The columns are those of the widest row in the first ten answers. A later row with others is an error."""
    rows = []
    for answer in answers:
        rest = {name: value for name, value in answer.items() if name != "results"}
        rows.append([{**rest, **flat(result)} for result in answer["results"]] or [rest])
    names = max((row for some in rows[:10] for row in some), key=len)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(names))
        writer.writeheader()
        writer.writerows(row for some in rows for row in some)


def crop_plates(picture: Image.Image, results: list[Answer], folder: Path) -> None:
    """``--crop-lp``."""
    for result in results:
        box = box_of(result)
        cut = picture.crop((box.xmin, box.ymin, box.xmax, box.ymax))
        cut.save(folder / f"{result['plate']}_{result['region']['code']}_car.jpg")


def crop_vehicles(picture: Image.Image, results: list[Answer], folder: Path) -> None:
    """``--crop-vehicle``: those that were found with a score."""
    for number, result in enumerate(results, 1):
        if result["vehicle"]["score"]:
            box = box_of(result, "vehicle")
            model = result.get("model_make", [None])[0]
            name = f"{model['make']}_{model['model']}_" if model else ""
            cut = picture.crop((box.xmin, box.ymin, box.xmax, box.ymax))
            cut.save(folder / f"{name}{number}_{result['vehicle']['type']}_car.jpg")


def annotate(picture: Image.Image, results: list[Answer], path: Path) -> None:
    """``--annotate-images``."""
    draw = ImageDraw.Draw(picture)
    for result in results:
        box = box_of(result)
        draw.rectangle((box.xmin, box.ymin, box.xmax, box.ymax), outline=(0, 255, 0))
        draw.text((box.xmin, box.ymin - 12), result["plate"], fill="black")
    picture.save(path)


@pytest.fixture
def script(web: httpx.Client) -> Script:
    return Script(str(web.base_url))


def texts(results: list[Answer]) -> list[str]:
    return sorted(result["plate"] for result in results)


BOTH = sorted(plate.text.lower() for plate in PLATES)


@pytest.mark.parametrize("mmc", [False, True])
@pytest.mark.parametrize("regions", [[], ["ru"], ["us-ca", "th-37"]])
def test_plate_recognizer_s_script_reads(web: httpx.Client, mmc: bool, regions: list[str]) -> None:
    answer = Script(str(web.base_url), regions=regions, mmc=mmc, camera="gate").ask(STREET, "car.jpg")
    assert (answer["filename"], answer["camera_id"]) == ("car.jpg", "gate")
    assert answer["timestamp"].endswith("Z") and answer["processing_time"] > 0
    assert texts(answer["results"]) == BOTH
    for result in answer["results"]:
        assert 0 < result["dscore"] <= 1 and result["score"] > 0.9
        assert result["region"]["code"] == "ru" and 0.5 <= result["region"]["score"] <= 1
        assert result["candidates"][0] == {"plate": result["plate"], "score": result["score"]}
        assert any(overlap(box_of(result), each.box) > 0.6 for each in PLATES)


def test_an_invalid_key_is_reported_with_its_fault(guarded: httpx.Client) -> None:
    url = str(guarded.base_url)
    assert texts(Script(url, TOKEN).ask(CAR)["results"]) == [TEXT.lower()]
    with pytest.raises(RuntimeError, match="token"):
        Script(url, "wrong").ask(CAR)
    with pytest.raises(RuntimeError, match="expected a JPEG"):
        Script(url, TOKEN).ask(b"no picture")


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


def test_results_as_csv(script: Script, tmp_path: Path) -> None:
    write_csv([script.ask(CAR, "a.jpg"), script.ask(ROAD, "b.jpg"), script.ask(STREET, "c.jpg")], tmp_path / "out.csv")
    with (tmp_path / "out.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [(row["filename"], bool(row["plate"])) for row in rows] == [
        ("a.jpg", True),
        ("b.jpg", False),
        ("c.jpg", True),
        ("c.jpg", True),
    ]
    assert rows[0]["vehicle_box_xmin"].isdigit() and rows[0]["region_code"] == "ru"


def test_crops_and_the_annotated_picture(script: Script, tmp_path: Path) -> None:
    results = script.ask(STREET)["results"]
    picture = Image.open(io.BytesIO(STREET))
    crop_plates(picture, results, tmp_path)
    crop_vehicles(picture, results, tmp_path)
    annotate(picture, results, tmp_path / "annotated.jpg")
    sizes = {path.name: Image.open(path).size for path in tmp_path.iterdir()}
    cars = [f"{number}_{result['vehicle']['type']}_car.jpg" for number, result in enumerate(results, 1)]
    assert sorted(sizes) == sorted([*(f"{text}_ru_car.jpg" for text in BOTH), *cars, "annotated.jpg"])
    for plate, vehicle in zip(results, cars, strict=True):
        width, height = sizes[f"{plate['plate']}_ru_car.jpg"]
        assert sizes[vehicle][0] > width and sizes[vehicle][1] > height


def test_a_picture_in_parts(script: Script) -> None:
    results = script.ask_split(STREET, 2, 1)
    assert texts(results) == BOTH
    assert all(any(overlap(box_of(result), each.box) > 0.6 for each in PLATES) for result in results)


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
    [
        ("ro", "", "ro"),
        ("unknown", "", ""),
        (None, "77", ""),
        ("ru", "77", "ru"),
        ("us", "ca", "us-ca"),
    ],
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
