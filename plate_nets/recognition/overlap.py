"""Overlaps of boxes. Clients import this, so it needs only numpy."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plate_nets.types import Box


def stacked(boxes: Iterable[Box]) -> NDArray[np.float64]:
    """N boxes -> (N, 4) xyxy."""
    return np.array([box.sides for box in boxes], np.float64).reshape(-1, 4)


def iou(boxes: NDArray[np.floating[Any]], others: NDArray[np.floating[Any]]) -> NDArray[np.float64]:
    """Boxes (N, 4) and (M, 4) xyxy -> intersection over union of each pair, (N, M), 0..1."""
    common = _common(boxes, others)
    return _share(common, _areas(boxes)[:, None] + _areas(others) - common)


def inside(boxes: NDArray[np.floating[Any]], others: NDArray[np.floating[Any]]) -> NDArray[np.float64]:
    """Boxes (N, 4) and (M, 4) xyxy -> the share of the first box's area that lies in the second, (N, M), 0..1."""
    return _share(_common(boxes, others), _areas(boxes)[:, None])


def _common(boxes: NDArray[np.floating[Any]], others: NDArray[np.floating[Any]]) -> NDArray[np.float64]:
    first, second = boxes[:, None].astype(np.float64), others[None].astype(np.float64)
    sides = np.minimum(first[..., 2:], second[..., 2:]) - np.maximum(first[..., :2], second[..., :2])
    areas: NDArray[np.float64] = np.clip(sides, 0, None).prod(axis=-1)
    return areas


def _areas(boxes: NDArray[np.floating[Any]]) -> NDArray[np.float64]:
    wide = boxes.astype(np.float64)
    areas: NDArray[np.float64] = (wide[:, 2:] - wide[:, :2]).prod(axis=-1)
    return areas


def _share(part: NDArray[np.float64], whole: NDArray[np.float64]) -> NDArray[np.float64]:
    result: NDArray[np.float64] = np.divide(part, whole, out=np.zeros_like(part), where=whole > 0)
    return result
