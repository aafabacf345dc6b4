"""Compares our readings with those of other readers, and shows the differences on a page where a person decides."""

import csv
import json
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from string import Template

import cv2
from scipy.optimize import linear_sum_assignment

from plate_nets.cameras.pictures import cut_around
from plate_nets.common.atomic_files import whole_file, write_whole
from plate_nets.common.spelling import normalize
from plate_nets.evaluation.other_reader import OtherPlate
from plate_nets.recognition.overlap import iou, stacked
from plate_nets.types import Box, Frame, Plate

KINDS = ("same", "different", "only ours", "only theirs")
"""What became of a plate: both gave this text, both another one, or one of the two gave none."""
_PAGE = Path(__file__).with_suffix(".html")
_SAME_PLATE = 0.2
"""Least overlap of two boxes of one plate: other readers cut plates out more widely."""
_AROUND = 1.0
"""What a picture shows around a plate, in its widths and heights."""
_PAGE_EVERY = 60.0
"""Minimum seconds between two pages of a comparison that goes on."""


@dataclass
class Difference:
    """A plate that two readers read differently, and how often they did."""

    reader: str
    source: str
    ours: str
    """Our text; empty without one."""
    reading: str
    """What we saw, certain or not."""
    confidence: float
    theirs: str
    score: float
    picture: str
    """The file with the plate, relative to the page."""
    count: int = 1


@dataclass
class Comparison:
    """What was compared so far; ``folder``: for the page and its pictures."""

    folder: Path
    counts: dict[str, Counter[str]] = field(default_factory=dict)
    """By reader: how many plates of each of `KINDS`."""
    _differences: dict[tuple[str, str, str, str], Difference] = field(default_factory=dict)
    _changed: bool = False
    _next_page: float = 0.0

    @property
    def differences(self) -> list[Difference]:
        """Each once, those with two texts first, then the most certain."""
        return sorted(
            self._differences.values(),
            key=lambda each: (not (each.ours and each.theirs), -max(each.confidence if each.ours else 0, each.score)),
        )

    def add(self, reader: str, source: str, frame: Frame, ours: Sequence[Plate], theirs: Sequence[OtherPlate]) -> None:
        """Compare what we and another reader found in a frame (H, W, 3) BGR of a source."""
        counts = self.counts.setdefault(reader, Counter())
        for own, other in _paired(ours, theirs):
            text = normalize(own.reading.text) if own else ""
            said = other.text if other else ""
            if not text and not said:
                continue
            kind = KINDS[0] if text == said else KINDS[1] if text and said else KINDS[2] if text else KINDS[3]
            counts[kind] += 1
            self._changed = True
            if kind == KINDS[0]:
                continue
            key = (reader, source, text, said)
            if key in self._differences:
                self._differences[key].count += 1
                continue
            seen = own or other
            assert seen is not None
            self._differences[key] = Difference(
                reader,
                source,
                text,
                own.reading.best if own else "",
                own.reading.confidence if own else 0.0,
                said,
                other.confidence if other else 0.0,
                self._save(frame, seen.box),
            )

    def _save(self, frame: Frame, box: Box) -> str:
        part = cut_around(frame, box, _AROUND)
        name = f"pictures/{len(self._differences):05}.jpg"
        (self.folder / "pictures").mkdir(parents=True, exist_ok=True)
        write_whole(self.folder / name, cv2.imencode(".jpg", part if part.size else frame)[1].tobytes())
        return name

    def keep(self) -> None:
        """Write the page if something changed and the last page is a minute old: a run that is killed leaves it."""
        if self._changed and time.monotonic() >= self._next_page:
            self.write()

    def write(self) -> Path:
        """Write the page and the table ``differences.csv`` -> the page."""
        self.folder.mkdir(parents=True, exist_ok=True)
        rows = [asdict(each) for each in self.differences]
        with (
            whole_file(self.folder / "differences.csv") as fresh,
            fresh.open("w", encoding="utf-8", newline="") as file,
        ):
            table = csv.DictWriter(file, [each.name for each in Difference.__dataclass_fields__.values()])
            table.writeheader()
            table.writerows(rows)
        told = {"kinds": KINDS, "counts": {name: dict(each) for name, each in self.counts.items()}, "differences": rows}
        data = json.dumps(told).replace("<", "\\u003c")  # within a script, so that no text ends it
        page = Template(_PAGE.read_text(encoding="utf-8")).substitute(data=data)
        write_whole(self.folder / "index.html", page.encode())
        self._changed, self._next_page = False, time.monotonic() + _PAGE_EVERY
        return self.folder / "index.html"


def _paired(ours: Sequence[Plate], theirs: Sequence[OtherPlate]) -> list[tuple[Plate | None, OtherPlate | None]]:
    """Plates of two readers -> those of the same plate together, then the others."""
    overlaps = iou(stacked(each.box for each in ours), stacked(each.box for each in theirs))
    pairs = [(i, j) for i, j in zip(*linear_sum_assignment(-overlaps), strict=True) if overlaps[i, j] >= _SAME_PLATE]
    rows, columns = {i for i, _ in pairs}, {j for _, j in pairs}
    return [
        *((ours[i], theirs[j]) for i, j in pairs),
        *((each, None) for i, each in enumerate(ours) if i not in rows),
        *((None, each) for j, each in enumerate(theirs) if j not in columns),
    ]
