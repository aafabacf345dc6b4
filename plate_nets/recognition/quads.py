"""What the four corners of a plate tell alone: its size, and how many lines it has."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from plate_nets.types import Boxes, Lines

Quad = NDArray[np.float32]
"""Corner points (4, 2) x, y, clockwise from the plate's own top left, px of the frame."""
Quads = NDArray[np.float32]
"""(N, 4, 2), one `Quad` a plate."""

LEAST_ASPECT, ONE_LINE_ASPECT = 0.8, 2.2
"""Width over height of a plate of two lines: from the first, up to the second.

Seen from the front, plates of two lines have 1.2 to 1.7; those of one line 2.0 in North America, 2.3 to 5 elsewhere;
seen from the side less. Of the corners found on 738 US plates a fifth has less than 2.2. But with a bound of 1.87 only
0.85 of rendered square plates of Russia are read, where with 2.2 it is 0.97 (`python -m training.corners.reading`). So
plates of this shape are cut both ways, and `PlateScheme.any_shape` says which countries have plates of one line there.
"""

BORDER = 0.25
"""How far, in plate heights, corners lie beyond the frame where its border cuts the plate: half a symbol's width."""


def quad_size(quads: Quads) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Quads (N, 4, 2) -> heights and widths (N,), px: the means of opposite edges."""
    edges = quads[:, (1, 2, 3, 0)] - quads
    top, right, bottom, left = np.sqrt((edges * edges).sum(axis=2)).T  # a third of the time of roll and norm
    return ((left + right) / 2).astype(np.float32), ((top + bottom) / 2).astype(np.float32)


def lines_of(quads: Quads) -> Lines:
    """Quads (N, 4, 2) -> the lines of each plate, by its shape alone."""
    with np.errstate(invalid="ignore", over="ignore"):  # what is not finite has one line
        heights, widths = quad_size(quads)
    two = (widths >= LEAST_ASPECT * heights) & (widths < ONE_LINE_ASPECT * heights)
    return np.where(two, 2, 1)


def line_heights(quads: Quads, lines: Lines) -> NDArray[np.float32]:
    """Quads (N, 4, 2) of plates of so many lines (N,) -> how high a line is (N,), px; 0 for what is not finite."""
    with np.errstate(invalid="ignore", over="ignore"):
        heights = quad_size(quads)[0] / lines
    return np.where(np.isfinite(heights), heights, 0).astype(np.float32)


def doubtful(quads: Quads, boxes: Boxes) -> NDArray[np.bool_]:
    """Quads (N, 4, 2) and the boxes (N, 4) around them, clamped to the frame -> where a symbol may be missing, (N,).

    That is where the frame's border cuts the plate, and where its corners were not found, so that they are the box's:
    a detector's box may leave out the end of a plate.
    """
    with np.errstate(invalid="ignore", over="ignore"):  # what is not finite is not compared
        heights, _ = quad_size(quads)
        beyond = np.concatenate((boxes[:, :2] - quads.min(axis=1), quads.max(axis=1) - boxes[:, 2:]), axis=1)
        cut = beyond.max(axis=1, initial=0.0) > BORDER * heights
        unknown = (quads == boxes[:, [0, 1, 2, 1, 2, 3, 0, 3]].reshape(-1, 4, 2)).all(axis=(1, 2)) & (heights > 0)
    return np.asarray(cut | unknown)


def lines_of_plate(corners: Sequence[float]) -> int:
    """The corners of a `types.Plate` -> its lines; 1 where nobody said its corners."""
    return int(lines_of(np.array(corners, np.float32).reshape(-1, 4, 2)).max(initial=1))
