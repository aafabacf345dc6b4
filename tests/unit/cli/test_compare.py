"""`plates compare`, beside a stand-in that speaks the documented formats of other readers."""

import csv
import importlib
import json
import re
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, ClassVar

import pytest
from playwright.sync_api import sync_playwright
from typer.testing import CliRunner

from plate_nets.cli import app
from plate_nets.cli.compare import TOKEN_VARIABLE
from plate_nets.evaluation.comparison import Comparison
from plate_nets.evaluation.other_reader import OtherPlate, OtherReader
from plate_nets.recognition.local import LocalReader
from plate_nets.types import Box, Frame
from tests.clips import TEXT, passing, write_clip
from tests.commands import Result
from tests.frames import Placed, compose, encode
from tests.local_http import LocalHttp, QuietHandler
from tests.onnx_models import write_detector, write_reader
from tests.rtsp import RtspCamera
from tests.waiting import eventually
from tests.web.browsing import PHONE
from tests.web.conftest import CHROMIUM

pytestmark = pytest.mark.slow

TEXTS = ("A123BC77", "B126EK78", "K987MT99")
PLACE = {"xmin": 90, "ymin": 190, "xmax": 270, "ymax": 244}
TOLD = ["a123bc77", "b126ek-18", None]
"""What the other reader says of each picture: the same, another text, nothing."""


class Other(QuietHandler):
    """Answers the first picture with the first of `TOLD`, and so on; fails on those of `lost`, by number from 1."""

    tokens: ClassVar[list[str | None]] = []
    asked: ClassVar[int] = 0
    lost: ClassVar[tuple[int, ...]] = ()

    def do_POST(self) -> None:
        upload = self.rfile.read(int(self.headers["Content-Length"]))
        assert b'name="upload"' in upload
        kind, text = type(self), TOLD[type(self).asked % len(TOLD)]
        kind.asked += 1
        kind.tokens.append(self.headers["Authorization"])
        sides = {f"{side[0]}_{side[1:]}": at for side, at in PLACE.items()}
        answer: Any = {
            "/v1/plate-reader/": {"results": [{"plate": text, "score": 0.9, "box": PLACE}][: bool(text)]},
            "/v1/vision/alpr": {
                "success": True,
                "predictions": [{"plate": text, "confidence": 0.9, **sides}][: bool(text)],
            },
        }.get(self.path, {"detail": "something else"})
        body = json.dumps(answer).encode()
        self.send_response(503 if kind.asked in kind.lost else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@pytest.fixture
def other() -> Iterator[str]:
    Other.tokens, Other.asked, Other.lost = [], 0, ()
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
    return list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))


def compare(source: str, other: str, *options: str) -> Result:
    return CliRunner().invoke(app, ["compare", source, "--with", other, "--local", *options])


@pytest.mark.parametrize(("path", "token"), [("/v1/plate-reader/", "Token secret"), ("", None)])
def test_the_page_shows_where_readers_differ_and_counts_who_is_right(
    path: str, token: str | None, other: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if token:
        monkeypatch.setenv(TOKEN_VARIABLE, "secret")
    result = compare("photos", other + path, "--out", "out", "--scheme", "russia")
    assert result.exit_code == 0, result.output
    assert result.stdout.split()[-5:] == ["1", "1", "1", "0", "out/index.html"]
    assert Other.tokens == [token] * 3
    rows = table(Path("out/differences.csv"))
    differences = [(row["ours"], row["theirs"], row["count"]) for row in rows]
    assert differences == [("B126EK78", "B126EK18", "1"), ("K987MT99", "", "1")]
    with sync_playwright() as playwright, playwright.chromium.launch(executable_path=CHROMIUM) as browser:
        address = Path("out/index.html").resolve().as_uri()
        page = browser.new_page()
        page.goto(address)
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
        assert answers(saved.value.path()) == ["ours", "neither"]

        page = browser.new_page(locale="ru-RU", viewport=PHONE)
        page.goto(address)
        assert page.evaluate("document.documentElement.lang") == "ru"
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
        assert not re.search("[a-z]{3}", re.sub(f"{other}{path}|photos", "", page.inner_text("body")))
        page.get_by_role("button", name="мы").first.click()
        assert page.locator("[aria-pressed=true]").all_inner_texts() == ["мы"]
        with page.expect_download() as saved:
            page.get_by_role("button", name="Сохранить").click()
        assert answers(saved.value.path()) == ["ours", ""], "the table is the same in each language"


def answers(path: Path) -> list[str]:
    return [row["right"] for row in table(path)]


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
    result = compare("photos", address.replace("OTHER", other))
    assert result.exit_code == 2 and said in result.stderr
    assert not Path("comparison").exists()


def test_a_server_that_does_not_answer_ends_the_comparison(other: str) -> None:
    result = CliRunner().invoke(app, ["compare", "photos", "--with", other, "--url", "grpc://127.0.0.1:9"])
    assert result.exit_code == 2 and "127.0.0.1:9" in result.stderr


def interrupted_after(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C when the other reader would be asked once more; by then there is a page, which a kill would leave."""
    read = OtherReader.read

    def interrupted(other: OtherReader, frame: Frame) -> Sequence[OtherPlate]:
        if Other.asked == count:
            assert Path("comparison/index.html").is_file()
            raise KeyboardInterrupt
        return read(other, frame)

    monkeypatch.setattr(OtherReader, "read", interrupted)
    monkeypatch.setattr("plate_nets.evaluation.comparison._PAGE_EVERY", 0)


def test_ctrl_c_ends_a_comparison_with_a_page(other: str, monkeypatch: pytest.MonkeyPatch) -> None:
    interrupted_after(1, monkeypatch)
    result = compare("photos", other)
    assert result.exit_code == 130
    assert result.stdout.splitlines()[-1] == "comparison/index.html" and Path("comparison/index.html").is_file()


def test_a_page_of_a_comparison_that_goes_on_is_written_each_minute_if_something_changed(tmp_path: Path) -> None:
    comparison = Comparison(tmp_path / "out")
    frame = compose(360, 480)
    for text, written in (("A1", ["A1"]), ("B2", ["A1"])):
        comparison.add("other", "gate", frame, [], [OtherPlate(Box(0, 0, 90, 30), text, 0.9)])
        comparison.keep()
        assert [row["theirs"] for row in table(tmp_path / "out/differences.csv")] == written
    comparison._next_page = 0.0  # a minute later
    comparison.keep()
    assert len(table(tmp_path / "out/differences.csv")) == 2


def test_a_pair_of_onnx_files_is_another_reader() -> None:
    write_detector(Path("finder.onnx"), [(0, 10, 26, 26, 30, 0, 0.9)])
    write_reader(Path("reader.onnx"), TEXTS[0], 0.9)
    result = compare("photos", "finder.onnx,reader.onnx")
    assert result.exit_code == 0, result.output
    assert result.stdout.split()[-6:] == ["finder.onnx,reader.onnx", "1", "2", "0", "0", "comparison/index.html"]
    Path("reader.onnx").unlink()
    result = compare("photos", "finder.onnx,reader.onnx")
    assert (result.exit_code, result.stderr) == (2, "plates: reader.onnx: No such file or directory\n")


def test_a_video_is_compared_to_its_end(other: str) -> None:
    write_clip(Path("car.mp4"), passing(24), fps=8)
    result = compare("car.mp4", other, "--every", "1")
    assert result.exit_code == 0, result.output
    assert Other.asked == 3
    assert {row["source"] for row in table(Path("comparison/differences.csv"))} == {"car.mp4"}
    result = compare("nothing.mp4", other)
    assert result.exit_code == 2 and "nothing.mp4" in result.stderr


@pytest.fixture
def camera() -> Iterator[RtspCamera]:
    camera = RtspCamera(write_clip(Path("camera.mkv"), [*passing(24)] * 40, fps=8), "ann", "s3cret")
    yield camera
    camera.kill()


def test_a_camera_is_compared_for_as_long_as_asked(other: str, camera: RtspCamera) -> None:
    for minutes in ("0.05", "0.3", "1"):  # a slow machine may have no picture at first
        Other.asked = 0
        result = compare(camera.url("ann:s3cret@"), other, "--minutes", minutes, "--every", "0.2")
        assert result.exit_code == 0, result.output
        if Other.asked >= len(TOLD):
            break
    assert {row["source"] for row in table(Path("comparison/differences.csv"))} == {camera.url()}
    assert "s3cret" not in result.output + Path("comparison/index.html").read_text(encoding="utf-8")


def test_a_reader_that_is_lost_beside_a_camera_is_asked_again(
    other: str, camera: RtspCamera, monkeypatch: pytest.MonkeyPatch
) -> None:
    Other.lost = (3, 4)
    interrupted_after(6, monkeypatch)
    result = compare(camera.url("ann:s3cret@"), other, "--every", "0.2")
    assert result.exit_code == 130, result.output
    told = [line for line in result.stderr.splitlines() if other in line]
    assert told == [f"lost: {other}: answered 503; it is asked again and again", f"{other}: answers again"]
    assert TEXT in {row["ours"] for row in table(Path("comparison/differences.csv"))}
