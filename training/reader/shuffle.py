"""Makes other texts from the same photo by exchanging symbols of a real plate.

If a format's digits have cells of about one size, and its letters too, they can be exchanged in the straightened plate;
the layout says so. The result has the paint, light and noise of the photo, and a text that no photo shows.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

import cv2
import numpy as np

from plate_nets.countries import PlateScheme
from plate_nets.countries.scheme import Fit
from plate_nets.types import Frame
from training.real import RealPlate
from training.synthesis.camera import edge_height
from training.synthesis.layouts import layouts
from training.synthesis.layouts.layout import HEIGHT, WIDTH, PlateLayout, Slot

_SEARCH = 9.0
"""Search range for a gap between two symbols around the standard's position, mm: plates and labels vary."""
_CLEAN = 0.5
"""Maximum ink in a gap, as a share of the mean over the symbols; more would mean cutting through a symbol."""


def can_shuffle(scheme: PlateScheme, plate: RealPlate) -> bool:
    """Whether the positions of the symbols are known: the plate has its true corners, and a suitable layout."""
    found = layout_of_text(scheme, plate.text)
    return plate.exact and found is not None and found[1].can_shuffle


def shuffle(scheme: PlateScheme, plate: RealPlate, rng: np.random.Generator) -> RealPlate:
    """Shuffle the symbols of each part of a plate, digits among digits and letters among letters.

    A plate without clean gaps between the symbols (blurred, or labelled carelessly) stays as it is.
    """
    found = layout_of_text(scheme, plate.text)
    if found is None or not found[1].can_shuffle:
        return plate
    fit, layout = found
    slots = layout.slots
    scale = max(edge_height(plate.corners), 16.0) * 1.5 / HEIGHT  # px/mm: 1.5 times, because it is resampled twice
    size = (round(WIDTH * scale), round(HEIGHT * scale))
    flat_corners = np.array([[0, 0], [size[0], 0], [size[0], size[1]], [0, size[1]]], np.float32)
    transform = cv2.getPerspectiveTransform(plate.corners, flat_corners)
    flat = np.asarray(
        cv2.warpPerspective(plate.picture, transform, size, flags=cv2.INTER_CUBIC, borderMode=cv2.BORDER_REPLICATE),
        np.uint8,
    )
    mixed, moved = flat.copy(), np.zeros(flat.shape[:2], np.float32)
    order = list(range(len(slots)))
    for row, exchanged in _groups(fit):
        gaps = _gaps(mixed, [slots[place] for place in row], scale)
        if gaps is None:
            continue
        for places in exchanged:
            for place, source in zip(places, rng.permutation(places).tolist(), strict=True):
                order[place] = source
                if place != source:
                    rows = _rows(slots[place], scale)
                    here, origin = (slice(gaps[i - row[0]], gaps[i - row[0] + 1]) for i in (place, source))
                    mixed[rows, here] = _fitted(flat[rows, origin], flat[rows, here])
                    moved[rows, here] = 1
    height, width = plate.picture.shape[:2]
    inverse = cv2.WARP_INVERSE_MAP
    back = cv2.warpPerspective(mixed, transform, (width, height), flags=cv2.INTER_LINEAR | inverse)
    where = cv2.warpPerspective(moved, transform, (width, height), flags=cv2.INTER_LINEAR | inverse)
    picture = np.where(where[:, :, None] > 0.5, back, plate.picture).astype(np.uint8)
    return replace(plate, picture=picture, text="".join(plate.text[source] for source in order))


def layout_of_text(scheme: PlateScheme, text: str) -> tuple[Fit, PlateLayout] | None:
    """How a text fits a format whose layout is known, and that layout."""
    for fit in scheme.fits(text):
        layout = layouts(scheme).get((fit.format.name, fit.patterns))
        if layout:
            return fit, layout
    return None


def _groups(fit: Fit) -> Iterator[tuple[range, list[list[int]]]]:
    """The positions of each part, grouped by equal kind of sign."""
    start = 0
    for pattern in fit.patterns:
        row = range(start, start + len(pattern))
        yield row, [[row[i] for i, each in enumerate(pattern) if each == sign] for sign in dict.fromkeys(pattern)]
        start = row.stop


def _rows(slot: Slot, scale: float) -> slice:
    """The rows of a symbol's cell, px."""
    air = 6.0  # mm above and below the symbol
    return slice(round((slot.baseline - slot.height - air) * scale), round((slot.baseline + air) * scale))


def _gaps(flat: Frame, slots: Sequence[Slot], scale: float) -> list[int] | None:
    """The columns between symbols that stand in a row, first and last edge included, px; None if they are not clean."""
    rows = _rows(min(slots, key=lambda slot: slot.height), scale)
    grey = cv2.cvtColor(flat[rows], cv2.COLOR_BGR2GRAY).astype(np.float32)
    ink = np.clip(np.percentile(grey, 85, axis=0) - grey, 0, None).mean(axis=0)
    ink = cv2.blur(ink[None], (max(1, round(3 * scale)), 1))[0]
    centres = [slot.x for slot in slots]
    first, last = 1.5 * centres[0] - 0.5 * centres[1], 1.5 * centres[-1] - 0.5 * centres[-2]
    expected = [first, *((a + b) / 2 for a, b in pairwise(centres)), last]
    around = round(_SEARCH * scale)
    gaps: list[int] = []
    for place in expected:
        start = max(0, round(place * scale) - around)
        gaps.append(start + int(ink[start : round(place * scale) + around + 1].argmin()))
    most = _CLEAN * float(ink[gaps[0] : gaps[-1]].mean()) if gaps[-1] > gaps[0] else 0.0
    narrow = min(np.diff(gaps)) < 0.6 * float(np.diff(centres).min()) * scale
    return None if narrow or max(float(ink[gap]) for gap in gaps[1:-1]) > most else gaps


def _fitted(cell: Frame, old: Frame) -> Frame:
    """A cell with the size and the ground brightness of the one that it replaces."""
    light = np.percentile(old, 80, axis=(0, 1)) - np.percentile(cell, 80, axis=(0, 1))
    resized = cv2.resize(cell, (old.shape[1], old.shape[0]), interpolation=cv2.INTER_LINEAR)
    return np.asarray(np.clip(resized + light, 0, 255), np.uint8)
