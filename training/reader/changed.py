"""Makes other plates from real ones: symbols change places, or something hides them.

If a format's digits have cells of about one size, and its letters too, they can be exchanged in the straightened plate;
the layout says so. The result has the paint, light and noise of the photo, and a text that no photo shows. A hook,
snow, a bumper or another car hides symbols. These must not be read, so the rest fits no format of the scheme.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

import cv2
import numpy as np
from numpy.typing import NDArray

from plate_nets.countries import PlateScheme
from plate_nets.countries.scheme import Fit
from plate_nets.recognition.rectification import box_quads
from plate_nets.types import Frame
from training.real import RealPlate
from training.synthesis.camera import edge_height
from training.synthesis.drawing import blend
from training.synthesis.layouts import layouts
from training.synthesis.layouts.layout import PlateLayout, Slot

_AIR = 6.0
"""Above and below a symbol's cell, mm."""
_SEARCH = 9.0
"""Search range for a gap between two symbols around the standard's position, mm: plates and labels vary."""
_CLEAN = 0.5
"""Maximum ink in a gap, as a share of the mean over the symbols; more would mean cutting through a symbol."""
_LOWER_PART, _TO_THE_END, _SOFT = 0.3, 0.3, 0.4
"""Of the covered plates: share whose lower part is hidden, across all symbols; share with a hidden end; share of covers
with a soft edge, as of snow."""


def layout_of_text(scheme: PlateScheme, text: str) -> tuple[Fit, PlateLayout] | None:
    """How a text fits a format whose layout is known, and that layout."""
    known = ((fit, layouts(scheme).get((fit.format.name, fit.patterns))) for fit in scheme.fits(text))
    return next(((fit, layout) for fit, layout in known if layout), None)


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
    scale = max(edge_height(plate.corners), 16.0) * 1.5 / layout.height  # px/mm: 1.5, because it is resampled twice
    size = (round(layout.width * scale), round(layout.height * scale))
    transform = cv2.getPerspectiveTransform(plate.corners, _front(*size))
    straight = cv2.warpPerspective(plate.picture, transform, size, None, cv2.INTER_CUBIC, cv2.BORDER_REPLICATE)
    flat = np.asarray(straight, np.uint8)
    mixed, moved = flat.copy(), np.zeros(flat.shape[:2], np.float32)
    order = list(range(len(layout.slots)))
    for row, exchanged in _groups(fit):
        gaps = _gaps(mixed, [layout.slots[place] for place in row], scale)
        for places in exchanged if gaps else ():
            for place, source in zip(places, rng.permutation(places).tolist(), strict=True):
                order[place] = source
                if gaps and place != source:
                    rows = _rows(layout.slots[place], scale)
                    here, origin = (slice(gaps[i - row[0]], gaps[i - row[0] + 1]) for i in (place, source))
                    mixed[rows, here] = _fitted(flat[rows, origin], flat[rows, here])
                    moved[rows, here] = 1
    back, where = (
        cv2.warpPerspective(each, transform, plate.picture.shape[1::-1], flags=cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP)
        for each in (mixed, moved)
    )
    picture = np.where(where[:, :, None] > 0.5, back, plate.picture).astype(np.uint8)
    return replace(plate, picture=picture, text="".join(plate.text[source] for source in order))


def can_cover(scheme: PlateScheme, plate: RealPlate) -> bool:
    """Whether the positions of the symbols are known."""
    return plate.exact and layout_of_text(scheme, plate.text) is not None


def cover(scheme: PlateScheme, plate: RealPlate, rng: np.random.Generator) -> RealPlate:
    """The plate with one or more symbols hidden under one colour, and the text without them."""
    found = layout_of_text(scheme, plate.text)
    if found is None:
        return plate
    layout, count = found[1], len(plate.text)
    kind, first = rng.random(), int(rng.integers(count))
    last = min(first + int(rng.random() < 0.4), count - 1)
    if kind < _LOWER_PART:
        first, last = 0, count - 1
    elif kind < _LOWER_PART + _TO_THE_END:
        first, last = (0, last) if rng.random() < 0.5 else (first, count - 1)
    rest = plate.text[:first] + plate.text[last + 1 :]
    while scheme.is_plate(rest):  # for example a region without its third digit: hide its neighbour too
        first = max(0, first - 1)
        rest = rest[:first] + rest[first + 1 :]
    slots = layout.slots[first : last + 1]
    side = 0.36 * max(slot.height for slot in slots)
    left = -30 if first == 0 else slots[0].x - side
    right = layout.width + 30 if last == count - 1 else slots[-1].x + side
    top, bottom = -rng.uniform(5, 40), layout.height + rng.uniform(5, 40)
    if kind < _LOWER_PART:
        top = slots[0].baseline - slots[0].height * rng.uniform(0.5, 1.1)
    outline = box_quads(np.array([[left, top, right, bottom]], np.float32))
    outline[..., 0] += np.float32(rng.normal(0, 6)) * np.array([1, 1, -1, -1], np.float32)
    transform = cv2.getPerspectiveTransform(_front(layout.width, layout.height), plate.corners)
    points = np.asarray(cv2.perspectiveTransform(outline, transform)[0], np.float32)
    soft = max(0.31, 0.05 * edge_height(plate.corners)) if rng.random() < _SOFT else 0.0
    picture = plate.picture.copy()
    blend(picture, points, tuple(rng.uniform(15, 240) + rng.normal(0, 12, 3)), 1.0, soft)
    return replace(plate, picture=picture, text=rest)


def _front(width: float, height: float) -> NDArray[np.float32]:
    """The corners (4, 2) of a plate seen from the front."""
    return np.asarray(box_quads(np.array([[0, 0, width, height]], np.float32))[0])


def _groups(fit: Fit) -> Iterator[tuple[range, list[list[int]]]]:
    """The positions of each part, grouped by equal kind of sign."""
    start = 0
    for pattern in fit.patterns:
        row = range(start, start + len(pattern))
        yield row, [[row[i] for i, each in enumerate(pattern) if each == sign] for sign in dict.fromkeys(pattern)]
        start = row.stop


def _rows(slot: Slot, scale: float) -> slice:
    """The rows of a symbol's cell, px."""
    return slice(round((slot.baseline - slot.height - _AIR) * scale), round((slot.baseline + _AIR) * scale))


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
    light = np.percentile(old, 80, axis=(0, 1)) - np.percentile(cell, 80, axis=(0, 1))
    resized = cv2.resize(cell, (old.shape[1], old.shape[0]), interpolation=cv2.INTER_LINEAR)
    return np.asarray(np.clip(resized + light, 0, 255), np.uint8)
