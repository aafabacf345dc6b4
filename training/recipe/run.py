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
from plate_nets.contract import CORNERS, YOLO
from plate_nets.countries import main_scheme
from training import loop
from training.corners.plate_head import teach_head
from training.corners.trainer import CornerTrainer
from training.detector.pictures import pictures_of
from training.detector.trainer import Detection
from training.quantize import converted, quantize
from training.recipe.calibrate import calibrations, fold, outputs_of
from training.recipe.measure import TrainedReader, measure_corners, measure_country, measure_detector, measure_reader
from training.recipe.prepare import PREPARED, Examples, folder_of, held_out, marks_of, prepare, write_held_out
from training.recipe.recipe import AnyRecipe, CornersRecipe, CountryRecipe, DetectorRecipe, ReaderRecipe
from training.recipe.report import Findings, write_report
from training.recipe.train import LAST, begin, choosing, of_use, train

HELD_OUT, WEIGHTS = "held_out", "weights"
"""Folders of a run: the plates that it does not learn, and the weights to publish."""
_LATER = {"read", "calibration", "quantization", "checks"}
"""Keys that are used after the training."""


def run(name: str, recipe: AnyRecipe, root: Path, out: Path, threads: int, workers: int) -> Findings:
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
    train(state, name, recipe, examples, root, out, device, workers)
    found = Findings(name, recipe, str(device), state.step, state.seconds / 60)

    write_held_out(of_use(recipe, examples, "train"), root, out / HELD_OUT)
    weights = Path(shutil.copytree(out / LAST, out / WEIGHTS, dirs_exist_ok=True))
    match recipe:
        case ReaderRecipe():
            reader = TrainedReader(recipe, weights)
            _calibrate(recipe, TrainedReader(recipe, out / LAST), reader, examples, found)
            _quantize(recipe, reader.weights, reader.name, root, out, found, reader)
            found.measured = measure_reader(reader, held_out(examples))
        case CountryRecipe():
            found.measured = measure_country(recipe, weights, held_out(examples))
        case CornersRecipe():
            if recipe.plate_head:
                apart = {each.label.photo for plates in examples.values() for each in plates if each.held_out}
                photos = (each for name in of_use(recipe, examples, "train") for each in pictures_of(root / name))
                head, learnt = recipe.plate_head, [each for each in photos if each.photo not in apart]
                logging.info(teach_head(learnt, weights / CornerTrainer.file, head.rendered, head.epochs))
            _quantize(recipe, weights / CornerTrainer.file, CORNERS.name, root, out, found)
            found.measured = measure_corners(weights, held_out(examples))
        case DetectorRecipe():
            _quantize(recipe, weights / Detection.file, YOLO.name, root, out, found)
            found.measured = measure_detector(recipe, weights, root)
    logging.info("report: %s", write_report(found, out))
    return found


def _calibrate(
    recipe: ReaderRecipe, trained: TrainedReader, published: TrainedReader, examples: Examples, found: Findings
) -> None:
    """Choose the temperature of a trained reader."""
    if recipe.calibration and (known := choosing(recipe, examples)):
        outputs = outputs_of(trained, chain(*known.values()))
        found.calibrations = calibrations(trained.scheme, outputs, recipe.calibration.temperatures)
        found.temperature = min(found.calibrations, key=lambda each: each.surprise).temperature
        fold(trained, found.temperature, published.folder)
        logging.info("temperature: %g", found.temperature)


def _quantize(
    recipe: ReaderRecipe | CornersRecipe | DetectorRecipe,
    weights: Path,
    network: str,
    root: Path,
    out: Path,
    found: Findings,
    reader: TrainedReader | None = None,
) -> None:
    """Measure the ranges of a network for int8."""
    if recipe.quantization:
        folders = [folder_of(each, recipe, root, out / PREPARED) / "images" for each in recipe.quantization.pictures]
        schemes, networks = (reader.schemes, lambda: reader.networks) if reader else ([main_scheme()], converted)
        found.quantized = quantize(weights, network, folders, recipe.quantization.count, schemes, networks)
        logging.info("int8: %s", found.quantized)


def _check_same(note: Path, learns: str) -> None:
    """Refuse to go on with a run that has learnt from something else."""
    if note.exists() and (begun := read_text(note)) != learns:
        pairs = zip_longest(begun.splitlines(), learns.splitlines(), fillvalue="")
        before, now = next((one.strip(" ,"), other.strip(" ,")) for one, other in pairs if one != other)
        raise InputError(
            f"{note.parent}: begun with {before}, now {now}; use the same settings, or another folder for --out"
        )
