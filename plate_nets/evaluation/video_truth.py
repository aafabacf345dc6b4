"""The truth of a clip: JSON lines, one per frame, with the plates in it.

    {"time": 0.04, "plates": [{"car": 3, "text": "A123BC77", "box": [..4], "corners": [..8], "visible": 1.0}]}

The i-th line belongs to the i-th frame. ``box``: xmin, ymin, xmax, ymax; ``corners``: x, y, clockwise from the
plate's own top left; px of the frame. ``visible``: the share of the plate that is not hidden.
"""

import json
import math
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from plate_nets.common.errors import DatasetError, InputError
from plate_nets.common.intake.files import MAX_TABLE, read_text


@dataclass(frozen=True)
class TruePlate:
    """A plate of a frame; ``car`` is the same in all frames."""

    car: int
    text: str
    box: tuple[float, ...]
    corners: tuple[float, ...]
    visible: float

    @property
    def height(self) -> float:
        """Mean length of the plate's left and right edge, px."""
        x1, y1, x2, y2, x3, y3, x4, y4 = self.corners
        return (math.hypot(x4 - x1, y4 - y1) + math.hypot(x3 - x2, y3 - y2)) / 2


@dataclass(frozen=True)
class TrueFrame:
    """A frame: seconds from the clip's beginning, and its plates."""

    time: float
    plates: tuple[TruePlate, ...]

    def to_json(self) -> str:
        return json.dumps(asdict(self))


def load_truth(path: Path) -> list[TrueFrame]:
    """Read the frames of a truth file, in order.

    Raises:
        DatasetError: the file is missing, or a line does not have the form above.
    """
    try:
        lines = read_text(path, MAX_TABLE).splitlines()
    except InputError as error:
        raise DatasetError(f"{error}; expected JSON lines, one per frame") from error
    return list(_frames(path, lines))


def _frames(path: Path, lines: Iterable[str]) -> Iterator[TrueFrame]:
    for number, line in enumerate(lines, 1):
        try:
            values = json.loads(line)
            plates = tuple(
                TruePlate(**each | {"box": tuple(each["box"]), "corners": tuple(each["corners"])})
                for each in values["plates"]
            )
            yield TrueFrame(values["time"], plates)
        except (KeyError, TypeError, ValueError, RecursionError) as error:
            raise DatasetError(f"{path}:{number}: expected a frame with its time and plates: {error}") from error
