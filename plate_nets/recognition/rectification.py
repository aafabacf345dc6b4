"""Straight crops of plates: a quadrilateral of a frame -> an upright picture, from the frame's own pixels.

Quads are (4, 2) corner points x, y clockwise from the plate's own top left, in continuous pixels of the frame: pixel
``i`` covers ``i`` to ``i + 1``. They may extend beyond the frame. The two lines of a plate are placed side by side.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from plate_nets.recognition.geometry import GREY, crop_plates, normalized
from plate_nets.recognition.quads import LEAST_ASPECT, Quad, Quads, quad_size
from plate_nets.types import CROP_HEIGHT, CROP_WIDTH, Boxes, Crops, Frame, Lines

_FAR = 1e5
"""Coordinates beyond this, in pixels, are outside of any frame that can be sent."""
_FLAT = 1e-3
"""The maximum difference, in pixels, between the middles of the diagonals of a parallelogram, doubled."""
_LEAST_SINE = 0.2
"""The minimum sine of a corner's angle on a readable plate. A guess."""
SECOND_LINE = 0.52
"""Where the second line of a plate begins, as a share of its height: between the characters of every type."""
_ALIKE = 0.4
"""The minimum length of an edge, as a share of the opposite one. A guess."""


@dataclass(frozen=True)
class RectificationSettings:
    """What a straightened crop includes.

    ``margin_x``, ``margin_y``: the margins on the left and the right, and above and below, as shares of the plate's
    height. Of the 204 plates of ru_dev, and of the same turned by 15 degrees, 193 and 192 are read as text at 0.25 and
    0.15, and 188 to 192 and 190 to 192 at other values from 0 to 0.3. The difference is small, so the choice leaves
    room for imprecise corners.
    ``line_margin_x``, ``line_margin_y``: the same for a plate of two lines, as shares of a line's height. Where the
    lines meet, each loses ``line_inset`` at its end and extends beyond the plate's middle by ``line_overlap``. The
    reader only takes both for one line if no edge of the plate is visible between them: its best reading is right for
    0.61 of 250 rendered plates with the margins of one line on all sides, for 0.87 without the inner ones, and for 0.96
    with these.
    ``least_height``: plates lower than this, in pixels, are cropped upright, because their corners are too imprecise.
    ``largest_aspect``, ``least_aspect``: the limits of width over height for a plate.
    """

    margin_x: float = 0.25
    margin_y: float = 0.15
    line_margin_x: float = 0.15
    line_margin_y: float = 0.1
    line_inset: float = 0.2
    line_overlap: float = 0.1
    least_height: float = 4.0
    least_aspect: float = LEAST_ASPECT
    largest_aspect: float = 12.0


def box_quads(boxes: Boxes) -> Quads:
    """Boxes (N, 4) xyxy -> their corners (N, 4, 2)."""
    return np.asarray(boxes[:, [0, 1, 2, 1, 2, 3, 0, 3]].reshape(-1, 4, 2), np.float32)


def quad_boxes(quads: Quads) -> Boxes:
    """Quads (N, 4, 2) -> the upright boxes (N, 4) xyxy around them."""
    return np.asarray(np.concatenate((quads.min(axis=1), quads.max(axis=1)), axis=1), np.float32)


def order_corners(quad: Quad) -> Quad:
    """Corner points in any order around a plate -> clockwise from the plate's top left.

    Of the four possible first edges, it takes a long one that points most to the right: correct for plates that are
    wider than high and turned by less than 90 degrees.
    """
    turned = quad if _doubled_area(quad) >= 0 else quad[::-1]
    best, score = turned, -np.inf
    for start in range(4):
        rolled = np.roll(turned, -start, axis=0)
        edge, side = rolled[1] - rolled[0], rolled[2] - rolled[1]
        rightwards = float(edge[0])
        if np.hypot(*edge) >= 1.15 * np.hypot(*side):
            rightwards += float(np.hypot(*edge))
        if rightwards > score:
            best, score = rolled, rightwards
    return np.ascontiguousarray(best, np.float32)


def widen(quad: Quad, left: float, top: float, right: float, bottom: float) -> Quad:
    """Extend a quad on each side, in the perspective of its own plane.

    Args:
        quad: (4, 2), convex.
        left: the extension, as a share of the quad's width; ``right`` likewise.
        top: the extension, as a share of the quad's height; ``bottom`` likewise.
    """
    unit = np.array([[0, 0], [1, 0], [1, 1], [0, 1]], np.float32)
    matrix = cv2.getPerspectiveTransform(unit, np.ascontiguousarray(quad, np.float32))
    wide = np.array([[-left, -top], [1 + right, -top], [1 + right, 1 + bottom], [-left, 1 + bottom]], np.float64)
    points = np.concatenate((wide, np.ones((4, 1))), axis=1) @ matrix.T
    if (points[:, 2] < 0.05).any():  # the vanishing line is close: ignore the perspective
        return _widen_flat(quad, left, top, right, bottom)
    return np.asarray(points[:, :2] / points[:, 2:], np.float32)


def parallelogram(quad: Quad) -> Quad:
    """The parallelogram closest to a quad (least squares)."""
    a, b, c, d = quad.astype(np.float64)
    middle, along, down = (a + b + c + d) / 4, (b - a + c - d) / 4, (d - a + c - b) / 4
    return np.array(
        [middle - along - down, middle + along - down, middle + along + down, middle - along + down], np.float32
    )


def usable(quads: Quads, settings: RectificationSettings = RectificationSettings()) -> NDArray[np.bool_]:
    """Quads (N, 4, 2) -> whether a plate can be cropped along each: finite, convex, clockwise, shaped like a plate."""
    sound = np.isfinite(quads).all(axis=(1, 2)) & (np.abs(quads) < _FAR).all(axis=(1, 2))
    quads = np.where(sound[:, None, None], quads, 0).astype(np.float64)
    edges = np.roll(quads, -1, axis=1) - quads
    after = np.roll(edges, -1, axis=1)
    turns = edges[..., 0] * after[..., 1] - edges[..., 1] * after[..., 0]  # above 0: clockwise, as y points down
    lengths = np.linalg.norm(edges, axis=2)
    sine = turns / np.maximum(lengths * np.roll(lengths, -1, axis=1), 1e-9)
    height, width = (lengths[:, 1] + lengths[:, 3]) / 2, (lengths[:, 0] + lengths[:, 2]) / 2
    aspect = width / np.maximum(height, 1e-9)
    alike = np.minimum(lengths[:, :2], lengths[:, 2:]) > _ALIKE * np.maximum(lengths[:, :2], lengths[:, 2:])
    return np.asarray(
        sound
        & (sine > _LEAST_SINE).all(axis=1)
        & alike.all(axis=1)
        & (height >= settings.least_height)
        & (aspect >= settings.least_aspect)
        & (aspect <= settings.largest_aspect),
        bool,
    )


def warp_quad(
    frame: Frame, quad: Quad, hw: tuple[int, int], enlarge: int = cv2.INTER_CUBIC, blocks: bool = True
) -> Frame:
    """A quad of a frame -> an upright picture of it.

    Args:
        frame: (H, W, 3) BGR uint8.
        quad: (4, 2) in pixels of the frame, convex; parts beyond the frame are grey.
        hw: height and width of the picture in pixels.
        enlarge: OpenCV's interpolation if the picture is finer than the frame.
        blocks: if the quad is much finer than the picture, average whole blocks of its pixels first; otherwise areas of
            exactly a pixel of the picture, which takes ten times as long.

    Returns:
        (h, w, 3) BGR uint8.
    """
    height, width = hw
    tall, wide = (float(size[0]) for size in quad_size(quad[None]))
    ratio = min(tall / height, wide / width)
    block = max(1, round(min(ratio, _FAR))) if blocks else 1
    (x0, y0), (x1, y1) = _whole_pixels(quad, frame.shape[:2], block)
    if x1 <= x0 or y1 <= y0:
        return np.full((height, width, 3), GREY, np.uint8)
    part = frame[y0:y1, x0:x1]
    inner = np.asarray(quad, np.float32) - np.array([x0, y0], np.float32)
    if ratio > 1.5:
        shrink = block if blocks else ratio
        size = (max(1, round(part.shape[1] / shrink)), max(1, round(part.shape[0] / shrink)))
        inner = inner * np.array([size[0] / part.shape[1], size[1] / part.shape[0]], np.float32)
        part = np.asarray(cv2.resize(part, size, interpolation=cv2.INTER_AREA), np.uint8)
        tall, wide = tall / shrink, wide / shrink
    # A plate often has more pixels along than across: sample more finely there and average
    finer = (_finer(tall / height), _finer(wide / width))
    rows, columns = height * finer[0], width * finer[1]
    target = np.array([[0, 0], [columns, 0], [columns, rows], [0, rows]], np.float32) - 0.5
    source = np.ascontiguousarray(inner - 0.5, np.float32)  # OpenCV's coordinates start at the centre of a pixel
    how = enlarge if ratio < 0.9 else cv2.INTER_LINEAR
    grey = (GREY, GREY, GREY)
    # A parallelogram needs no perspective, which takes twice the time
    if np.abs(source[0] + source[2] - source[1] - source[3]).max() < _FLAT:
        matrix, warp = cv2.getAffineTransform(source[:3], target[:3]), cv2.warpAffine
    else:
        matrix, warp = cv2.getPerspectiveTransform(source, target), cv2.warpPerspective
    picture = warp(part, matrix, (columns, rows), flags=how, borderMode=cv2.BORDER_CONSTANT, borderValue=grey)
    if finer != (1, 1):
        picture = cv2.resize(picture, (width, height), interpolation=cv2.INTER_AREA)
    return np.asarray(picture, np.uint8)


def crop_rectified(
    frame: Frame,
    quads: Quads,
    boxes: Boxes,
    lines: Lines,
    box_margin: float,
    settings: RectificationSettings = RectificationSettings(),
) -> Crops:
    """Plates of a frame -> straightened crops for the reader.

    Args:
        frame: (H, W, 3) BGR uint8.
        quads: (N, 4, 2) corners in pixels of the frame.
        boxes: (N, 4) xyxy in pixels; used for an upright crop, with a margin of ``box_margin`` times the height, if the
            corners cannot be those of a plate.
        lines: (N,) how many lines to cut each plate into, see `quads.lines_of`.
        box_margin: see `geometry.crop_plates`.
        settings: what a straightened crop includes.

    Returns:
        (N, 3, 24, 94) RGB float32, ``(value - 127.5) / 128``.
    """
    good = usable(quads, settings)
    straight = [straighten(frame, quads[row], int(lines[row]), settings) for row in np.flatnonzero(good)]
    crops = np.empty((len(quads), 3, CROP_HEIGHT, CROP_WIDTH), np.float32)
    crops[good] = normalized(straight)
    crops[~good] = crop_plates(frame, boxes[~good], box_margin)
    return crops


def straighten(
    frame: Frame, quad: Quad, lines: int, settings: RectificationSettings, enlarge: int = cv2.INTER_CUBIC
) -> Frame:
    """A plate of 1 or 2 lines -> its crop (24, 94, 3) BGR uint8. Two lines take a half each, the first one on the left.

    Args:
        frame: (H, W, 3) BGR uint8.
        quad: (4, 2) the plate's corners in pixels of the frame.
        lines: 1 or 2.
        settings: what the crop includes.
        enlarge: see `warp_quad`.
    """
    (height,), (width,) = quad_size(quad[None])
    aspect = float(height / width)
    if lines == 1:
        x, y = settings.margin_x * aspect, settings.margin_y
        return warp_quad(frame, widen(quad, x, y, x, y), (CROP_HEIGHT, CROP_WIDTH), enlarge)
    outer, inner = settings.line_margin_x * aspect / 2, -settings.line_inset * aspect / 2
    y, reach = settings.line_margin_y / 2, settings.line_overlap / 2
    first = widen(quad, outer, y, inner, SECOND_LINE + reach - 1)
    second = widen(quad, inner, reach - SECOND_LINE, outer, y)
    halves = [warp_quad(frame, line, (CROP_HEIGHT, CROP_WIDTH // 2), enlarge) for line in (first, second)]
    return np.hstack(halves)


def _widen_flat(quad: Quad, left: float, top: float, right: float, bottom: float) -> Quad:
    flat = parallelogram(quad)
    along, down = flat[1] - flat[0], flat[3] - flat[0]
    return np.asarray(
        flat
        + np.array(
            [
                -left * along - top * down,
                right * along - top * down,
                right * along + bottom * down,
                -left * along + bottom * down,
            ]
        ),
        np.float32,
    )


def _doubled_area(quad: Quad) -> float:
    """Twice the area; above 0 if the points run clockwise (y points down)."""
    after = np.roll(quad, -1, axis=0)
    return float((quad[:, 0] * after[:, 1] - after[:, 0] * quad[:, 1]).sum())


def _finer(ratio: float) -> int:
    """How many samples to take along one axis for a pixel that covers ``ratio`` pixels of the frame."""
    return min(max(1, round(ratio)), 4)


def _whole_pixels(quad: Quad, hw: tuple[int, ...], block: int) -> tuple[tuple[int, int], tuple[int, int]]:
    """The whole blocks of the frame around a quad, with two more pixels on each side: top left, bottom right."""
    # Python's numbers take half the time of numpy's for so few
    x, y = quad.T.tolist()
    (x0, x1), (y0, y1) = _whole_blocks(x, hw[1], block), _whole_blocks(y, hw[0], block)
    return (x0, y0), (x1, y1)


def _whole_blocks(values: Sequence[float], limit: int, block: int) -> tuple[int, int]:
    """The coordinates of a quad along an axis of the frame, and the frame's size -> where its blocks start and end."""
    low, high = (max(-_FAR, min(_FAR, end)) for end in (min(values), max(values)))
    start, end = max(0, math.floor(low) - 2), math.ceil(high) + 2
    return start, start + min(-(-(end - start) // block), (limit - start) // block) * block
