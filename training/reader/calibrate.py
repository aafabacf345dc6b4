"""`python -m training.reader.calibrate`: calibrates the reader's confidences.

A reader that has memorised its training plates is too sure elsewhere. Dividing its logits by one number, the
temperature, corrects this (Guo et al., "On Calibration of Modern Neural Networks", 2017). The number is folded into the
weights of the last layer, so nothing that uses them needs to know it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import torch
import typer
from rich.console import Console
from rich.progress import track
from rich.table import Table

from plate_nets.common.errors import DatasetError, WeightsError
from plate_nets.contract import LPRNET, STN
from plate_nets.countries import default_scheme
from plate_nets.evaluation.calibration import calibration_error, log_loss, reliability
from plate_nets.evaluation.dataset import load_dataset, read_photo
from plate_nets.evaluation.evaluate import boxes_of
from plate_nets.evaluation.reading_metrics import ReadPlate
from plate_nets.networks.checkpoint import WEIGHTS, read_metadata, save_weights
from plate_nets.networks.lprnet import LPRNet
from plate_nets.networks.registry import NETWORKS
from plate_nets.recognition.decoding import DecodingSettings, PlateDecoder
from plate_nets.recognition.local import LocalReader
from plate_nets.recognition.quads import lines_of
from plate_nets.types import Lines, Logits
from training.command import errors_in_one_line

TEMPERATURES = (0.8, 0.9, 1.0, 1.1, 1.2, 1.3, 1.4, 1.6, 1.8, 2.0)
SURE = 0.9
"""Of the texts with at least this confidence, 0.99 should be right."""


@dataclass(frozen=True)
class LabelledLogits:
    """The reader's output for N plates of a folder, and their labels."""

    folder: str
    texts: Sequence[str]
    logits: Logits
    lines: Lines


def outputs_of(folder: Path, networks: Path) -> LabelledLogits:
    """A labelled folder -> the logits of its plates, cropped by their labelled boxes as the server would.

    Raises:
        PlateError: the folder or the weights cannot be used.
    """
    scheme = default_scheme()
    stn, lprnet = (
        NETWORKS[name].load(scheme, networks / f"{name}.safetensors").eval() for name in (STN.name, LPRNET.name)
    )
    cutter = LocalReader(runtime="torch")
    texts: list[str] = []
    logits: list[Logits] = []
    lines: list[Lines] = []
    photos = list(load_dataset(folder, symbols=scheme.alphabet).photos())
    for path, labels in track(photos, folder.name, console=Console(stderr=True), transient=True):
        readable = [label for label in labels if label.text]
        if readable:
            cut = cutter.cut(read_photo(path), boxes_of(readable))
            with torch.inference_mode():
                logits.append(lprnet(stn(torch.from_numpy(cut.crops))).numpy())
            lines.append(lines_of(cut.corners.reshape(-1, 4, 2)))
            texts += [label.text for label in readable]
    if not texts:
        raise DatasetError(f"{folder}: expected plates with a text, found none")
    return LabelledLogits(folder.name, texts, np.concatenate(logits), np.concatenate(lines))


def read_at(labelled: LabelledLogits, temperature: float) -> list[ReadPlate]:
    """The readings at a temperature, sure or not."""
    decoder = PlateDecoder(default_scheme(), DecodingSettings(sure=0.0))
    readings = decoder.decode(labelled.logits / temperature, labelled.lines)
    return [ReadPlate("", text, 0.0, reading) for text, reading in zip(labelled.texts, readings, strict=True)]


def surprise(plates: Sequence[ReadPlate]) -> float:
    """Mean negative log-likelihood of "right" and "wrong" by the confidence of each text.

    Raises:
        WeightsError: there is no text.
    """
    outcomes = [(plate.reading.confidence, plate.exact) for plate in plates if plate.reading and plate.text]
    if not outcomes:
        raise WeightsError(f"the reader reads none of {len(plates)} plates, so there is no confidence to calibrate")
    return log_loss(outcomes)


@errors_in_one_line()
def main(
    data: Annotated[list[Path], typer.Argument(help="Labelled folders that the reader was not trained on.")],
    out: Annotated[Path | None, typer.Option(help="Folder for the weights with the best temperature.")] = None,
    networks: Annotated[
        Path,
        typer.Option(
            help="Folder with stn.safetensors and lprnet.safetensors. Default: the package's.", show_default=False
        ),
    ] = WEIGHTS,
    temperature: Annotated[
        float | None, typer.Option(help="Use this temperature instead of the one that is best on DATA.")
    ] = None,
    check: Annotated[list[Path], typer.Option(help="Folder to measure too, but not to choose by. Repeatable.")] = [],  # noqa: B006
    threads: Annotated[int, typer.Option(min=1, help="CPU threads of the networks.")] = 1,
) -> None:
    """Print how well each temperature calibrates the reader; with --out, write the reader with the best one."""
    torch.set_num_threads(threads)
    console = Console(width=140)
    chosen, shown = ([outputs_of(folder, networks) for folder in folders] for folders in (data, check))
    means = [np.mean([surprise(read_at(labelled, each)) for labelled in chosen]) for each in TEMPERATURES]
    best = TEMPERATURES[int(np.argmin(means))] if temperature is None else temperature
    for labelled in (*chosen, *shown):
        console.print(_table(labelled))
    console.print(f"temperature {best:g}")
    if out is not None:
        write(networks, out, best)


def write(networks: Path, out: Path, temperature: float) -> None:
    """Write the reader of a folder, its logits divided by a temperature, to another folder."""
    scheme = default_scheme()
    out.mkdir(parents=True, exist_ok=True)
    for name in (STN.name, LPRNET.name):
        path = networks / f"{name}.safetensors"
        network, metadata = NETWORKS[name].load(scheme, path), read_metadata(path)
        if isinstance(network, LPRNet):
            with torch.no_grad():
                network.classes.weight.div_(temperature)
                network.classes.bias.div_(temperature)
            metadata["temperature"] = f"{float(metadata.get('temperature', 1)) * temperature:g}"
        save_weights(network, out / path.name, metadata, NETWORKS[name].scheme_of_weights(scheme))


def _table(labelled: LabelledLogits) -> Table:
    columns = ("surprise", "calibration error", f"texts at {SURE:g}", "right among them", "at 0.8", "right")
    table = Table("temperature", *columns, title=f"{labelled.folder}, {len(labelled.texts)} plates")
    for temperature in TEMPERATURES:
        plates = read_at(labelled, temperature)
        cells = [f"{temperature:g}", f"{surprise(plates):.4f}", f"{calibration_error(reliability(plates)):.4f}"]
        for least in (SURE, 0.8):
            given = [plate for plate in plates if plate.text and plate.reading and plate.reading.confidence >= least]
            cells += [str(len(given)), f"{sum(plate.exact for plate in given) / max(len(given), 1):.4f}"]
        table.add_row(*cells)
    return table


if __name__ == "__main__":
    typer.run(main)
