"""`python -m training.detector.crop_margin`: how much around a box a crop should hold, measured by what is read."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import track
from rich.table import Table

from plate_nets.errors import PlateError
from plate_nets.evaluation.dataset import load_dataset, read_photo
from plate_nets.evaluation.detection_metrics import match
from plate_nets.evaluation.evaluate import boxes_of
from plate_nets.evaluation.reading_metrics import ReadPlate, summarize
from plate_nets.plates import default_scheme
from plate_nets.recognition.decoding import DecodingSettings
from plate_nets.recognition.detection import DetectionSettings
from plate_nets.recognition.geometry import crop_plates
from plate_nets.recognition.local import LocalReader

MARGINS = (0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3)
"""Shares of the box's height."""


def main(
    dataset: Annotated[Path, typer.Argument(help="Folder with images/ and labels.csv.")],
    plot: Annotated[Path, typer.Option(help="PNG with the curve.")],
) -> None:
    """Reads the detected plates of a labelled folder with margins of 0 to 0.3 of the box's height."""
    reader = LocalReader(runtime="torch", decoding=DecodingSettings(sure=0.0))
    read: dict[float, list[ReadPlate]] = {margin: [] for margin in MARGINS}
    try:
        photos = list(load_dataset(dataset, symbols=default_scheme().alphabet).photos())
    except PlateError as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(1) from error
    for path, labels in track(photos, "reading", console=Console(stderr=True), transient=True):
        photo = read_photo(path)
        boxes = boxes_of(reader.read(photo))
        pairs = [(row, labels[hit]) for row, hit in enumerate(match(boxes, boxes_of(labels))) if hit >= 0]
        pairs = [(row, label) for row, label in pairs if label.text]
        if not pairs:
            continue
        for margin, plates in read.items():
            readings = reader.read_crops(crop_plates(photo, boxes[[row for row, _ in pairs]], margin))
            for (_, label), reading in zip(pairs, readings, strict=True):
                plates.append(ReadPlate(path.name, label.text, label.box.height, reading))
    summaries = {margin: summarize(plates) for margin, plates in read.items()}
    table = Table("margin", "best reading exact", "characters", title=f"detected plates of {dataset.name}")
    for margin, summary in summaries.items():
        chosen = " (default)" if margin == DetectionSettings().crop_margin else ""
        table.add_row(f"{margin:.2f}{chosen}", str(summary.best_exact), f"{summary.characters:.4f}")
    Console().print(table)
    _save(plot, list(summaries), [summary.best_exact.value for summary in summaries.values()])


def _save(path: Path, margins: list[float], exact: list[float]) -> None:
    from matplotlib.figure import Figure  # late: takes a second to import

    figure = Figure(figsize=(5, 3.5), layout="constrained")
    axes = figure.subplots()
    axes.plot(margins, exact, marker="o")
    axes.axvline(DetectionSettings().crop_margin, linestyle=":", color="grey")
    axes.set(xlabel="margin, share of the box's height", ylabel="best reading exact", title="detected plates")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)


if __name__ == "__main__":
    typer.run(main)
