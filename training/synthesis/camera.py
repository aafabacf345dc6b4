"""Spoils pictures: every fault of the street and of a camera, for all networks.

The order follows nature: dirt and snow on the plate, the light, the lens, the sensor, the coding. Resolution, focus and
motion share one budget of blur, so that a person can still read nearly every plate. A cheap camera adds a soft lens and
a low bit rate, and smears what moves: a plate of height h in pixels, on a car that comes towards a camera above the
road or leaves it, moves in the picture by a multiple of h squared, because twice as near is four times as fast.
"""

import cv2
import numpy as np
from numpy.typing import NDArray

from plate_nets.evaluation.coding import code_jpeg, reduced
from plate_nets.recognition.quads import Quad
from plate_nets.types import Frame
from training.synthesis.coding import code_h264, moved

Light = NDArray[np.float32]
"""A picture in progress: (H, W, 3), BGR, 0..255 and beyond."""

_BLUR_BUDGET = 0.058
"""Maximum standard deviation of the total blur, in plate heights: half a stroke of the region code."""
_LEAST_DEVIATION = 11.0
"""Minimum standard deviation of the symbols' brightness, 0..255, at full severity."""

_SMEAR = (0.003, 0.018)
"""Range of the smear's length over the plate's height squared, 1/px: 20 to 60 km/h for 10 to 15 ms, in
`training.synthesis.drive_by`."""
_ASIDE = 0.9
"""Largest angle of the movement from the vertical, radians: a camera between two lanes."""
_FRAME_TIME = (2.5, 4.0)
"""Range of the time between two frames, in exposures."""
_FARTHEST = 64.0
"""Maximum distance in px from the plate's place in the first frame to that in the last: large pictures code slowly."""
_BLOCK = 16
"""Side of a macroblock of H.264, px."""

_GRAIN = np.random.default_rng(0).standard_normal((384, 768, 3), dtype=np.float32)
"""Noise to cut windows from: drawing it anew for each photo took a tenth of the time."""


def edge_height(corners: Quad) -> float:
    """Mean length of the left and the right edge, px."""
    return float(np.hypot(*(corners[3] - corners[0])) + np.hypot(*(corners[2] - corners[1]))) / 2


def centred(corners: Quad, height: float) -> Quad:
    """Corners (4, 2) around (0, 0), at the scale at which the plate is ``height`` px high."""
    scale = np.float32(height / max(edge_height(corners), 1e-3))
    return np.asarray((corners - corners.mean(axis=0)) * scale, np.float32)


def turned(corners: Quad, angle: float) -> Quad:
    """Corners (4, 2) turned about (0, 0) by an angle, radians, clockwise."""
    turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]], np.float32)
    return np.asarray(corners @ turn, np.float32)


def take_photo(
    picture: Frame,
    corners: Quad,
    target: Quad,
    size: tuple[int, int],
    rng: np.random.Generator,
    severity: float = 1.0,
    lines: int = 1,
) -> Frame:
    """A picture -> a photo of it, BGR, ``size`` (w, h) px, in which the plate's corners lie at ``target`` (4, 2).

    ``lines``: of the plate; with two, the characters are smaller and tolerate less blur and dirt.
    """
    return spoil(_project(picture, corners, target, size), target, rng, severity, lines)


def spoil(picture: Frame, target: Quad, rng: np.random.Generator, severity: float = 1.0, lines: int = 1) -> Frame:
    """A picture in which the corners of the plate to be recognised lie at ``target`` -> as a camera shows it."""
    height, light = edge_height(target) / lines, picture.astype(np.float32)
    least = min(_contrast(light, target), _LEAST_DEVIATION * (2.2 - 1.2 * min(severity, 1.0)))
    strength = severity * float(rng.beta(1.1, 1.9))
    if rng.random() < 0.22 * severity:
        _soil(light, height, strength, rng)
    light = _light(light, strength, severity, rng)
    light = _blur(light, height, strength, severity, rng)
    light = _with_contrast(light, target, least)
    light = _sensor(light, strength, severity, rng)
    photo = np.clip(light, 0, 255).astype(np.uint8)
    if rng.random() < 0.5 * severity:
        photo = code_jpeg(photo, int(95 - 70 * strength**0.7 * rng.random() ** 0.7))
    return photo


def _project(picture: Frame, corners: Quad, target: Quad, size: tuple[int, int]) -> Frame:
    """The picture seen so that ``corners`` fall on ``target``; first reduced if it is much finer."""
    ratio = edge_height(corners) / edge_height(target)
    if ratio > 1.6:
        small = reduced(picture, 1.2 / ratio)
        corners = corners * (np.array(small.shape[1::-1], np.float32) / picture.shape[1::-1])
        picture = small
    matrix = cv2.getPerspectiveTransform(np.asarray(corners - 0.5, np.float32), np.asarray(target - 0.5, np.float32))
    return np.asarray(cv2.warpPerspective(picture, matrix, size, borderMode=cv2.BORDER_REPLICATE), np.uint8)


def _soil(light: Light, height: float, strength: float, rng: np.random.Generator) -> None:
    """Dirt or snow: soft patches and splashes over the plate, never so thick that the symbols vanish."""
    rows, columns = light.shape[:2]
    snow = rng.random() < 0.35
    colour = np.array((235, 232, 230) if snow else (70, 85, 100), np.float32) * np.float32(rng.uniform(0.7, 1.05))
    cells = (int(rng.integers(2, 5)), int(rng.integers(4, 14)))
    patches = cv2.resize(rng.random(cells, dtype=np.float32), (columns, rows), interpolation=cv2.INTER_CUBIC)
    cover = np.clip((patches - rng.uniform(0.3, 0.7)) * rng.uniform(1, 3), 0, 1) * (0.25 + 0.55 * strength)
    if rng.random() < 0.4:  # thicker towards the lower edge
        cover *= np.linspace(0, 1.2, rows, dtype=np.float32)[:, None]
    for _ in range(int(rng.integers(0, 8)) if rng.random() < 0.5 else 0):
        centre = (int(rng.integers(columns)), int(rng.integers(rows)))
        cv2.circle(cover, centre, max(1, round(height * rng.uniform(0.01, 0.05))), (float(rng.uniform(0.3, 0.9)),), -1)
    cover = np.clip(cover, 0, 0.85)[:, :, None]
    light *= 1 - cover
    light += cover * colour


def _light(light: Light, strength: float, severity: float, rng: np.random.Generator) -> Light:
    """Shadow edges, uneven light, glare, then exposure, gamma, haze and the colour of the light."""
    rows, columns = light.shape[:2]
    mild = min(severity, 1.0)
    if rng.random() < 0.25 * mild:
        _shadow(light, rng, strength)
    if rng.random() < 0.4 * mild:
        across = np.linspace(-1, 1, columns, dtype=np.float32) * np.float32(rng.normal(0, 0.25) * (0.3 + strength))
        down = np.linspace(-1, 1, rows, dtype=np.float32) * np.float32(rng.normal(0, 0.25) * (0.3 + strength))
        light *= np.clip(1 + across[None] + down[:, None], 0.3, 1.8)[:, :, None]
    scene = rng.random()
    if scene < 0.22 * mild:  # night or deep shade
        gain = np.exp(-rng.uniform(0.3, 0.6 + 1.5 * strength))
    elif scene < 0.32 * mild:  # over-exposed
        gain = np.exp(rng.uniform(0, 0.15 + 0.55 * strength))
    else:
        gain = np.exp(rng.normal(-0.2 * mild, 0.05 + 0.2 * mild))
    if rng.random() < 0.4 * mild:
        gamma = np.float32(np.exp(rng.normal(0, 0.3)))
        light = np.asarray(255 * (np.clip(light, 0, 255) / 255) ** gamma, np.float32)
    if rng.random() < 0.6 * mild:  # haze, dusty lens, dim contrast
        veil = np.float32(rng.uniform(0, 0.3 + 0.4 * strength))
        light = light * (1 - veil) + veil * np.float32(rng.uniform(60, 210))
    cast = rng.normal(0, 0.03, 3) * mild
    if rng.random() < 0.15 * mild:  # sodium lamps, blue dusk, wrong white balance: mostly along blue to red
        cast += np.array((1.0, 0.25, -1.0)) * rng.normal(0, 0.18) + rng.normal(0, 0.05, 3)
    light = light * (gain * np.exp(cast)).astype(np.float32)
    if rng.random() < 0.06 * mild:
        _glare(light, rng, strength)
    return np.asarray(light, np.float32)


def _with_contrast(light: Light, target: Quad, least_contrast: float) -> Light:
    """Brighten the light if the plate would vanish in the dark: a camera exposes for what it looks at."""
    deviation = _contrast(light, target)
    if deviation >= least_contrast:
        return light
    gain = min(least_contrast / max(deviation, 1e-3), 8.0)
    mean = float(light.mean())
    return np.asarray((light - mean) * np.float32(gain) + np.float32(min(max(mean, 25.0), 200.0)), np.float32)


def _contrast(light: Light, target: Quad) -> float:
    """Standard deviation of the green channel across a plate's middle, without slow changes."""
    x0, y0 = np.maximum(target.min(axis=0), 0).astype(int)
    x1, y1 = np.maximum(target.max(axis=0), 1).astype(int)
    inset_x, inset_y = (x1 - x0) // 10, (y1 - y0) // 4
    middle = light[y0 + inset_y : max(y1 - inset_y, y0 + 1), x0 + inset_x : max(x1 - inset_x, x0 + 1), 1]
    if not middle.size:
        return 0.0
    reach = 2 * int(edge_height(target) * 0.3) + 1  # wider than a symbol, so that uneven light does not count
    return float(cv2.meanStdDev(cv2.subtract(middle, cv2.blur(middle, (reach, reach))))[1][0, 0])


def _shadow(light: Light, rng: np.random.Generator, strength: float) -> None:
    """A straight soft-edged shadow."""
    depth, angle = np.float32(rng.uniform(0.2, 0.4 + 0.4 * strength)), rng.uniform(0, 2 * np.pi)
    x, y = _from_anywhere(light, rng)
    distance = x * np.float32(np.cos(angle)) + y * np.float32(np.sin(angle))
    light *= 1 - depth * np.clip(distance / np.float32(rng.uniform(1, 0.4 * len(light) + 1)) + 0.5, 0, 1)[:, :, None]


def _glare(light: Light, rng: np.random.Generator, strength: float) -> None:
    """A lamp or the sun mirrored in the plate: a soft bright spot."""
    x, y = _from_anywhere(light, rng)
    spot = np.exp(-(x * x + y * y) / np.float32(2 * (rng.uniform(0.1, 0.6) * len(light)) ** 2))
    light += spot[:, :, None] * np.float32(rng.uniform(30, 60 + 120 * strength))


def _from_anywhere(light: Light, rng: np.random.Generator) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """How far each column (1, W) and each row (H, 1) is from a random place, px."""
    rows, columns = light.shape[:2]
    x = np.arange(columns, dtype=np.float32)[None] - np.float32(rng.uniform(0, columns))
    return x, np.arange(rows, dtype=np.float32)[:, None] - np.float32(rng.uniform(0, rows))


def _blur(light: Light, height: float, strength: float, severity: float, rng: np.random.Generator) -> Light:
    """Focus and motion blur within the rest of the budget after resolution."""
    rest = _BLUR_BUDGET**2 - (0.33 / height) ** 2
    if rest <= 0:
        return light
    budget = np.sqrt(rest) * height * min(severity, 1.0)
    # No lens and no mosaic of colour filters is sharp to the pixel.
    sigma = float(min(rng.uniform(0.3, 0.7), budget))
    if rng.random() < 0.8:
        sigma = max(sigma, float(budget * (0.15 + 0.8 * strength) * rng.random() ** 0.6))
    if sigma > 0.25:
        light = np.asarray(cv2.GaussianBlur(light, (0, 0), sigma), np.float32)
    if rng.random() < 0.25:
        length = float(budget * 3.4 * (0.2 + 0.6 * strength) * rng.random())  # a box of length l has deviation l/3.46
        if length > 1:
            angle = rng.normal(0, 0.35) if rng.random() < 0.75 else rng.uniform(0, np.pi)
            kernel = streak(np.cos(angle) * length, np.sin(angle) * length)
            light = np.asarray(cv2.filter2D(light, -1, kernel, borderType=cv2.BORDER_REPLICATE))
    return light


def streak(right: float, down: float) -> NDArray[np.float32]:
    """The kernel of a straight movement by this many px."""
    half = int(np.ceil(np.hypot(right, down) / 2))
    kernel = np.zeros((2 * half + 1, 2 * half + 1), np.float32)
    ends = [(round((half + s * right / 2) * 16), round((half + s * down / 2) * 16)) for s in (-1, 1)]
    cv2.line(kernel, ends[0], ends[1], (1.0,), 1, cv2.LINE_8, 4)
    return kernel / np.float32(kernel.sum())


def _sensor(light: Light, strength: float, severity: float, rng: np.random.Generator) -> Light:
    """Noise, stronger in the dark, fine or in grains, grey or coloured; at times the camera's sharpening."""
    if rng.random() < 0.15 * severity:
        soft = cv2.GaussianBlur(light, (0, 0), 1.2)
        light = light + (light - soft) * np.float32(rng.uniform(0.3, 1.5))
    if rng.random() < 0.75 * severity:
        low, high = float(light.min()), float(light.max())
        deviation = np.float32(min(1.0 + (high - low) * 0.14 * strength * rng.random(), 26.0))
        rows, columns = light.shape[:2]
        channels = 3 if rng.random() < 0.5 else 1
        if rng.random() < 0.4:
            coarse = _grain(rows // 2 + 1, columns // 2 + 1, channels, rng)
            noise = cv2.resize(coarse, (columns, rows), interpolation=cv2.INTER_LINEAR).reshape(rows, columns, channels)
        else:
            noise = _grain(rows, columns, channels, rng)
        light = light + noise * deviation
    return np.asarray(light, np.float32)


def _grain(rows: int, columns: int, channels: int, rng: np.random.Generator) -> Light:
    """Normal noise (H, W, C): a window of a sheet drawn once, where it is large enough."""
    spare_y, spare_x = _GRAIN.shape[0] - rows, _GRAIN.shape[1] - columns
    if min(spare_y, spare_x) < 32:
        return rng.standard_normal((rows, columns, channels), dtype=np.float32)
    y, x = int(rng.integers(spare_y)), int(rng.integers(spare_x))
    return _GRAIN[y : y + rows, x : x + columns, :channels]


def smear(photo: Frame, height: float, rng: np.random.Generator) -> Frame:
    """Smear a photo by the movement of its plate, ``height`` px high per line, and film it at a low bit rate."""
    length = float(rng.uniform(*_SMEAR)) * height**2
    angle, sign = float(rng.uniform(-_ASIDE, _ASIDE)), float(rng.choice((-1.0, 1.0)))
    right, down = length * np.sin(angle), sign * length * np.cos(angle)
    if length > 0.7:
        smeared = cv2.filter2D(photo, -1, streak(right, down), borderType=cv2.BORDER_REPLICATE)
        photo = np.asarray(smeared, np.uint8)
    between = float(rng.uniform(*_FRAME_TIME))
    return _filmed(photo, rng, right * between, down * between)


def soften(photo: Frame, rng: np.random.Generator) -> Frame:
    """Add a soft lens and a low bit rate to a photo, as of a cheap camera."""
    if rng.random() < 0.5:
        photo = np.asarray(cv2.GaussianBlur(photo, (0, 0), float(rng.uniform(0.2, 0.8))), np.uint8)
    kind = rng.random()
    if kind < 0.45:
        return code_jpeg(photo, int(rng.integers(20, 96)))
    if kind < 0.9:
        right, down = rng.normal(0, 0.05, 2) * photo.shape[0]
        return _filmed(photo, rng, float(right), float(down))
    return photo


def _filmed(photo: Frame, rng: np.random.Generator, right: float, down: float) -> Frame:
    """A photo as the last of one to five frames of a video, in which it moves by this many px per frame."""
    height, width = photo.shape[:2]
    top, left = (int(rng.integers(_BLOCK)) for _ in range(2))  # block borders may fall anywhere on the plate
    earlier = min(int(rng.integers(5)), int(_FARTHEST / max(abs(right), abs(down), 1.0)))
    room_x, room_y = (_BLOCK * int(np.ceil(earlier * abs(step) / _BLOCK)) for step in (right, down))
    top, left = top + room_y, left + room_x
    sides = (top, 2 * room_y + _BLOCK - top, left, 2 * room_x + _BLOCK - left)
    wide = np.asarray(cv2.copyMakeBorder(photo, *sides, cv2.BORDER_REPLICATE), np.uint8)
    frames = [moved(wide, -right * back, -down * back) for back in range(earlier, -1, -1)]
    last = code_h264(frames, crf=int(rng.integers(22, 41)))[-1]
    return np.ascontiguousarray(last[top : top + height, left : left + width])


def without_colour(photo: Frame, rng: np.random.Generator, share: float) -> Frame:
    """A share of the photos in grey, as cameras take them by infrared light."""
    if rng.random() >= share:
        return photo
    return np.asarray(cv2.cvtColor(cv2.cvtColor(photo, cv2.COLOR_BGR2GRAY), cv2.COLOR_GRAY2BGR), np.uint8)
