import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plate_nets.recognition.geometry import GREY, STRIDE, Letterbox, clip, crop_plates, expand
from plate_nets.types import Boxes

NO_BOXES = np.empty((0, 4), np.float32)


def boxes(*rows: tuple[float, float, float, float]) -> Boxes:
    return np.array(rows, np.float32).reshape(-1, 4)


@pytest.mark.parametrize(
    ("frame_hw", "long_side", "input_hw"),
    [
        ((720, 1280), 640, (384, 640)),
        ((1280, 720), 640, (640, 384)),
        ((480, 640), 640, (480, 640)),
        ((640, 640), 640, (640, 640)),
        ((213, 320), 640, (448, 640)),
        ((1080, 1920), 960, (544, 960)),
        ((1, 1), 640, (640, 640)),
        ((1, 3000), 640, (32, 640)),
    ],
)
def test_input_keeps_the_aspect(frame_hw: tuple[int, int], long_side: int, input_hw: tuple[int, int]) -> None:
    letterbox = Letterbox(frame_hw, long_side)
    assert letterbox.input_hw == input_hw
    placed = letterbox.place(np.zeros((*frame_hw, 3), np.uint8))
    assert placed.shape == (1, *input_hw, 3)
    assert placed.dtype == np.uint8


@pytest.mark.parametrize("hw", [(720, 1280), (1280, 720), (300, 300)])
def test_the_network_input_has_grey_beside_the_frame(hw: tuple[int, int]) -> None:
    frame = np.zeros((*hw, 3), np.uint8)
    frame[:] = (255, 51, 0)
    letterbox = Letterbox(hw, 600)
    placed, (inner_h, inner_w) = letterbox.place(frame)[0], letterbox.inner_hw
    assert (placed[:inner_h, :inner_w] == (255, 51, 0)).all()
    assert (placed[inner_h:] == GREY).all()
    assert (placed[:, inner_w:] == GREY).all()


@pytest.mark.parametrize("hw", [(720, 1280), (730, 1280), (360, 640), (500, 500)])
def test_a_frame_reuses_the_memory_of_the_previous_one(hw: tuple[int, int]) -> None:
    frame = np.random.default_rng(0).integers(0, 255, (*hw, 3), np.uint8)
    before = np.full((1, 384, 640, 3), 7, np.uint8)
    placed = Letterbox(hw, 640).place(frame, before)
    np.testing.assert_array_equal(placed, Letterbox(hw, 640).place(frame))
    assert (placed is before) == (Letterbox(hw, 640).input_hw == (384, 640))


sides = st.integers(1, 4000)


@given(height=sides, width=sides, long_side=st.integers(1, 40).map(lambda n: 32 * n))
def test_boxes_survive_the_letterbox(height: int, width: int, long_side: int) -> None:
    letterbox = Letterbox((height, width), long_side)
    inner_h, inner_w = letterbox.inner_hw
    back = letterbox.to_frame(boxes((0, 0, inner_w, inner_h), (inner_w / 3, inner_h / 4, inner_w / 2, inner_h / 2)))
    np.testing.assert_allclose(back[0], [0, 0, width, height], rtol=1e-5)
    np.testing.assert_allclose(back[1], [width / 3, height / 4, width / 2, height / 2], rtol=1e-5)
    assert all(side % STRIDE == 0 for side in letterbox.input_hw)
    assert all(0 <= outer - inner < STRIDE for outer, inner in zip(letterbox.input_hw, letterbox.inner_hw, strict=True))


@pytest.mark.parametrize("hw", [(1080, 1920), (1440, 2560), (2160, 3840), (900, 1600), (1081, 1921), (720, 1280)])
@pytest.mark.parametrize("long_side", [640, 800, 864, 960])
def test_the_input_shows_what_averaged_areas_show(hw: tuple[int, int], long_side: int) -> None:
    coarse = np.random.default_rng(0).integers(0, 256, (hw[0] // 18, hw[1] // 18, 3), np.uint8)
    frame = np.asarray(cv2.resize(coarse, hw[::-1], interpolation=cv2.INTER_CUBIC), np.uint8)
    letterbox = Letterbox(hw, long_side)
    inner_h, inner_w = letterbox.inner_hw
    placed = letterbox.place(frame)[0, :inner_h, :inner_w].astype(np.float32)
    areas = cv2.resize(frame, (inner_w, inner_h), interpolation=cv2.INTER_AREA).astype(np.float32)
    shifted = np.abs(placed[:, 1:] - areas[:, :-1]).mean()
    assert np.abs(placed - areas).mean() < min(4.0, 0.25 * shifted)


@pytest.mark.parametrize("frame_hw", [(720, 1280), (1000, 777), (101, 333), (1080, 1920), (1600, 1200)])
def test_a_marked_point_is_where_the_mapping_puts_it(frame_hw: tuple[int, int]) -> None:
    frame = np.zeros((*frame_hw, 3), np.uint8)
    box = boxes((0.30 * frame_hw[1], 0.4 * frame_hw[0], 0.55 * frame_hw[1], 0.7 * frame_hw[0])).round()
    x1, y1, x2, y2 = box[0].astype(int)
    frame[y1:y2, x1:x2] = 255
    letterbox = Letterbox(frame_hw, 640)
    mark = letterbox.place(frame)[0, ..., 0] * (np.arange(letterbox.input_hw[0]) < letterbox.inner_hw[0])[:, None]
    ys, xs = np.nonzero(mark > 127)
    found = boxes((xs.min(), ys.min(), xs.max() + 1, ys.max() + 1))
    input_px = max(outer / inner for outer, inner in zip(frame_hw, letterbox.inner_hw, strict=True))
    np.testing.assert_allclose(letterbox.to_frame(found), box, atol=0.51 * input_px)


def test_expand_and_clip() -> None:
    grown = expand(boxes((10, 20, 50, 30)), 0.2)
    np.testing.assert_allclose(grown, [[8, 18, 52, 32]])
    np.testing.assert_allclose(clip(grown, (31, 51)), [[8, 18, 51, 31]])
    np.testing.assert_allclose(clip(boxes((-20, -20, -5, -5)), (31, 51)), [[0, 0, 0, 0]])


@pytest.mark.parametrize(
    "empty", [expand(NO_BOXES, 0.1), clip(NO_BOXES, (5, 5)), Letterbox((5, 5), 64).to_frame(NO_BOXES)]
)
def test_no_boxes_stay_no_boxes_and_give_no_crops(empty: Boxes) -> None:
    assert empty.shape == (0, 4)
    assert empty.dtype == np.float32
    assert crop_plates(np.zeros((5, 5, 3), np.uint8), empty, 0.1).shape == (0, 3, 24, 94)


def test_a_crop_is_rgb_around_0() -> None:
    frame = np.zeros((100, 200, 3), np.uint8)
    frame[40:60, 50:150] = (255, 127, 0)
    crop = crop_plates(frame, boxes((50, 40, 150, 60)), 0.0)
    assert crop.shape == (1, 3, 24, 94)
    assert crop.dtype == np.float32
    np.testing.assert_allclose(crop[0].mean((1, 2)), [-127.5 / 128, -0.5 / 128, 127.5 / 128], atol=1e-4)


WHERE = [(left, top) for left in (-0.1, 0.0, 0.4, 0.8, 0.9) for top in (-0.1, 0.0, 0.4, 0.8, 0.9)]


@pytest.mark.parametrize("margin", [0.0, 0.3])
@pytest.mark.parametrize(("left", "top"), WHERE)
def test_crops_at_edges_and_corners_show_the_part_within_the_frame(left: float, top: float, margin: float) -> None:
    height, width = 120, 300
    frame = np.random.default_rng(0).integers(0, 256, (height, width, 3), np.uint8)
    box = boxes((left * width, top * height, left * width + 60, top * height + 24))
    crop = crop_plates(frame, box, margin)
    x1, y1, x2, y2 = expand(box, margin)[0]
    inside = frame[max(0, int(np.floor(y1))) : int(np.ceil(y2)), max(0, int(np.floor(x1))) : int(np.ceil(x2))]
    shrinks = inside.shape[0] * inside.shape[1] > 24 * 94
    expected = cv2.resize(inside, (94, 24), interpolation=cv2.INTER_AREA if shrinks else cv2.INTER_CUBIC)
    expected = (expected[:, :, ::-1].transpose(2, 0, 1).astype(np.float32) - 127.5) / 128
    np.testing.assert_array_equal(crop[0], expected)


def test_a_crop_of_a_tiny_box_is_at_least_a_pixel() -> None:
    frame = np.full((2, 2, 3), 10, np.uint8)
    assert crop_plates(frame, boxes((1.2, 1.2, 1.3, 1.3), (2, 2, 2, 2), (-9, -9, -5, -5)), 0.0).shape == (3, 3, 24, 94)
