"""An empty street: sky, houses with windows and shop signs, pavements, road with markings, trees and road signs."""

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from plate_nets.types import Frame
from training.synthesis.drawing import Pinhole, Space, blend, fill, paste, rounded

ROAD = 6.0
"""Half of the road's width, m."""
PAVEMENT = 9.5
"""Distance of the houses from the road's middle, m."""

_WORDS = (
    "PRODUKTY", "CAFE", "APTEKA", "OPEN 24", "HOTEL", "BANK", "PIZZA", "CTO 555", "SALON", "TAXI 777 000", "BAR",
    "MARKET", "KOFE", "ATAKA 24", "TELE 88", "CENTER", "OPTIKA", "PARK 120", "MEXA", "SUSHI", "TEATP", "A4 KOPY",
    "REMONT",
)  # fmt: skip
_WALLS = (
    (120, 160, 192), (156, 170, 178), (112, 132, 164), (168, 186, 198), (98, 118, 158), (150, 152, 154), (158, 176, 150)
)  # fmt: skip
_CLEAR = ((214, 160, 104), (236, 214, 190))
_DULL = ((190, 186, 182), (222, 220, 216))
_DUSK = ((120, 78, 52), (110, 150, 214))


@dataclass(frozen=True)
class Weather:
    """The light: colours of the sky at its top and at the horizon (BGR), sun 0..1, and how dark everything is."""

    top: tuple[int, int, int]
    bottom: tuple[int, int, int]
    sun: float
    dim: float


def sample_weather(rng: np.random.Generator) -> Weather:
    """Clear, dull or dusk."""
    draw = rng.random()
    if draw < 0.5:
        return Weather(*_CLEAR, sun=float(rng.uniform(0.5, 1.0)), dim=1.0)
    if draw < 0.82:
        return Weather(*_DULL, sun=float(rng.uniform(0.0, 0.3)), dim=float(rng.uniform(0.88, 1.0)))
    return Weather(*_DUSK, sun=0.0, dim=float(rng.uniform(0.4, 0.7)))


def draw_street(frame: Frame, camera: Pinhole, weather: Weather, rng: np.random.Generator) -> None:
    """Draw a street without cars over the whole frame, in place."""
    _sky(frame, camera, weather, rng)
    _skyline(frame, camera, weather, rng)
    _ground(frame, camera, rng)
    for side in (-1, 1):
        _houses(frame, camera, weather, side, rng)
    _kerbs(frame, camera)
    things = [
        (float(rng.uniform(8, 60)), int(rng.choice((-1, 1))), rng.random()) for _ in range(int(rng.integers(5, 12)))
    ]
    for z, side, what in sorted(things, reverse=True):
        x = side * float(rng.uniform(ROAD + 0.8, ROAD + 1.6))
        if what < 0.5:
            _tree(frame, camera, x, z, rng)
        elif what < 0.75:
            _lamp_post(frame, camera, x, z)
        else:
            _road_sign(frame, camera, x, z, rng)


def word(rng: np.random.Generator) -> str:
    """A word for a sign, sometimes followed by a number."""
    text = _WORDS[int(rng.integers(len(_WORDS)))]
    return f"{text} {rng.integers(10, 1000)}" if rng.random() < 0.15 else text


def write(picture: Frame, text: str, colour: tuple[float, ...]) -> None:
    """Write a text across the middle of a flat picture, as large as fits, in place."""
    height, width = picture.shape[:2]
    font, thick = cv2.FONT_HERSHEY_DUPLEX, max(1, height // 22)
    (w, h), _ = cv2.getTextSize(text, font, 1.0, thick)
    scale = min(0.85 * width / max(w, 1), 0.6 * height / max(h, 1))
    origin = (round((width - w * scale) / 2), round((height + h * scale) / 2))
    flat = np.ascontiguousarray(picture)
    picture[:] = cv2.putText(flat, text, origin, font, scale, colour, thick, cv2.LINE_AA)


def _sky(frame: Frame, camera: Pinhole, weather: Weather, rng: np.random.Generator) -> None:
    height, width = frame.shape[:2]
    rows = min(max(int(camera.horizon) + 2, 2), height)
    blend_down = np.linspace(0, 1, rows, dtype=np.float32)[:, None, None]
    top, bottom = np.array(weather.top, np.float32), np.array(weather.bottom, np.float32)
    sky = np.broadcast_to(top * (1 - blend_down) + bottom * blend_down, (rows, width, 3))
    clouds = np.zeros((rows, width), np.float32)
    for k in range(2, 6):
        octave = rng.random((2**k + 1, 2 ** (k + 1) + 1), dtype=np.float32)
        clouds += cv2.resize(octave, (width, rows), interpolation=cv2.INTER_CUBIC) / 2 ** (k - 1)
    cover = np.clip((clouds / 0.94 - rng.uniform(0.45, 0.65)) * 2.5, 0, 0.8)[:, :, None] * (1 - 0.4 * blend_down)
    white = np.minimum(bottom * 1.12, 250)
    frame[:rows] = np.clip(sky * (1 - cover) + white * cover, 0, 255).astype(np.uint8)


def _skyline(frame: Frame, camera: Pinhole, weather: Weather, rng: np.random.Generator) -> None:
    """Draw distant houses and trees where the street ends, pale with distance."""
    haze = np.array(weather.bottom, np.float64)
    for z, mix in ((160.0, 0.75), (110.0, 0.6)):
        x = -45.0
        while x < 45:
            w, h = float(rng.uniform(6, 16)), float(rng.uniform(6, 26))
            wall = np.array(_WALLS[int(rng.integers(len(_WALLS)))], np.float64) * 0.8
            texture = _facade(
                max(3, round(w / 3)), max(2, round(h / 3)), wall * (1 - mix) + haze * mix, rng, glass=0.85
            )
            paste(frame, texture, camera.upright(x, x + w, h, 0, z))
            x += w * float(rng.uniform(0.8, 1.3))
    for _ in range(40):
        x, z, r = float(rng.uniform(-40, 40)), float(rng.uniform(80, 105)), float(rng.uniform(1.5, 3.5))
        if abs(x) > 5:
            green = np.array((62, 96, 72)) * rng.uniform(0.7, 1.1) * 0.55 + haze * 0.45
            _blob(frame, camera, (x, float(rng.uniform(1, 3)), z), r, green)


def _ground(frame: Frame, camera: Pinhole, rng: np.random.Generator) -> None:
    """Pavements and the road: asphalt with patches, worn tracks and white lines."""
    height, width = frame.shape[:2]
    first = min(max(int(camera.horizon), 0), height - 1)
    rows = height - first
    frame[first:] = np.array((142, 146, 148), np.uint8)
    asphalt = np.array((92, 90, 90), np.float64) * rng.uniform(0.75, 1.2)
    far, near = 250.0, 1.0
    fill(frame, camera.level(-ROAD, ROAD, 0, far, near), asphalt)
    for _ in range(25):
        x, z = float(rng.uniform(-ROAD, ROAD - 1)), float(rng.uniform(3, 60))
        w, d = float(rng.uniform(0.3, 3)), float(rng.uniform(0.5, 8))
        patch = camera.level(x, min(x + w, ROAD), 0, z + d, z)
        blend(frame, patch, tuple(asphalt * rng.uniform(0.75, 1.25)), float(rng.uniform(0.1, 0.4)), 1.5)
    for lane in (-4.0, 0.0, 4.0):
        for offset in (-0.8, 0.8):
            track = camera.level(lane + offset - 0.25, lane + offset + 0.25, 0, far, near)
            blend(frame, track, tuple(asphalt * 0.85), 0.35, 3)
    white = (214.0, 218.0, 220.0)
    dash, gap = 3.0, float(rng.uniform(2, 6))
    for x in (-2.0, 2.0):
        z = float(rng.uniform(1, 4))
        while z < 120:
            blend(frame, camera.level(x - 0.07, x + 0.07, 0, z + dash, z), white, 0.85, 0.4)
            z += dash + gap
    for x in (-ROAD + 0.25, ROAD - 0.25):
        blend(frame, camera.level(x - 0.07, x + 0.07, 0, far, near), white, 0.7, 0.4)
    if rng.random() < 0.4:
        z = float(rng.uniform(12, 30))
        for x in np.arange(-ROAD + 0.6, ROAD - 0.6, 1.0):
            blend(frame, camera.level(x, x + 0.5, 0, z + 3.5, z), white, 0.8, 0.5)
    grain = rng.standard_normal((rows, width), dtype=np.float32)
    grain = cv2.GaussianBlur(grain, (0, 0), 1.0) * np.linspace(2, 14, rows, dtype=np.float32)[:, None]
    frame[first:] = np.clip(frame[first:] + grain[:, :, None], 0, 255).astype(np.uint8)


def _kerbs(frame: Frame, camera: Pinhole) -> None:
    for side in (-1, 1):
        x = side * ROAD
        fill(frame, camera.level(x, x + side * 0.2, 0.14, 200, 1), (172, 174, 174))
        fill(frame, camera.project((x, 0.14, 200), (x, 0.0, 200), (x, 0.0, 1), (x, 0.14, 1)), (112, 114, 116))


def _houses(frame: Frame, camera: Pinhole, weather: Weather, side: int, rng: np.random.Generator) -> None:
    """A row of house fronts along the street, far ones first."""
    haze = np.array(weather.bottom, np.float64)
    lit = 1.0 if (side < 0) == (weather.sun > 0.75) else 0.82
    z, houses = float(rng.uniform(-2, 3)), []
    while z < 95:
        depth = float(rng.uniform(9, 20))
        houses.append((z, depth, int(rng.integers(2, 7)), rng.random() < 0.12))
        z += depth
    x = side * PAVEMENT
    for z, depth, storeys, gap in reversed(houses):
        if gap:
            for _ in range(14):
                at = (x + side * float(rng.uniform(0.5, 4)), float(rng.uniform(1, 5)), z + float(rng.uniform(0, depth)))
                if at[2] > 6:
                    _blob(
                        frame, camera, at, float(rng.uniform(0.8, 1.8)), np.array((48, 92, 66)) * rng.uniform(0.6, 1.2)
                    )
            continue
        near, far = max(z, 0.8), z + depth - 0.3
        if far <= near:
            continue
        high = 1.2 + 3.1 * storeys
        mix = float(np.clip((z - 15) / 130, 0, 0.5))
        wall = np.array(_WALLS[int(rng.integers(len(_WALLS)))], np.float64) * rng.uniform(0.8, 1.15) * lit
        wall = wall * (1 - mix) + haze * mix
        if weather.sun > 0.3 and side > 0:
            wall = wall * 0.9
        columns = max(2, round(depth / 2.6))
        texture = _facade(columns, storeys, wall, rng, shop=True)
        keep = (far - near) / (depth - 0.3)
        texture = texture[:, : max(2, round(texture.shape[1] * keep))]  # the part in front of the camera
        left, right = (far, near) if side > 0 else (near, far)
        quad = camera.project((x, high, left), (x, high, right), (x, 0, right), (x, 0, left))
        if near > 1:
            fill(frame, camera.upright(x, x + side * 12, high, 0, near), wall * 0.72)
        paste(frame, texture, quad)


def _facade(
    columns: int,
    storeys: int,
    wall: NDArray[np.float64],
    rng: np.random.Generator,
    glass: float = 0.45,
    shop: bool = False,
) -> Frame:
    """A flat house front: rows of windows, and shops with signs below."""
    cell, rise = 56, 66
    ground = round(rise * 1.35)
    height, width = storeys * rise + ground, columns * cell
    noise = rng.normal(0, 3, (height // 4 + 1, width // 4 + 1, 1)).astype(np.float32)
    shades = wall + cv2.resize(noise, (width, height))[:, :, None]
    texture: Frame = np.clip(shades, 0, 255).astype(np.uint8)
    trim = tuple(float(v) for v in np.clip(wall * 1.15 + 8, 0, 255))
    w, h = int(cell * rng.uniform(0.42, 0.66)), int(rise * rng.uniform(0.5, 0.66))
    for row in range(storeys - 1 if shop else storeys):
        for column in range(columns):
            x, y = column * cell + (cell - w) // 2, 14 + row * rise + (rise - h) // 2
            shade = wall * glass * rng.uniform(0.6, 1.1) + rng.uniform(0, 14, 3)
            for left, below, colour in ((-3, h + 4, trim), (0, h, shade), (0, h // 3, shade * 1.35)):
                cv2.rectangle(texture, (x + left, y + left), (x + w - left, y + below), tuple(map(float, colour)), -1)
            cv2.line(texture, (x + w // 2, y), (x + w // 2, y + h), trim, 2)
        cv2.line(texture, (0, 12 + (row + 1) * rise), (width, 12 + (row + 1) * rise), trim, 2)
    cv2.rectangle(texture, (0, 0), (width, 9), tuple(float(v) for v in wall * 0.75), -1)
    if shop:
        _shops(texture, height - ground, cell, wall, rng)
    return texture


def _shops(texture: Frame, top: int, cell: int, wall: NDArray[np.float64], rng: np.random.Generator) -> None:
    height, width = texture.shape[:2]
    cv2.rectangle(texture, (0, top), (width, height), tuple(float(v) for v in wall * 0.82), -1)
    x = 6
    while x < width - 2 * cell:
        w = int(cell * rng.uniform(1.4, 2.6))
        glass = np.array((70, 66, 60)) * rng.uniform(0.6, 1.6)
        cv2.rectangle(texture, (x, top + 34), (min(x + w, width - 4), height - 10), tuple(float(v) for v in glass), -1)
        cv2.line(texture, (x + w // 2, top + 34), (x + w // 2, height - 10), (150, 150, 150), 2)
        if rng.random() < 0.75:
            board = texture[top + 6 : top + 30, x : min(x + w, width - 4)]
            dark = rng.random() < 0.6
            ground = rng.uniform(20, 140, 3) if dark else rng.uniform(170, 245, 3)
            board[:] = ground.astype(np.uint8)
            write(board, word(rng), (240, 240, 240) if dark else (40, 30, 120))
        x += w + int(rng.uniform(8, 30))


def _blob(frame: Frame, camera: Pinhole, at: Space, radius: float, colour: NDArray[np.float64]) -> None:
    """A round bush or tuft of leaves, lighter above."""
    px = camera.focal * radius / at[2]
    centre = camera.project(at)[0]
    angles = np.linspace(0, 2 * np.pi, 60, endpoint=False)
    wobble = 1 + 0.08 * np.sin(angles * 7 + at[0] * 7) + 0.05 * np.sin(angles * 13 + at[1] * 9)
    shape = np.stack([np.cos(angles), np.sin(angles)], 1) * wobble[:, None] * px
    fill(frame, (centre + shape).astype(np.float32), colour)
    fill(frame, (centre + shape * 0.7 - [px * 0.12, px * 0.2]).astype(np.float32), colour * 1.14)


def _tree(frame: Frame, camera: Pinhole, x: float, z: float, rng: np.random.Generator) -> None:
    high = float(rng.uniform(4, 7))
    blend(frame, camera.level(x - 1.5, x + 1.5, 0, z + 1, z - 0.7), (40, 40, 40), 0.3, 3)
    fill(frame, camera.upright(x - 0.13, x + 0.13, high * 0.7, 0, z), (52, 66, 84))
    green = np.array((46, 98, 70)) * rng.uniform(0.7, 1.2)
    for layer in range(60):
        dx, dy = rng.normal(0, 0.75, 2)
        at = (x + float(dx), high * 0.8 + float(dy) * 0.9, z)
        shade = (0.62 + 0.5 * layer / 60 + 0.12 * dy) * rng.uniform(0.92, 1.08)
        _blob(frame, camera, at, float(rng.uniform(0.55, 0.75) * (1 - 0.65 * layer / 60)), green * shade)


def _lamp_post(frame: Frame, camera: Pinhole, x: float, z: float) -> None:
    end = x - 1.4 * np.sign(x)
    arm = camera.project((x, 7.0, z), (end, 7.4, z), (end, 7.28, z), (x, 6.88, z))
    for part in (camera.upright(x - 0.08, x + 0.08, 7, 0, z), arm, camera.upright(end - 0.35, end + 0.35, 7.5, 7.3, z)):
        fill(frame, part, (98, 98, 96))


def _road_sign(frame: Frame, camera: Pinhole, x: float, z: float, rng: np.random.Generator) -> None:
    """A speed limit, a blue board, or a yellow advertising board, on a pole."""
    fill(frame, camera.upright(x - 0.04, x + 0.04, 2.3, 0, z), (120, 120, 120))
    draw = rng.random()
    if draw < 0.45:
        face = np.full((160, 160, 3), 240, np.uint8)
        cv2.circle(face, (80, 80), 70, (30, 30, 200), 20, cv2.LINE_AA)
        write(face[40:120, 30:130], str(10 * int(rng.integers(2, 9))), (20, 20, 20))
        paste(frame, face, camera.upright(x - 0.35, x + 0.35, 2.9, 2.2, z), rounded(160, 160, 80))
        return
    wide, high = float(rng.uniform(0.5, 1.1)), float(rng.uniform(0.25, 0.6))
    ground, ink = ((160, 80, 20), (240, 240, 240)) if draw < 0.75 else ((40, 190, 235), (20, 20, 20))
    face = np.full((round(240 * high), round(240 * wide), 3), ground, np.uint8)
    cv2.rectangle(face, (3, 3), (face.shape[1] - 4, face.shape[0] - 4), (235, 235, 235), 3)
    write(face, word(rng), ink)
    quad = camera.upright(x - wide, x + wide, 2.2 + 2 * high, 2.2, z)
    paste(frame, face, quad, rounded(face.shape[0], face.shape[1], 10))
