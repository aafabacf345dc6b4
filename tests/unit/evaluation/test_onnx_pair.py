"""A detector and a reader in ONNX: boxes of the picture, texts without padding, and a line for what is no such file."""

import sys
from pathlib import Path

import pytest

from plate_nets.common.errors import InputError, MissingExtra
from plate_nets.evaluation.onnx_pair import OnnxPair
from tests.frames import compose
from tests.onnx_models import write_detector, write_reader

FRAME = compose(360, 480)
PLATE = (0, 10, 26, 26, 30, 0, 0.9)
"""In the letterbox of 48 x 48 px: a tenth of the frame's size, 6 px lower."""


@pytest.fixture(autouse=True)
def inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def pair() -> OnnxPair:
    return OnnxPair("finder.onnx,reader.onnx")


@pytest.mark.parametrize("mode", ["rgb", "grayscale"])
def test_a_pair_gives_boxes_texts_and_how_sure_they_are(mode: str) -> None:
    write_detector(Path("finder.onnx"), [PLATE, (0, 0, 8, 9, 9, 0, 0.3)])
    write_reader(Path("reader.onnx"), "A123BC77", 0.75, image_color_mode=mode)
    (plate,) = pair().read(FRAME)
    assert plate.text == "A123BC77" and plate.confidence == 0.75
    assert plate.box.sides == pytest.approx((100, 200, 260, 240), abs=0.01)


def test_no_plates_plates_without_text_and_boxes_at_the_edge_are_no_error() -> None:
    write_reader(Path("reader.onnx"), "", 0.9)
    for rows in ([], [PLATE], [(0, 48, 48, 52, 60, 0, 0.9), (0, -9, -9, -1, -1, 0, 0.9)]):
        write_detector(Path("finder.onnx"), rows)
        assert pair().read(FRAME) == []


def test_a_configuration_with_another_name_is_taken_if_it_is_the_only_one() -> None:
    write_detector(Path("finder.onnx"), [PLATE])
    write_reader(Path("reader.onnx"), "A1", 0.9)
    Path("reader_plate_config.yaml").rename("of_a_reader_config.yaml")
    assert [plate.text for plate in pair().read(FRAME)] == ["A1"]
    Path("another_config.yaml").touch()
    with pytest.raises(
        InputError, match=r"reader\.onnx: expected one \*_config\.yaml of fast-plate-ocr beside it, got 2"
    ):
        pair()


@pytest.mark.parametrize(
    ("files", "changes", "said"),
    [
        ("reader.onnx", {}, "--with: expected DETECTOR.onnx,READER.onnx, got reader.onnx"),
        ("none.onnx,reader.onnx", {}, "none.onnx: No such file or directory"),
        ("text.onnx,reader.onnx", {}, "text.onnx: does not load: "),
        ("reader.onnx,finder.onnx", {}, "reader.onnx: expected a detector of open-image-models"),
        ("finder.onnx,finder.onnx", {}, "finder.onnx: expected a reader of fast-plate-ocr"),
        ("finder.onnx,reader.onnx", {"img_width": 20}, "reader.onnx: expected a reader of fast-plate-ocr, which takes"),
        ("finder.onnx,reader.onnx", {"alphabet": "AB_"}, "reader.onnx: expected a reader of fast-plate-ocr"),
        ("finder.onnx,reader.onnx", {"keep_aspect_ratio": True}, "keep_aspect_ratio: Input should be False"),
    ],
)
def test_what_is_no_such_pair_is_said_in_a_line(files: str, changes: dict[str, object], said: str) -> None:
    write_detector(Path("finder.onnx"), [PLATE])
    write_reader(Path("reader.onnx"), "A1", 0.9, **changes)
    Path("text.onnx").write_text("?")
    with pytest.raises(InputError) as caught:
        OnnxPair(files)
    assert said in str(caught.value) and "\n" not in str(caught.value)


def test_the_extra_of_onnx_runtime_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(MissingExtra, match=r'finder\.onnx needs onnxruntime: pip install "plate-nets\[onnx\]"'):
        pair()
