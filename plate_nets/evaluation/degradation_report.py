"""Figures of `evaluate_degraded` as JSON, as a table on the terminal, and as a plot."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from plate_nets.common.atomic_files import whole_file
from plate_nets.evaluation.calibration import reliability
from plate_nets.evaluation.degradation import ENOUGH, Cell
from plate_nets.evaluation.reading_metrics import ReadPlate, threshold_trade
from plate_nets.evaluation.report import figure_table

GATES = (0.5, 0.8, 0.95, 0.99)
"""Minimum confidences whose cost is listed."""


def degradation_figures(cells: Sequence[Cell]) -> dict[str, Any]:
    """Cells -> their figures, JSON-ready: ``cells`` row by row, and ``worst``, the lowest share of right texts among
    the sure ones over all cells with at least `ENOUGH` of them; None without such a cell."""
    rows: list[dict[str, Any]] = [
        {
            "quality": cell.quality,
            "height": cell.height,
            "plates": cell.coverage.count,
            "sure": cell.right_of_sure.count,
            "right_of_sure": cell.right_of_sure.value if cell.right_of_sure.count else None,
            "coverage": cell.coverage.value,
        }
        for cell in cells
    ]
    judged = [row["right_of_sure"] for row in rows if row["sure"] >= ENOUGH]
    return {"cells": rows, "worst": min(judged, default=None)}


def gate_figures(cells: Sequence[Cell]) -> list[dict[str, Any]]:
    """Cells with all texts -> for each quality and each minimum confidence in `GATES`, JSON-ready: the shares of
    all plates, of any height, that get a wrong text or none."""
    plates: dict[int, list[ReadPlate]] = {}
    for cell in cells:
        plates.setdefault(cell.quality, []).extend(cell.plates)
    return [
        {"quality": quality, "least_confidence": gate, "wrong": wrong, "without_text": without}
        for quality, each in plates.items()
        for gate, wrong, without in threshold_trade(each, GATES)
    ]


def print_degradation(console: Console, values: Mapping[str, Any]) -> None:
    """Print figures of `degradation_figures` as a table, one row per quality and one column per height; those of
    `gate_figures` in ``gates`` as another one."""
    heights = list(dict.fromkeys(row["height"] for row in values["cells"]))
    table = figure_table(
        "height, px",
        *(f"{height:g}" for height in heights),
        title="right texts among the sure ones (right texts among all plates)",
        caption=f"only in brackets: fewer than {ENOUGH} sure texts",
    )
    for quality in dict.fromkeys(row["quality"] for row in values["cells"]):
        table.add_row(f"JPEG {quality}", *(_cell(row) for row in values["cells"] if row["quality"] == quality))
    console.print(table)
    if values["worst"] is not None:
        console.print(f"worst cell: {values['worst']:.3f} of the sure texts are right")
    table = figure_table(
        "least confidence",
        *(f"{gate:g}" for gate in GATES),
        title="cost of a threshold, per 1,000 plates",
        caption="wrong texts / plates without a text, all heights",
    )
    for quality in dict.fromkeys(row["quality"] for row in values["gates"]):
        rows = (row for row in values["gates"] if row["quality"] == quality)
        costs = (f"{1000 * row['wrong']:.0f} / {1000 * row['without_text']:.0f}" for row in rows)
        table.add_row(f"JPEG {quality}", *costs)
    console.print(table)


def _cell(row: Mapping[str, Any]) -> str:
    coverage = f"({row['coverage']:.2f})"
    return f"{row['right_of_sure']:.3f}\n{coverage}" if row["sure"] >= ENOUGH else coverage


def save_degradation(path: Path, cells: Sequence[Cell]) -> None:
    """Cells -> one PNG: accuracy of sure texts and coverage over the height, and the calibration at each height."""
    from matplotlib.figure import Figure  # imported here: takes a second to import

    figure = Figure(figsize=(16, 4.6), layout="constrained")
    right, coverage, diagram = figure.subplots(1, 3)
    for quality in dict.fromkeys(cell.quality for cell in cells):
        row = [cell for cell in cells if cell.quality == quality]
        judged = [cell for cell in row if cell.right_of_sure.count >= ENOUGH]
        right.plot([cell.height for cell in judged], [cell.right_of_sure.value for cell in judged], marker=".")
        shares = [cell.coverage.value for cell in row]
        coverage.plot([cell.height for cell in row], shares, marker=".", label=f"JPEG {quality}")
    right.axhline(0.99, linewidth=0.7, color="grey")
    right.set(xlabel="plate height, px", ylabel="right texts among the sure ones")
    coverage.set(xlabel="plate height, px", ylabel="right texts among all plates", ylim=(-0.02, 1.02))
    coverage.legend(fontsize=7)
    diagram.plot([0, 1], [0, 1], linewidth=0.7, color="grey")
    for height in sorted({cell.height for cell in cells}):
        bins = reliability([plate for cell in cells if cell.height == height for plate in cell.plates])
        diagram.plot(
            [each.confidence for each in bins], [each.right.value for each in bins], marker="o", label=f"{height:g} px"
        )
    diagram.set(xlabel="mean confidence", ylabel="share right", title="reliability by height", ylim=(-0.02, 1.02))
    diagram.legend(fontsize=7)
    with whole_file(path) as fresh:
        figure.savefig(fresh, dpi=110, format="png")  # whatever the suffix
