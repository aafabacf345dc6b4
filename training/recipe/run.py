"""A recipe from its data to weights that can be published, one stage after the other.

Each stage keeps its result in the run's folder. The same command goes on after an interruption, also on another
machine: prepared data and a finished training are not repeated.
"""

import logging
import shutil
from itertools import zip_longest
from pathlib import Path

from plate_nets.errors import InputError
from plate_nets.intake.files import read_text
from plate_nets.whole_file import write_whole
from training import loop
from training.quantize import quantize
from training.recipe.calibrate import calibrations, fold, outputs_of
from training.recipe.measure import TrainedReader, measure
from training.recipe.prepare import held_out, prepare
from training.recipe.recipe import Recipe
from training.recipe.report import Findings, write_report
from training.recipe.train import LAST, choosing, train

PREPARED, WEIGHTS = "prepared", "weights"
"""Folders of a run: the tables of its data, and the weights to publish."""


def run(name: str, recipe: Recipe, root: Path, out: Path, threads: int, workers: int) -> Findings:
    """Run a recipe on the data sets of a folder -> what was found, also in ``out``/report.html.

    Raises:
        PlateError: the recipe, its data or its starting weights cannot be used.
        OSError: the disk is full; the same command goes on once there is room.
    """
    device = loop.prepare(out, threads, recipe.schedule.seed)
    for chatty in ("plate_nets.runtimes", "tensorboard"):
        logging.getLogger(chatty).setLevel(logging.WARNING)
    _begin(recipe, out / "recipe.json")
    examples = prepare(recipe, root, out / PREPARED)
    state = train(name, recipe, examples, out, device, workers)
    found = Findings(name, recipe, str(device), state.step, state.seconds / 60)

    trained, published = (TrainedReader(recipe, out / folder) for folder in (LAST, WEIGHTS))
    shutil.copytree(trained.folder, published.folder, dirs_exist_ok=True)
    if recipe.calibration and (known := choosing(recipe, examples)):
        outputs = outputs_of(trained, known)
        found.calibrations = calibrations(trained.scheme, outputs, recipe.calibration.temperatures)
        found.temperature = min(found.calibrations, key=lambda each: each.surprise).temperature
        fold(trained, found.temperature, published.folder)
        logging.info("temperature: %g", found.temperature)
    if recipe.quantization:
        folders = [root / each / "images" for each in recipe.quantization.pictures]
        count, schemes = recipe.quantization.count, published.schemes
        found.quantized = quantize(
            published.weights, published.name, folders, count, schemes, lambda: published.networks
        )
        logging.info("int8: %s", found.quantized)
    found.measured = measure(published, held_out(examples))
    logging.info("report: %s", write_report(found, out))
    return found


def _begin(recipe: Recipe, path: Path) -> None:
    """Note what a run learns from, or refuse to go on with something else."""
    written = recipe.model_dump_json(indent=1, exclude={"read", "calibration", "quantization", "checks"})
    if path.exists() and (begun := read_text(path)) != written:
        pairs = zip_longest(begun.splitlines(), written.splitlines(), fillvalue="")
        before, now = next((one.strip(" ,"), other.strip(" ,")) for one, other in pairs if one != other)
        raise InputError(
            f"{path.parent}: begun with {before}, now {now}; use the same settings, or another folder for --out"
        )
    write_whole(path, written.encode())
