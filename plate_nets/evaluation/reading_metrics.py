"""How well plates are read: exact texts, wrong texts, unread plates, characters."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from plate_nets.countries import PlateScheme
from plate_nets.evaluation.corner_metrics import TURNED
from plate_nets.types import Reading

HEIGHT_EDGES = (0.0, 20.0, 30.0, 50.0)
"""Plate heights in the photo, px, at which a new row of the table begins."""


@dataclass(frozen=True)
class ReadPlate:
    """A labelled plate and its reading; ``reading`` is None if the detector did not find the plate."""

    source: str
    label: str
    height: float
    """Mean of the left and right edge in the photo, px."""
    reading: Reading | None
    lines: int = 1
    """Lines of the plate, by its labelled corners."""
    turn: float | None = None
    """Rotation of the labelled corners, degrees; None if they are unknown."""
    corner_errors: tuple[float, ...] = ()
    """Distances between found and labelled corners, as shares of the height; empty if either is unknown."""

    @property
    def text(self) -> str:
        """The sure text, or empty."""
        return self.reading.text if self.reading else ""

    @property
    def best(self) -> str:
        """The best reading, sure or not, or empty."""
        return self.reading.best if self.reading else ""

    @property
    def exact(self) -> bool:
        return self.text == self.label

    @property
    def wrong(self) -> bool:
        return self.text not in ("", self.label)

    @property
    def unread(self) -> bool:
        return self.text == ""


@dataclass(frozen=True)
class Share:
    """A share of a count, with the 95 % interval of Wilson (1927)."""

    hits: int
    count: int

    @property
    def value(self) -> float:
        return self.hits / self.count if self.count else 0.0

    @property
    def interval(self) -> tuple[float, float]:
        from scipy.stats import binomtest  # late: takes a second to import

        if not self.count:
            return 0.0, 1.0
        interval = binomtest(self.hits, self.count).proportion_ci(0.95, method="wilson")
        return float(interval.low), float(interval.high)

    def __str__(self) -> str:
        low, high = self.interval
        return f"{self.value:.4f} [{low:.3f}, {high:.3f}] {self.hits}/{self.count}"


@dataclass(frozen=True)
class ReadingSummary:
    """Counts over plates: every plate is exact, wrong or unread."""

    plates: int
    exact: Share
    wrong: Share
    unread: Share
    wrong_of_read: Share
    """Wrong texts among the sure ones."""
    best_exact: Share
    """Best readings that equal the label, sure or not."""
    characters: float
    """1 - edit distance of the best reading / length of the label, over all plates."""
    corner_errors: tuple[float, float] | None
    """Median and 95th percentile of the distances of all corners, shares of the height; None if there are none."""


def summarize(plates: Sequence[ReadPlate]) -> ReadingSummary:
    n = len(plates)
    wrong = sum(p.wrong for p in plates)
    read = sum(not p.unread for p in plates)
    errors = [error for plate in plates for error in plate.corner_errors]
    edits = sum(min(edit_distance(p.best, p.label), len(p.label)) for p in plates)
    return ReadingSummary(
        plates=n,
        exact=Share(sum(p.exact for p in plates), n),
        wrong=Share(wrong, n),
        unread=Share(n - read, n),
        wrong_of_read=Share(wrong, read),
        best_exact=Share(sum(p.best == p.label for p in plates), n),
        characters=1 - edits / max(1, sum(len(p.label) for p in plates)),
        corner_errors=(float(np.quantile(errors, 0.5)), float(np.quantile(errors, 0.95))) if errors else None,
    )


def by_height(plates: Sequence[ReadPlate]) -> dict[str, ReadingSummary]:
    def name(plate: ReadPlate) -> str:
        low = max(edge for edge in HEIGHT_EDGES if edge <= plate.height)
        higher = [edge for edge in HEIGHT_EDGES if edge > low]
        return f"{low:.0f} to {higher[0]:.0f} px" if higher else f"{low:.0f} px and more"

    return _grouped(sorted(plates, key=lambda plate: plate.height), name)


def by_turn(plates: Sequence[ReadPlate]) -> dict[str, ReadingSummary]:
    """Plates with labelled corners -> a summary of the turned ones and of the others."""
    known = [(plate.turn, plate) for plate in plates if plate.turn is not None]
    upright = [plate for turn, plate in known if abs(turn) <= TURNED]
    turned = [plate for turn, plate in known if abs(turn) > TURNED]
    named = {f"turned up to {TURNED:g} degrees": upright, f"turned over {TURNED:g} degrees": turned}
    return {name: summarize(group) for name, group in named.items() if group}


def by_format(plates: Sequence[ReadPlate], scheme: PlateScheme) -> dict[str, ReadingSummary]:
    """Plates -> a summary for each format of the scheme that the label's text fits with that number of lines."""
    return _grouped(
        sorted(plates, key=lambda plate: plate.label),
        lambda plate: scheme.by_shape[plate.lines].format_names(plate.label) or "other",
    )


def threshold_trade(plates: Sequence[ReadPlate], thresholds: Sequence[float]) -> list[tuple[float, float, float]]:
    """Plates -> rows ``threshold, share with a wrong text, share without a text`` for rising minimum confidences.

    Only given texts can be withdrawn, so evaluate with a decoder whose minimum confidence is 0.
    """
    rows = []
    for threshold in thresholds:
        kept = [p for p in plates if p.text and p.reading and p.reading.confidence >= threshold]
        wrong = Share(sum(p.wrong for p in kept), len(plates))
        rows.append((threshold, wrong.value, Share(len(plates) - len(kept), len(plates)).value))
    return rows


def withdraw_unsure(plates: Sequence[ReadPlate], sure: float) -> list[ReadPlate]:
    """Plates with all their texts -> the same without texts below a confidence, as the decoder does it."""
    return [
        replace(plate, reading=replace(plate.reading, text="", format=""))
        if plate.reading and plate.reading.confidence < sure
        else plate
        for plate in plates
    ]


def edit_distance(a: str, b: str) -> int:
    """Levenshtein distance: insertions, deletions and replacements of symbols."""
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, start=1):
        above, row[0] = row[0], i
        for j, y in enumerate(b, start=1):
            above, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, above + (x != y))
    return row[-1]


def _grouped(plates: Sequence[ReadPlate], name: Callable[[ReadPlate], str]) -> dict[str, ReadingSummary]:
    groups: dict[str, list[ReadPlate]] = {}
    for plate in plates:
        groups.setdefault(name(plate), []).append(plate)
    return {key: summarize(group) for key, group in groups.items()}
