"""Boxes and texts drawn on a frame."""

from dataclasses import replace

import numpy as np
import pytest

from plate_nets.recognition.annotation import READ, UNREAD, annotate
from plate_nets.types import Box, Plate, Reading


def plate(text: str, *box: float) -> Plate:
    return Plate(Box(*box), 0.9, Reading(text, text or "A12", 0.9))


def has(frame: np.ndarray, colour: tuple[int, int, int]) -> bool:
    return bool((frame == colour).all(axis=2).any())


def test_annotating_does_not_change_the_frame() -> None:
    frame = np.zeros((100, 200, 3), np.uint8)
    drawn = annotate(frame, [plate("A123BC77", 20, 40, 120, 60)])
    assert not frame.any()
    assert tuple(drawn[50, 20]) == READ
    assert np.array_equal(annotate(frame, []), frame)


def test_the_outline_follows_the_corners() -> None:
    corners = (20, 40, 120, 70, 115, 90, 15, 60)
    found = replace(plate("A123BC77", 15, 40, 120, 90), corners=corners)
    drawn = annotate(np.zeros((100, 200, 3), np.uint8), [found])
    assert tuple(drawn[55, 70]) == READ and tuple(drawn[75, 65]) == READ
    assert not drawn[88, 15].any(), "a corner of the box"


def test_an_unread_plate_has_another_colour() -> None:
    drawn = annotate(np.zeros((200, 300, 3), np.uint8), [plate("", 20, 90, 120, 110)])
    assert has(drawn, UNREAD) and not has(drawn, READ)


@pytest.mark.parametrize("size", [(8, 8), (30, 40), (480, 640), (3000, 4000)])
@pytest.mark.parametrize("corner", [(0, 0), (0, 1), (1, 0), (1, 1)])
def test_a_plate_at_a_corner_is_labelled_inside(size: tuple[int, int], corner: tuple[int, int]) -> None:
    h, w = size
    y, x = corner[0] * (h - h // 8), corner[1] * (w - w // 4)
    drawn = annotate(np.zeros((h, w, 3), np.uint8), [plate("A123BC777", x, y, x + w // 4, y + h // 8)])
    assert drawn.shape == (h, w, 3)
    assert (drawn == READ).all(axis=2).sum() > (drawn.any(axis=2).sum() / 4)


def test_the_size_of_the_text_grows_with_the_frame() -> None:
    def inked(scale: int) -> int:
        frame = np.zeros((300 * scale, 400 * scale, 3), np.uint8)
        box = [side * scale for side in (100, 150, 200, 172)]
        return int(annotate(frame, [plate("A123BC77", *box)]).any(axis=2).sum())

    assert inked(4) > 8 * inked(1)
