"""`plates compare`, beside a stand-in that speaks the documented formats of other readers."""

import csv
import importlib
import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, ClassVar

import pytest
from playwright.sync_api import sync_playwright
from typer.testing import CliRunner

from plate_nets.cli import app
from plate_nets.cli.compare import TOKEN_VARIABLE
from plate_nets.evaluation.other_reader import OtherPlate, OtherReader
from plate_nets.recognition.local import LocalReader
from tests.frames import Placed, compose, encode
from tests.local_http import LocalHttp, QuietHandler
from tests.waiting import eventually
from tests.web.conftest import CHROMIUM

TEXTS = ("A123BC77", "B126EK78", "K987MT99")
PLACE = {"xmin": 90, "ymin": 190, "xmax": 270, "ymax": 244}
TOLD = ["a123bc77", "b126ek-18", None]
"""What the other reader says of each picture: the same, another text, nothing."""


class Other(QuietHandler):
    """Answers the first picture with the first of `TOLD`, and so on."""

    tokens: ClassVar[list[str | None]] = []
    asked: ClassVar[int] = 0

    def do_POST(self) -> None:
        upload = self.rfile.read(int(self.headers["Content-Length"]))
        assert b'name="upload"' in upload
        kind, text = type(self), TOLD[type(self).asked % len(TOLD)]
        kind.asked += 1
        kind.tokens.append(self.headers["Authorization"])
        answer: Any = {
            "/v1/plate-reader/": {"results": [{"plate": text, "score": 0.9, "box": PLACE}] if text else []},
            "/v1/vision/alpr": {
                "success": True,
                "predictions": [
                    {"plate": text, "confidence": 0.9, **{f"{side[0]}_{side[1:]}": at for side, at in PLACE.items()}}
                ]
                if text
                else [],
            },
        }.get(self.path, {"detail": "something else"})
        body = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@pytest.fixture
def other() -> Iterator[str]:
    Other.tokens, Other.asked = [], 0
    with closing(LocalHttp(Other)) as server:
        yield f"http://127.0.0.1:{server.port}"


@pytest.fixture(autouse=True)
def inside(reader: LocalReader, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(importlib.import_module("plate_nets.cli.readers"), "local_reader", lambda *_: reader)
    Path("photos").mkdir()
    for number, text in enumerate(TEXTS):
        Path(f"photos/{number}.jpg").write_bytes(encode(compose(360, 480, [Placed(text, 100, 200)]), ".jpg"))


def table(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize(("path", "token"), [("/v1/plate-reader/", "Token secret"), ("", None)])
def test_the_page_shows_where_readers_differ_and_counts_who_is_right(
    path: str, token: str | None, other: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if token:
        monkeypatch.setenv(TOKEN_VARIABLE, "secret")
    result = CliRunner().invoke(
        app, ["compare", "photos", "--with", other + path, "--local", "--out", "out", "--scheme", "russia"]
    )
    assert result.exit_code == 0, result.output
    assert result.stdout.split()[-5:] == ["1", "1", "1", "0", "out/index.html"]
    assert Other.tokens == [token] * 3
    rows = table(Path("out/differences.csv"))
    assert [(row["ours"], row["theirs"], row["count"]) for row in rows] == [
        ("B126EK78", "B126EK18", "1"),
        ("K987MT99", "", "1"),
    ]
    with sync_playwright() as playwright, playwright.chromium.launch(executable_path=CHROMIUM) as browser:
        page = browser.new_page()
        page.goto(Path("out/index.html").resolve().as_uri())
        assert all(page.evaluate("[...document.images].map((each) => each.complete && each.naturalWidth > 0)"))
        page.get_by_role("button", name="ours").first.click()
        page.get_by_role("button", name="neither").last.click()
        counts = page.locator("#counts tr").last.locator("td")
        told = counts.all_inner_texts()
        assert told[1:] == ["1", "1", "1", "0", "1", "0", "1"]

        def reloaded() -> bool:
            page.reload()
            return counts.all_inner_texts() == told

        assert eventually(reloaded, 20)  # a browser stores the answers when it has the time
        with page.expect_download() as saved:
            page.get_by_role("button", name="Save").click()
        assert [row["right"] for row in csv.DictReader(saved.value.path().open(encoding="utf-8"))] == [
            "ours",
            "neither",
        ]


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("ftp://host/", "expected an http:// or https:// URL"),
        ("http://127.0.0.1:9", "no answer"),
        ("OTHER/what", "its answer is not that of a reader of plates"),
    ],
)
@pytest.mark.parametrize("photos", [3, 6])
def test_a_reader_that_does_not_answer_ends_the_comparison(address: str, said: str, photos: int, other: str) -> None:
    for number in range(3, photos):
        Path(f"photos/{number}.jpg").write_bytes(Path("photos/0.jpg").read_bytes())
    result = CliRunner().invoke(app, ["compare", "photos", "--local", "--with", address.replace("OTHER", other)])
    assert result.exit_code == 2 and said in result.stderr
    assert not Path("comparison").exists()


def test_ctrl_c_ends_a_comparison_with_a_page(other: str, monkeypatch: pytest.MonkeyPatch) -> None:
    read = OtherReader.read

    def interrupted(other: OtherReader, encoded: bytes) -> list[OtherPlate]:
        if Other.asked == 1:
            raise KeyboardInterrupt
        return read(other, encoded)

    monkeypatch.setattr(OtherReader, "read", interrupted)
    result = CliRunner().invoke(app, ["compare", "photos", "--local", "--with", other])
    assert result.exit_code == 130
    assert result.stdout.splitlines()[-1] == "comparison/index.html" and Path("comparison/index.html").is_file()


def test_a_server_that_does_not_answer_ends_the_comparison(other: str) -> None:
    result = CliRunner().invoke(app, ["compare", "photos", "--with", other, "--url", "grpc://127.0.0.1:9"])
    assert result.exit_code == 2 and "127.0.0.1:9" in result.stderr


def test_a_video_is_compared_for_as_long_as_asked(other: str) -> None:
    result = CliRunner().invoke(
        app, ["compare", "nothing.mp4", "--with", other, "--local", "--every", "2", "--minutes", "0.01"]
    )
    assert result.exit_code == 2 and "nothing.mp4" in result.stderr
