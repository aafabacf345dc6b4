"""`plates evaluate --degrade`: how well distant and strongly compressed plates are read."""

from pathlib import Path

from rich.console import Console
from rich.progress import track

from plate_nets.cli.output import write_figures
from plate_nets.evaluation.dataset import Dataset
from plate_nets.evaluation.degradation import evaluate_degraded
from plate_nets.evaluation.degradation_report import (
    degradation_figures,
    gate_figures,
    print_degradation,
    save_degradation,
)
from plate_nets.evaluation.reading_metrics import withdraw_unsure
from plate_nets.recognition.local import LocalReader


def report_degraded(
    labelled: Dataset, reader: LocalReader, sure: float, json_file: Path | None, curves: Path | None
) -> None:
    """Read every labelled plate of a folder in every cell; print the tables, and write the figures and the plot.

    ``reader`` must return every text; those below ``sure`` are withdrawn here.
    """
    console = Console(stderr=str(json_file) == "-")
    photos = track(list(labelled.photos()), "degrading and reading", console=Console(stderr=True), transient=True)
    cells = evaluate_degraded(photos, reader.cut, reader.read_crops)
    gates = gate_figures(cells)
    for cell in cells:
        cell.plates = withdraw_unsure(cell.plates, sure)
    values = degradation_figures(cells) | {"gates": gates}
    print_degradation(console, values)
    write_figures(json_file, values)
    if curves is not None:
        save_degradation(curves, cells)
        console.print(f"plot: {curves}")
