"""Draws signs that are not plates into training pictures: shop signs, road signs, stickers, dates, web addresses."""

from functools import cache
from pathlib import Path

import cv2
import matplotlib
import numpy as np
from PIL import Image, ImageDraw, ImageFont

from plate_nets.recognition.geometry import expand
from plate_nets.recognition.overlap import iou
from plate_nets.recognition.rectification import box_quads, quad_boxes
from plate_nets.types import Boxes, Frame
from training.synthesis.drawing import paste

FONTS = (
    "DejaVuSans.ttf",
    "DejaVuSans-Bold.ttf",
    "DejaVuSans-Oblique.ttf",
    "DejaVuSansMono-Bold.ttf",
    "DejaVuSerif.ttf",
    "DejaVuSerif-Bold.ttf",
)
"""Fonts in matplotlib that have Latin and Cyrillic letters."""

WORDS = (
    "АПТЕКА ПРОДУКТЫ АРЕНДА ШИНЫ МЕБЕЛЬ БАНК КАФЕ ЦВЕТЫ РЕМОНТ АВТО МОЙКА ТАКСИ СТОП КАССА ВХОД ОКНА ДВЕРИ МОСКВА "
    "ВОЛГА ТУЛА ОМСК ПОЛИЦИЯ СКОРАЯ ДПС СКИДКИ ОБМЕН ПИВО ХЛЕБ СУПЕР CLUB MARKET SALE TAXI STOP BANK CAFE OPEN POLICE "
    "HOTEL SPORT TURBO RACING DRIVE MOTORS GARAGE EXIT PARKING SERVICE DIESEL LIMITED EDITION OIL MUSIC CITY ONE WAY "
    "BABY ON BOARD XXL GT RS TDI 4x4 V8 4WD QUATTRO"
)

COLOURS = ((255, 255, 255), (230, 230, 60), (200, 30, 30), (20, 60, 160), (20, 110, 50), (20, 20, 20), (240, 130, 20))


def with_signs(rng: np.random.Generator, frame: Frame, boxes: Boxes, max_signs: int = 3) -> Frame:
    """Draw 1 to ``max_signs`` signs into a frame with plates (N, 4) xyxy, never over them."""
    frame = frame.copy()
    for _ in range(int(rng.integers(1, max_signs + 1))):
        put_sign(rng, frame, boxes, draw_sign(rng), int(frame.shape[1] * rng.uniform(0.05, 0.35)))
    return frame


def put_sign(rng: np.random.Generator, frame: Frame, boxes: Boxes, sign: Frame, width: int) -> None:
    """Draw a sign about ``width`` px wide at a random place, slightly tilted, in place, unless it touches a plate
    (N, 4)."""
    height = sign.shape[0] * width / sign.shape[1]
    corners = box_quads(np.array([[0, 0, width, height]], np.float32))[0]
    turn = cv2.getRotationMatrix2D((0, 0), rng.normal(0, 6), 1)[:, :2]
    quad = (corners @ turn.T + rng.normal(0, 0.06 * height, (4, 2))).astype(np.float32)
    room = np.array(frame.shape[1::-1]) - np.ptp(quad, axis=0)
    if (room <= 0).any():
        return
    quad += (rng.random(2) * room - quad.min(axis=0)).astype(np.float32)
    place = quad_boxes(quad[None])
    if iou(expand(boxes, 0.5), place).max(initial=0.0) > 0:
        return
    left, top, right, bottom = place[0].astype(int).tolist()
    behind = frame[top : bottom + 1, left : right + 1].mean()
    light = float(np.clip(behind / 110 + rng.uniform(-0.2, 0.4), 0.15, 1.0))  # dim in a dark picture
    cover = np.full(sign.shape[:2], rng.uniform(190, 255), np.uint8)
    paste(frame, np.asarray(np.clip(sign * light, 0, 255), np.uint8), quad, cover)


def stamp_time(rng: np.random.Generator, frame: Frame) -> None:
    """Draw a date and a time along the upper or lower edge, as a recorder does, in place."""
    height, width = frame.shape[:2]
    day = np.datetime64("2008-01-01T00:00:00") + rng.integers(0, 22 * 365 * 86400)
    patterns = ("%d.%m.%Y %H:%M:%S", "%Y-%m-%d %H:%M:%S", "%Y/%m/%d %H:%M:%S", "%d.%m.%Y")
    written = day.item().strftime(patterns[int(rng.integers(len(patterns)))])
    font = int(rng.choice((cv2.FONT_HERSHEY_SIMPLEX, cv2.FONT_HERSHEY_DUPLEX, cv2.FONT_HERSHEY_PLAIN)))
    scale = float(width * rng.uniform(0.15, 0.5)) / cv2.getTextSize(written, font, 1.0, 1)[0][0]
    thick = max(1, round(scale * 2))
    (w, h), _ = cv2.getTextSize(written, font, scale, thick)
    place = int(rng.uniform(0, max(width - w, 1))), round(h + 0.02 * height if rng.random() < 0.4 else 0.97 * height)
    ink = ((255, 255, 255), (0, 220, 255), (0, 140, 255), (10, 10, 10))[int(rng.integers(4))]
    if rng.random() < 0.4:
        cv2.putText(frame, written, place, font, scale, (0, 0, 0), 3 * thick, cv2.LINE_AA)
    cv2.putText(frame, written, place, font, scale, ink, thick, cv2.LINE_AA)


def draw_sign(rng: np.random.Generator) -> Frame:
    """A sign with one to three lines of text, (H, W, 3) uint8, H about 60 px a line."""
    lines = [text(rng) for _ in range(int(rng.choice((1, 1, 1, 2, 3))))]
    font = _font(str(rng.choice(FONTS)))
    ground = COLOURS[int(rng.integers(len(COLOURS)))]
    ink = (20, 20, 20) if sum(ground) > 380 else (245, 245, 245)
    spans = [font.getbbox(line) for line in lines]
    pad = int(rng.integers(4, 24))
    size = (int(max(span[2] for span in spans)) + 2 * pad, 58 * len(lines) + 2 * pad)
    image = Image.new("RGB", size, ground)
    pen = ImageDraw.Draw(image)
    for row, (line, span) in enumerate(zip(lines, spans, strict=True)):
        pen.text(((size[0] - span[2]) / 2, pad + 58 * row), line, ink, font)
    if rng.random() < 0.4:
        pen.rectangle((2, 2, size[0] - 3, size[1] - 3), outline=ink, width=int(rng.integers(2, 6)))
    return np.asarray(image, np.uint8)[:, :, ::-1]


def text(rng: np.random.Generator) -> str:
    """The text of a sign: words, a price, a phone number, a date, a web address; never a Russian plate."""
    word, other = map(str, rng.choice(WORDS.split(), 2))
    digits = "".join(map(str, rng.integers(0, 10, 11)))
    kinds = (
        word,
        f"{word} {other}",
        f"{word} {digits[:2]}",
        f"{digits[:2]}-{digits[2:4]}-{digits[4:6]}",
        f"8 ({digits[:3]}) {digits[3:6]}-{digits[6:8]}-{digits[8:10]}",
        f"20{digits[:2]}/0{rng.integers(1, 10)}/{rng.integers(10, 29)}",
        f"www.{word.lower()}.ru",
        digits[: int(rng.integers(1, 5))],
    )
    return kinds[int(rng.integers(len(kinds)))]


@cache
def _font(name: str) -> ImageFont.FreeTypeFont:
    return ImageFont.truetype(str(Path(matplotlib.get_data_path()) / "fonts" / "ttf" / name), 48)
