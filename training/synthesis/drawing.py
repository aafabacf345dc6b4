"""Puts flat pictures into a scene: a pinhole camera, and textures pasted onto four corners."""

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from plate_nets.recognition.quads import Quad
from plate_nets.types import Frame

Mask = NDArray[np.uint8]
"""Coverage (H, W), 0..255."""
Space = tuple[float, float, float]
"""A point in front of the camera, m: x to the right, y up from the ground, z away from the camera."""


@dataclass(frozen=True)
class Pinhole:
    """A level camera: focal length and image centre in px, its height above the ground in m."""

    focal: float
    centre_x: float
    horizon: float
    height: float

    def project(self, *points: Space) -> NDArray[np.float32]:
        """Points in space -> (N, 2) px."""
        p = np.array(points, np.float64)
        z = np.maximum(p[:, 2], 0.05)
        projected = np.stack(
            [self.centre_x + self.focal * p[:, 0] / z, self.horizon + self.focal * (self.height - p[:, 1]) / z], axis=1
        )
        return np.asarray(projected, np.float32)

    def upright(self, left: float, right: float, top: float, bottom: float, z: float) -> Quad:
        """A rectangle that faces the camera -> its corners (4, 2) px."""
        return self.project((left, top, z), (right, top, z), (right, bottom, z), (left, bottom, z))

    def level(self, left: float, right: float, y: float, far: float, near: float) -> Quad:
        """A level rectangle -> its corners (4, 2) px."""
        return self.project((left, y, far), (right, y, far), (right, y, near), (left, y, near))


def fill(frame: Frame, points: NDArray[np.float32], colour: NDArray[np.float64] | tuple[float, ...]) -> None:
    """Fill a polygon (N, 2) with one colour, edges smoothed, in place."""
    shade = tuple(float(v) for v in np.clip(np.array(colour, np.float64), 0, 255))
    limited = np.clip(points, -8000, 8000)
    cv2.fillPoly(frame, [np.round(limited * 16).astype(np.int32)], shade, cv2.LINE_AA, 4)


def blend(
    frame: Frame, points: NDArray[np.float32], colour: tuple[float, ...], opacity: float, soft: float = 0
) -> None:
    """Lay a polygon of one colour over the frame, ``opacity`` 0..1, its edge blurred by ``soft`` px, in place."""
    pad = int(3 * soft) + 2
    area, offset = _window(frame, points, pad)
    if area.size == 0:
        return
    mask = np.zeros(area.shape[:2], np.uint8)
    cv2.fillPoly(mask, [np.round((points - offset) * 16).astype(np.int32)], (255,), cv2.LINE_AA, 4)
    if soft > 0.3:
        mask = np.asarray(cv2.GaussianBlur(mask, (0, 0), soft), np.uint8)
    cover = mask[:, :, None].astype(np.float32) * np.float32(opacity / 255)
    area[:] = (area * (1 - cover) + np.array(colour, np.float32) * cover).astype(np.uint8)


def paste(frame: Frame, texture: Frame, quad: Quad, mask: Mask | None = None) -> None:
    """Draw a flat texture so that its corners fall on ``quad``, in place; ``mask`` hides parts of it."""
    area, offset = _window(frame, quad, 1)
    if area.size == 0:
        return
    edges = np.linalg.norm(quad - np.roll(quad, -1, axis=0), axis=1)  # top, right, bottom, left
    wide, high = float(max(edges[0], edges[2], 1.0)), float(max(edges[1], edges[3], 1.0))
    shrink = (min(1.0, 1.25 * wide / texture.shape[1]), min(1.0, 1.25 * high / texture.shape[0]))
    size = (max(2, round(texture.shape[1] * shrink[0])), max(2, round(texture.shape[0] * shrink[1])))
    cover = np.full(texture.shape[:2], 255, np.uint8) if mask is None else mask
    layers = cv2.resize(np.dstack([texture, cover]), size, interpolation=cv2.INTER_AREA)
    corners = np.array([[0, 0], [size[0], 0], [size[0], size[1]], [0, size[1]]], np.float32) - 0.5
    matrix = cv2.getPerspectiveTransform(corners, (quad - offset - 0.5).astype(np.float32))
    shape = (area.shape[1], area.shape[0])
    colour = cv2.warpPerspective(layers[:, :, :3], matrix, shape, borderMode=cv2.BORDER_REPLICATE)
    alpha = cv2.warpPerspective(layers[:, :, 3], matrix, shape).astype(np.float32)[:, :, None] / 255
    area[:] = (area * (1 - alpha) + colour * alpha + 0.5).astype(np.uint8)


def _window(frame: Frame, points: NDArray[np.float32], pad: int) -> tuple[Frame, NDArray[np.float32]]:
    """The part of the frame that holds the points, and its top left corner."""
    height, width = frame.shape[:2]
    low = np.floor(points.min(axis=0)).astype(int) - pad
    high = np.ceil(points.max(axis=0)).astype(int) + pad + 1
    x0, y0 = (int(v) for v in np.clip(low, 0, (width, height)))
    x1, y1 = (int(v) for v in np.clip(high, 0, (width, height)))
    return frame[y0:y1, x0:x1], np.array([x0, y0], np.float32)


def rounded(height: int, width: int, radius: int) -> Mask:
    """A mask (H, W) of a rectangle with round corners."""
    mask = np.zeros((height, width), np.uint8)
    radius = min(radius, height // 2 - 1, width // 2 - 1)
    cv2.rectangle(mask, (radius, 0), (width - 1 - radius, height - 1), (255,), -1)
    cv2.rectangle(mask, (0, radius), (width - 1, height - 1 - radius), (255,), -1)
    for x in (radius, width - 1 - radius):
        for y in (radius, height - 1 - radius):
            cv2.circle(mask, (x, y), radius, (255,), -1, cv2.LINE_AA)
    return mask
