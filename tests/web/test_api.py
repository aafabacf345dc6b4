"""The HTTP API behind a real uvicorn: what it reads, and the form of its answers."""

import base64
import json
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import httpx
import jsonschema
import pytest

from plate_nets.recognition.local import LocalReader
from plate_nets.web.settings import WebSettings
from tests.frames import Placed, compose, encode, hard_to_read
from tests.local_http import LocalHttp, QuietHandler
from tests.web.conftest import CAR, ROAD, TEXT, running

PLATES = "/api/v1/plates"


def only(answer: httpx.Response) -> Any:
    """The single picture of an answer."""
    assert answer.status_code == 200, answer.text
    (picture,) = answer.json()["pictures"]
    return picture


def texts(picture: Any) -> list[str]:
    return [plate["text"] for plate in picture["plates"]]


@pytest.mark.parametrize("how", ["form", "body", "photo of a phone"])
def test_a_picture_is_read(web: httpx.Client, how: str) -> None:
    if how == "form":
        picture = only(web.post(PLATES, files={"file": ("car.jpg", CAR)}))
        assert picture["file"] == "car.jpg"
    elif how == "photo of a phone":
        photo = encode(compose(360, 480, [Placed(TEXT, 100, 200)]), ".heic")
        picture = only(web.post(PLATES, files={"file": ("IMG_1.HEIC", photo)}))
    else:
        picture = only(web.post(PLATES, content=CAR, headers={"Content-Type": "image/jpeg"}))
    assert (picture["width"], picture["height"]) == (480, 360)
    (plate,) = picture["plates"]
    assert (plate["text"], plate["format"], plate["region"]) == (TEXT, "private", "77")
    assert "".join(each["char"] for each in plate["characters"]) == TEXT
    assert plate["candidates"][0]["plate"] == TEXT
    assert (plate["country"], plate["ground"]) == ("ru", "white"), "of several countries, each plate has its own"
    assert plate["crop"] is plate["vehicle"] is None, "not asked for"
    assert {"decode", "detect", "read"} <= picture["stages"].keys()
    assert sum(picture["stages"].values()) <= picture["milliseconds"] + 1


def test_a_straightened_crop_is_returned_if_requested(web: httpx.Client) -> None:
    (plate,) = only(web.post(f"{PLATES}?crops=true", files={"file": CAR}))["plates"]
    kind, _, encoded = plate["crop"].partition(",")
    assert kind == "data:image/jpeg;base64"
    assert base64.b64decode(encoded).startswith(b"\xff\xd8")


def test_a_request_can_set_the_minimum_confidence(web: httpx.Client) -> None:
    far = encode(hard_to_read(compose(480, 640, [Placed(TEXT, 100, 300)])), ".png")
    (plate,) = only(web.post(PLATES, files={"file": far}))["plates"]
    assert plate["text"] == "" and plate["reading"] == TEXT
    assert texts(only(web.post(f"{PLATES}?sure=0.5", files={"file": far}))) == [TEXT]
    assert texts(only(web.post(f"{PLATES}?sure=0.99999", files={"file": CAR}))) == [""]
    for path in (PLATES, "/api/v1/videos"):
        for asked in ("80", "", "nan", "often"):
            answer = web.post(f"{path}?sure={asked}", content=CAR, headers={"Content-Type": "application/octet-stream"})
            assert (answer.status_code, answer.json()["error"]["code"]) == (400, "PLATES_BAD_INPUT")
            assert answer.json()["error"]["message"] == (f"sure: expected a probability between 0 and 1, got {asked!r}")


def test_each_of_several_pictures_has_its_own_result(web: httpx.Client) -> None:
    files = [("file", (name, data)) for name, data in (("a.jpg", CAR), ("b.jpg", ROAD), ("c.jpg", CAR[:500]))]
    answer = web.post(PLATES, files=files)
    assert answer.status_code == 200
    car, road, torn = answer.json()["pictures"]
    assert (texts(car), texts(road)) == ([TEXT], [])
    assert torn["error"]["code"] == "PLATES_BAD_INPUT"


def test_answers_match_the_openapi_document(web: httpx.Client) -> None:
    api = web.get("/api/openapi.json").json()
    assert api["openapi"] == "3.1.0"
    for name, answer in (
        ("Pictures", web.post(f"{PLATES}?crops=true", files={"file": CAR})),
        ("Failure", web.post(PLATES, files={"file": b"no picture"})),
        ("Wellness", web.get("/health")),
    ):
        schema = {"$ref": f"#/components/schemas/{name}", "components": api["components"]}
        jsonschema.validate(answer.json(), schema)


def test_health_reports_whether_plates_are_read(web: httpx.Client) -> None:
    assert web.get("/health").json() == {"state": "serving"}
    head = web.head("/health")
    assert (head.status_code, head.content) == (200, b"")
    facts = web.get("/api/v1/health").json()
    assert (facts["state"], facts["backend"]["kind"]) == ("serving", "local")
    assert "plates_web_pictures_total" in web.get("/metrics").text


class Pictures(QuietHandler):
    """A site with a picture, a large one, and a redirect to another site."""

    def do_GET(self) -> None:
        elsewhere = self.path == "/elsewhere"
        body = {"/car.jpg": CAR, "/large.jpg": CAR + bytes(1 << 20)}.get(self.path, b"")
        self.send_response(302 if elsewhere else 200 if body else 404)
        if elsewhere:
            self.send_header("Location", "/car.jpg")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@pytest.fixture
def site() -> Iterator[str]:
    with closing(LocalHttp(Pictures)) as server:
        yield f"127.0.0.1:{server.port}"


def test_a_picture_is_fetched_only_from_a_listed_host(site: str, reader: LocalReader) -> None:
    limits = WebSettings().limits.__class__(max_bytes=len(CAR) + 100)
    with running(reader, WebSettings(allowed_urls=(site,)), limits=limits) as client:

        def fetch(address: str) -> httpx.Response:
            return client.post(PLATES, json={"url": address})

        assert texts(only(fetch(f"http://{site}/car.jpg"))) == [TEXT]
        said = {name: fetch(f"http://{site}/{name}") for name in ("none.jpg", "large.jpg", "elsewhere")}
        assert {name: answer.status_code for name, answer in said.items()} == {
            "none.jpg": 400,
            "large.jpg": 413,
            "elsewhere": 400,
        }
        assert json.loads(said["elsewhere"].text)["error"]["message"].endswith("answered 302")
        assert fetch("http://127.0.0.1:9/car.jpg").status_code == 403
