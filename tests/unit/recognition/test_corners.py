"""Windows around plates, their corners, and straightened crops: exact geometry, and nothing ever crashes."""

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plate_nets.recognition.corners import (
    CornerFinder,
    CornerSettings,
    FoundCorners,
    cut_windows,
    distinct,
    first_window,
    from_window,
    next_window,
    rescored,
    to_window,
)
from plate_nets.recognition.geometry import GREY
from plate_nets.recognition.quads import lines_of
from plate_nets.recognition.rectification import (
    RectificationSettings,
    box_quads,
    crop_rectified,
    order_corners,
    parallelogram,
    quad_boxes,
    usable,
    warp_quad,
    widen,
)
from plate_nets.types import WINDOW_HEIGHT, WINDOW_WIDTH


def upright(*box: float) -> np.ndarray:
    """A box xyxy -> its corners (4, 2)."""
    return np.asarray(box_quads(np.array([box], np.float32))[0])


SQUARE = upright(10, 10, 60, 20)


def turned(quad: np.ndarray, degrees: float) -> np.ndarray:
    angle, middle = np.radians(degrees), quad.mean(axis=0)
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    return np.asarray((quad - middle) @ turn.T + middle, np.float32)


def gradient(height: int = 90, width: int = 120) -> np.ndarray:
    """A frame whose blue is twice x and whose green is twice y, at the centres of pixels."""
    frame = np.zeros((height, width, 3), np.uint8)
    frame[:, :, 0] = 2 * np.arange(width)[None]
    frame[:, :, 1] = 2 * np.arange(height)[:, None]
    return frame


@pytest.mark.parametrize("degrees", [-30, -5, 0, 12, 30])
@pytest.mark.parametrize("shift", [0, 1, 2, 3])
@pytest.mark.parametrize("mirrored", [False, True])
def test_corners_are_put_in_order(degrees: float, shift: int, mirrored: bool) -> None:
    quad = turned(SQUARE, degrees)
    given_quad = np.roll(quad[::-1] if mirrored else quad, shift, axis=0)
    assert np.allclose(order_corners(given_quad), quad)


def test_the_corners_of_a_square_plate_start_at_its_upright_top_left() -> None:
    square = np.array([[0, 0], [17, 0], [17, 10.2], [0, 10.2]], np.float32)
    assert np.allclose(order_corners(np.roll(turned(square, 25), 2, axis=0)), turned(square, 25), atol=1e-4)


def test_a_wider_quad_keeps_its_perspective() -> None:
    assert np.allclose(widen(SQUARE, 0.1, 0.2, 0.1, 0.2), [[5, 8], [65, 8], [65, 22], [5, 22]], atol=1e-3)
    tapering = np.array([[0, 0], [100, 10], [100, 30], [0, 40]], np.float32)
    wide = widen(tapering, 0, 0.5, 0, 0.5)
    assert np.allclose(wide[:, 0], [0, 100, 100, 0], atol=1e-2)
    assert np.allclose(wide[:2, 1], [-20, 0], atol=0.1)


def test_a_quad_with_a_close_vanishing_line_is_widened_flat() -> None:
    steep = np.array([[0, 0], [100, 48], [100, 52], [0, 100]], np.float32)
    assert np.abs(widen(steep, 0.2, 0.2, 0.2, 0.2)).max() < 500


def test_a_straight_quad_is_cut_to_the_pixel() -> None:
    frame = gradient()
    assert np.array_equal(warp_quad(frame, SQUARE, (10, 50)), frame[10:20, 10:60])


def test_a_turned_quad_is_cut_along_its_edges() -> None:
    quad = turned(upright(20, 30, 70, 40), 20)
    cut = warp_quad(gradient(), quad, (20, 100)).astype(float)
    inside = quad + (quad.mean(axis=0) - quad) * 0.02
    for (row, column), corner in zip(((0, 0), (0, 99), (19, 99), (19, 0)), inside, strict=True):
        assert cut[row, column, :2] / 2 == pytest.approx(corner - 0.5, abs=1.0)


@pytest.mark.parametrize(
    ("hw", "box", "crop_hw", "off"),
    [((400, 1600), (0, 0, 1600, 400), (24, 94), 12), ((60, 800), (8, 8, 792, 40), (32, 196), 40)],
    ids=["large", "finer along than across"],
)
def test_a_plate_finer_than_its_crop_is_averaged_not_sampled(
    hw: tuple[int, int], box: tuple[int, ...], crop_hw: tuple[int, int], off: int
) -> None:
    frame = np.zeros((*hw, 3), np.uint8)
    frame[:, ::2] = 255
    cut = warp_quad(frame, upright(*box), crop_hw)
    assert np.abs(cut[:, 4:-4].astype(int) - 127).max() < off


def test_pixels_beyond_the_frame_are_grey() -> None:
    frame = np.full((20, 40, 3), 200, np.uint8)
    cut = warp_quad(frame, upright(-40, 0, 40, 20), (20, 80))
    assert (cut[:, :36] == GREY).all() and (cut[:, 44:] == 200).all()
    assert (warp_quad(frame, upright(500, 500, 600, 520), (24, 94)) == GREY).all()


@pytest.mark.parametrize(
    "quad",
    [
        np.zeros((4, 2)),
        np.array([[0, 0], [50, 10], [50, 0], [0, 10]]),  # crossed edges
        np.array([[0, 10], [50, 10], [50, 0], [0, 0]]),  # mirrored
        np.array([[0, 0], [50, 0], [20, 2], [0, 10]]),  # not convex
        np.array([[0, 0], [50, 0], [50, 10], [0, 90]]),  # not the shape of a plate
        np.array([[0, 0], [200, 0], [200, 4.5], [0, 4.5]]),  # edge-on
        np.array([[np.nan, 0], [50, 0], [50, 10], [0, 10]]),
        np.array([[0, 0], [np.inf, 0], [np.inf, 10], [0, 10]]),
        np.array([[0, 0], [1e7, 0], [1e7, 1e6], [0, 1e6]]),
    ],
)
def test_corners_that_are_not_a_plates_give_an_upright_crop(quad: np.ndarray) -> None:
    quads, boxes = quad[None].astype(np.float32), np.array([[10, 10, 60, 20]], np.float32)
    assert not usable(quads)[0]
    crops = crop_rectified(gradient(), quads, boxes, lines_of(quads), 0.0)
    upright_alone = RectificationSettings(0, 0, least_height=50)
    expected = crop_rectified(gradient(), box_quads(boxes), boxes, lines_of(quads), 0.0, upright_alone)
    assert np.array_equal(crops, expected) and np.isfinite(crops).all()


def two_line_frame() -> tuple[np.ndarray, np.ndarray]:
    """A plate seen from the side on grey, first line red, second blue; and its corners."""
    quad = np.array([[40, 30], [100, 38], [98, 74], [42, 66]], np.float32)
    plate = np.zeros((100, 170, 3), np.uint8)
    plate[:52, :, 2] = plate[52:, :, 0] = 200
    matrix = cv2.getPerspectiveTransform(upright(0, 0, 170, 100), quad)
    return np.asarray(cv2.warpPerspective(plate, matrix, (160, 110), borderValue=(90, 90, 90))), quad


def test_two_lines_are_laid_side_by_side() -> None:
    frame, quad = two_line_frame()
    assert lines_of(quad[None]).tolist() == [2]
    crop = crop_rectified(frame, quad[None], quad_boxes(quad[None]), lines_of(quad[None]), 0.1)[0] * 128 + 127.5  # RGB
    inner = crop[:, 5:-5, 8:-8]
    left, right = inner[:, :, :31], inner[:, :, -31:]
    assert left[0].min() > 150 and left[2].max() < 50, "the first line, red"
    assert right[2].min() > 150 and right[0].max() < 50, "the second line, blue"


@pytest.mark.parametrize(
    ("width", "height", "lines"),
    [(520, 112, 1), (290, 170, 2), (288, 206, 2), (190, 145, 2), (250, 112, 1), (100, 200, 1), (0, 0, 1)],
)
def test_the_shape_gives_the_number_of_lines(width: float, height: float, lines: int) -> None:
    assert lines_of(upright(0, 0, width, height)[None]).tolist() == [lines]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(-300, 500, width=32), min_size=8, max_size=8))
def test_any_corners_give_a_crop(numbers: list[float]) -> None:
    quads = np.array(numbers, np.float32).reshape(1, 4, 2)
    crops = crop_rectified(gradient(), quads, np.array([[0, 0, 50, 20]], np.float32), lines_of(quads), 0.1)
    assert crops.shape == (1, 3, 24, 94) and np.isfinite(crops).all()


def test_points_survive_the_mapping_into_a_window() -> None:
    window = next_window(turned(SQUARE, 25))
    points = np.array([[3, 4], [50, 30], [-10, 80]], np.float32)
    assert np.allclose(from_window(to_window(points, window), window), points, atol=1e-3)


def test_the_first_window_contains_the_whole_plate_of_a_tight_or_turned_box() -> None:
    box = np.array([100, 100, 192, 120], np.float32)
    tight, tall = quad_boxes(np.stack([first_window(box), first_window(np.array([0, 0, 40, 30], np.float32))]))
    assert tight == pytest.approx([77, 75.5, 215, 144.5])
    assert tall[2:] - tall[:2] == pytest.approx([90, 45])


def test_the_next_window_shows_the_plate_straight() -> None:
    quad = turned(SQUARE, 17)
    inside = to_window(quad, next_window(quad))
    assert np.allclose(inside, [[16, 16], [112, 16], [112, 48], [16, 48]], atol=1e-2)
    skewed = np.asarray(np.add(quad, [[0, 1], [0, 0], [0, 0], [0, 0]]), np.float32)
    straight = parallelogram(skewed)
    np.testing.assert_allclose(parallelogram(straight), straight, atol=1e-4)


class Oracle:
    """A network that knows the plate's place. It answers for the windows in the order in which they are cut."""

    def __init__(self, quads: np.ndarray, boxes: np.ndarray, plate: float = 5.0) -> None:
        self.plate = plate
        self.quads, self.windows, self.calls = quads, [first_window(box) for box in boxes], 0

    def __call__(self, windows: np.ndarray) -> np.ndarray:
        if self.calls:
            self.windows = [next_window(quad) for quad in self.quads]
        self.calls += 1
        points = [to_window(q, w).reshape(8) for q, w in zip(self.quads, self.windows, strict=True)]
        told = np.tile((np.log(0.05), self.plate), (len(windows), 1))
        return np.concatenate((np.stack(points), told), axis=1).astype(np.float32)


@pytest.mark.parametrize(
    ("settings", "calls", "used"),
    [
        (CornerSettings(looks=2, settled=0), 2, True),
        (CornerSettings(looks=2, settled=0.06), 1, True),
        (CornerSettings(looks=2, largest_error=0.04), 1, False),
    ],
    ids=["two looks", "certain at once", "too uncertain"],
)
def test_corners_come_back_in_pixels_of_the_frame(settings: CornerSettings, calls: int, used: bool) -> None:
    """Those of the oracle have an error of 0.05."""
    quads = np.stack([turned(SQUARE, 20), upright(40, 50, 90, 60)])
    boxes = quad_boxes(quads) + np.array([3, -2, 5, 1], np.float32)
    network = Oracle(quads, boxes)
    found = CornerFinder(network, settings).find(gradient(), boxes)
    assert network.calls == calls
    assert np.allclose(found.quads, quads if used else box_quads(boxes), atol=1e-2)
    assert np.allclose(found.errors, 0.05 if used else 1)


@pytest.mark.parametrize("answer", [np.zeros(10), np.full(10, np.nan), np.full(10, 1e30), np.full(10, -np.inf)])
def test_invalid_corners_give_the_box_and_an_error_of_one(answer: np.ndarray) -> None:
    boxes = np.array([[10, 10, 60, 20], [0, 0, 0, 0]], np.float32)
    finder = CornerFinder(lambda windows: np.tile(answer.astype(np.float32), (len(windows), 1)))
    found = finder.find(gradient(), boxes)
    assert np.array_equal(found.quads, box_quads(boxes)) and (found.errors == 1).all()


def test_the_window_corrects_the_score() -> None:
    boxes = quad_boxes(turned(SQUARE, 20)[None])
    network = Oracle(turned(SQUARE, 20)[None], boxes, plate=-2.0)
    lowered = CornerFinder(network, CornerSettings(looks=1, convincing=0.04)).find(gradient(), boxes)
    assert lowered.odds.tolist() == [-2.0]
    assert CornerFinder(network, CornerSettings(looks=1)).find(gradient(), boxes).odds.tolist() == [0.0], "convincing"
    scores = np.array([0.5, 0.5, 0.9, 0.0, 1.0], np.float32)
    odds = np.array([0.0, np.log(3), -np.log(9), 8.0, -8.0], np.float32)
    assert rescored(scores, odds)[:3] == pytest.approx([0.5, 0.75, 0.5])
    assert 0 <= rescored(scores, odds)[3] < 0.01 and 0.99 < rescored(scores, odds)[4] <= 1


def test_many_plates_are_sent_in_chunks() -> None:
    sizes: list[int] = []

    def network(windows: np.ndarray) -> np.ndarray:
        sizes.append(len(windows))
        return np.zeros((len(windows), 10), np.float32)

    boxes = np.tile(np.array([[10, 10, 60, 20]], np.float32), (5, 1))
    CornerFinder(network, CornerSettings(looks=1, chunk=2)).find(gradient(), boxes)
    assert sizes == [2, 2, 1]


def test_two_boxes_on_one_plate_leave_one() -> None:
    quads = np.stack([SQUARE, upright(12, 11, 62, 21), upright(40, 50, 90, 60)])
    found = FoundCorners(quads, np.full(3, 0.05, np.float32), np.zeros(3, np.float32))
    assert distinct(found, np.array([0.9, 0.8, 0.3], np.float32)).tolist() == [0, 2]


def test_a_window_has_the_shape_of_the_networks_input() -> None:
    window = cut_windows(gradient(), [first_window(np.array([40, 30, 80, 50], np.float32))])[0]
    assert window.shape == (3, WINDOW_HEIGHT, WINDOW_WIDTH) and window.dtype == np.float32
    assert window.min() >= -1 and window.max() <= 1 and window[2].max() > window[0].max()


@pytest.mark.parametrize("block", [2, 3, 18])
def test_a_window_much_finer_than_the_network_s_input_is_averaged_over_blocks_also_at_the_frame_s_border(
    block: int,
) -> None:
    coarse = np.random.default_rng(1).integers(0, 256, (64, 128, 3), dtype=np.uint8)
    fine = coarse.repeat(block, axis=0).repeat(block, axis=1)
    np.testing.assert_array_equal(warp_quad(fine, upright(0, 0, 128 * block, 64 * block), (64, 128)), coarse)


def test_a_parallelogram_is_warped_as_in_perspective() -> None:
    frame = gradient()
    flat = np.array([[10, 12], [70, 20], [72, 52], [12, 44]], np.float32)
    nearly = flat + np.array([[0.01, 0], [0, 0], [0, 0], [0, 0]], np.float32)
    difference = np.abs(warp_quad(frame, flat, (64, 128)).astype(int) - warp_quad(frame, nearly, (64, 128)))
    assert difference.max() <= 2
