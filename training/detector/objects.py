"""Objects in training pictures besides labelled plates: a file ``file,kind,xmin,ymin,xmax,ymax,score`` per folder, px.

``kind`` is "plate" or one of `types.VEHICLES`; ``score`` is the confidence of its source, 1 for drawn objects.
"""

import csv
import io
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from plate_nets.common.atomic_files import write_whole
from plate_nets.common.errors import DatasetError
from plate_nets.evaluation.dataset import BOX_COLUMNS, csv_rows, parse_box
from plate_nets.types import VEHICLES, Boxes, Scores

COLUMNS = ("file", "kind", *BOX_COLUMNS, "score")
PLATE = "plate"
KINDS = (PLATE, *VEHICLES)


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
        return Objects(
            np.concatenate((self.boxes, other.boxes)),
            np.concatenate((self.kinds, other.kinds)),
            np.concatenate((self.scores, other.scores)),
        )

    def where(self, mask: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> "Objects":
        """The chosen objects, (N,)."""
        return Objects(self.boxes[mask], self.kinds[mask], self.scores[mask])


def write_objects(path: Path, pictures: Mapping[str, Objects]) -> None:
    """Write the objects of each picture, by the picture's file name."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(COLUMNS)
    for name, objects in pictures.items():
        for box, kind, score in zip(
            objects.boxes.tolist(), objects.kinds.tolist(), objects.scores.tolist(), strict=True
        ):
            rows.writerow((name, KINDS[kind], *(f"{side:.1f}" for side in box), f"{score:.3f}"))
    write_whole(path, text.getvalue().encode())


def read_objects(path: Path) -> dict[str, Objects]:
    """Read a file written by `write_objects` -> the objects of each picture that has any, by file name.

    Raises:
        DatasetError: the file or a column is missing, a kind is unknown, or a box or a score is invalid.
    """
    if not path.is_file():
        raise DatasetError(f"{path}: no such file; the first stage of the recipe writes it")
    found: dict[str, list[tuple[str, tuple[float, ...], float]]] = {}
    for where, row in csv_rows(path, COLUMNS):
        try:
            if row["kind"] not in KINDS:
                raise ValueError(f"kind: expected one of {', '.join(KINDS)}, got {row['kind']!r}")
            box, score = parse_box(row), float(row["score"])
            if not 0 <= score <= 1:
                raise ValueError(f"score: expected 0 to 1, got {score:g}")
        except ValueError as error:
            raise DatasetError(f"{where}: {error}") from error
        found.setdefault(row["file"], []).append((row["kind"], box.sides, score))
    return {name: Objects.of(rows) for name, rows in found.items()}
