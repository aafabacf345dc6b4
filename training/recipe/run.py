"""A recipe from its data to weights that can be published, one stage after the other.

Each stage keeps its result in the run's folder. The same command goes on after an interruption, also on another
machine: prepared data and a finished training are not repeated.
"""

import logging
import shutil
from itertools import chain, zip_longest
from pathlib import Path

from plate_nets.common.atomic_files import write_whole
from plate_nets.common.errors import InputError
from plate_nets.common.intake.files import read_text
from training import loop
from training.quantize import quantize
from training.recipe.calibrate import calibrations, fold, outputs_of
from training.recipe.measure import TrainedReader, measure_country, measure_reader
from training.recipe.prepare import Examples, folder_of, held_out, marks_of, prepare, write_held_out
from training.recipe.recipe import CountryRecipe, ReaderRecipe
from training.recipe.report import Findings, write_report
from training.recipe.train import LAST, begin, choosing, of_use, train

PREPARED, HELD_OUT, WEIGHTS = "prepared", "held_out", "weights"
"""Folders of a run: the tables of its data, the plates that it does not learn, and the weights to publish."""
_LATER = {"read", "calibration", "quantization", "checks"}
"""Keys that are used after the training."""


def run(name: str, recipe: ReaderRecipe | CountryRecipe, root: Path, out: Path, threads: int, workers: int) -> Findings:
    """Run a recipe on the data sets of a folder -> what was found, also in ``out``/report.html.

    Raises:
        PlateError: the recipe, its data or its starting weights cannot be used.
        OSError: the disk is full; the same command goes on once there is room.
    """
    device = loop.prepare(out, threads, recipe.schedule.seed)
    note, learns = out / "recipe.json", recipe.model_dump_json(indent=1, exclude=_LATER) + marks_of(recipe, root)
    _check_same(note, learns)
    state = begin(recipe, out, device)
    examples = prepare(recipe, root, out / PREPARED)
    write_whole(note, learns.encode())
    train(state, name, recipe, examples, out, device, workers)
    found = Findings(name, recipe, str(device), state.step, state.seconds / 60)

    write_held_out(of_use(recipe, examples, "train"), root, out / HELD_OUT)
    weights = Path(shutil.copytree(out / LAST, out / WEIGHTS, dirs_exist_ok=True))
    if recipe.network == "reader":
        published = TrainedReader(recipe, weights)
        _finish(recipe, TrainedReader(recipe, out / LAST), published, examples, root, found)
        found.measured = measure_reader(published, held_out(examples))
    else:
        found.measured = measure_country(recipe, weights, held_out(examples))
    logging.info("report: %s", write_report(found, out))
    return found


def _finish(
    recipe: ReaderRecipe,
    trained: TrainedReader,
    published: TrainedReader,
    examples: Examples,
    root: Path,
    found: Findings,
) -> None:
    """Calibrate a trained reader, and measure the ranges for int8."""
    if recipe.calibration and (known := choosing(recipe, examples)):
        outputs = outputs_of(trained, chain(*known.values()))
        found.calibrations = calibrations(trained.scheme, outputs, recipe.calibration.temperatures)
        found.temperature = min(found.calibrations, key=lambda each: each.surprise).temperature
        fold(trained, found.temperature, published.folder)
        logging.info("temperature: %g", found.temperature)
    if recipe.quantization:
        prepared = published.folder.parent / PREPARED
        folders = [folder_of(each, recipe, root, prepared) / "images" for each in recipe.quantization.pictures]
        count, networks = recipe.quantization.count, lambda: published.networks
        found.quantized = quantize(published.weights, published.name, folders, count, published.schemes, networks)
        logging.info("int8: %s", found.quantized)


def _check_same(note: Path, learns: str) -> None:
    """Refuse to go on with a run that has learnt from something else."""
    if note.exists() and (begun := read_text(note)) != learns:
        pairs = zip_longest(begun.splitlines(), learns.splitlines(), fillvalue="")
        before, now = next((one.strip(" ,"), other.strip(" ,")) for one, other in pairs if one != other)
        raise InputError(
            f"{note.parent}: begun with {before}, now {now}; use the same settings, or another folder for --out"
        )
