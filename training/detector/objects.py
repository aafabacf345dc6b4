"""Objects in training pictures, and files that keep them: what finding or drawing them took is not repeated.

``kind`` is "plate" or one of `types.VEHICLES`; ``score`` is the confidence of its source, 1 for drawn objects.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from rich.progress import track

from plate_nets.common.atomic_files import write_whole
from plate_nets.types import VEHICLES, Boxes, Scores

PLATE = "plate"
KINDS = (PLATE, *VEHICLES)
_EVERY = 20
"""Pictures between two writes of a file."""


@dataclass(frozen=True)
class Objects:
    """Boxes (N, 4) xyxy px, indices of their kinds in `KINDS` (N,), and scores 0..1 (N,)."""

    boxes: Boxes = field(default_factory=lambda: np.empty((0, 4), np.float32))
    kinds: np.ndarray[tuple[int], np.dtype[np.int64]] = field(default_factory=lambda: np.empty(0, np.int64))
    scores: Scores = field(default_factory=lambda: np.empty(0, np.float32))

    @classmethod
    def of(cls, rows: Iterable[tuple[str, Iterable[float], float]]) -> "Objects":
        """Rows of kind, box and score -> the objects."""
        listed = [(KINDS.index(kind), tuple(box), score) for kind, box, score in rows]
        return cls(
            np.array([box for _, box, _ in listed], np.float32).reshape(-1, 4),
            np.array([kind for kind, _, _ in listed], np.int64),
            np.array([score for _, _, score in listed], np.float32),
        )

    def __add__(self, other: "Objects") -> "Objects":
        return Objects(*(np.concatenate((vars(self)[name], vars(other)[name])) for name in vars(self)))

    def where(self, mask: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> "Objects":
        return Objects(self.boxes[mask], self.kinds[mask], self.scores[mask])

    @property
    def rows(self) -> list[tuple[str, list[float], float]]:
        kinds = (KINDS[kind] for kind in self.kinds)
        return list(zip(kinds, self.boxes.tolist(), self.scores.tolist(), strict=True))


def kept(path: Path, names: Sequence[str], find: Callable[[str], Objects]) -> dict[str, Objects]:
    """The objects of pictures by their names: those that a file keeps, and those that are found now and kept in it."""
    known = json.loads(path.read_bytes()) if path.is_file() else {}
    unknown = [name for name in names if name not in known]
    for number, name in enumerate(track(unknown, path.stem)):
        known[name] = find(name).rows
        if number % _EVERY == 0 or name == unknown[-1]:
            write_whole(path, json.dumps(known).encode())
    return {name: Objects.of(known[name]) for name in names}
