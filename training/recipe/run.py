"""A recipe from its data to weights that can be published, one stage after the other.

Each stage keeps its result in the run's folder. The same command goes on after an interruption, also on another
machine: prepared data and a finished training are not repeated.
"""

import copy
import logging
import shutil
from collections.abc import Sequence
from itertools import zip_longest
from pathlib import Path

from plate_nets.common.atomic_files import write_whole
from plate_nets.common.errors import InputError
from plate_nets.common.intake.files import read_text
from plate_nets.evaluation.dataset import labels_of
from training import loop
from training.recipe.networks import TASKS
from training.recipe.prepare import PREPARED, marks_of, prepare, write_held_out
from training.recipe.recipe import AnyRecipe
from training.recipe.report import Findings, read_figures, write_report

HELD_OUT, WEIGHTS, LAST = "held_out", "weights", "last"
"""Folders of a run: the plates that it does not learn, the weights to publish, and those at the end of the training."""
_LATER = {"read", "calibration", "quantization", "checks"}
"""Keys that are used after the training."""


def run(
    name: str, recipe: AnyRecipe, root: Path, out: Path, threads: int, workers: int, beside: Sequence[Path] = ()
) -> Findings:
    """Run a recipe on the data sets of a folder -> what was found, also in ``out``/report.html.

    ``beside``: folders of other runs, such as those with other seeds, whose figures the report compares.

    Raises:
        PlateError: the recipe, its data or its starting weights cannot be used.
        OSError: the disk is full; the same command goes on once there is room.
    """
    for each in recipe.data:
        labels_of(root / each)  # refuses a data set that is missing
    schedule, others = recipe.schedule, [read_figures(each) for each in beside]
    device = loop.prepare(out, threads, schedule.seed)
    note, learns = out / "recipe.json", recipe.model_dump_json(indent=1, exclude=_LATER) + marks_of(recipe, root)
    _check_same(note, learns)
    task = TASKS[recipe.network](recipe, root, out, device)
    state = task.begin(task.start)
    share = recipe.averaging.start if task.start else 0.0
    start = (copy.deepcopy(state.average.state_dict()), share) if share else None
    if (out / loop.CHECKPOINT).exists():
        state.load(out / loop.CHECKPOINT)
        logging.info("continuing at step %d", state.step)
    task.examples = prepare(recipe, root, out / PREPARED)
    if not (out / LAST).exists() or loop.progress_of(state, schedule) < 1:
        data = ", ".join(each for each, data in recipe.data.items() if data.use == "train")
        metadata = {"recipe": name, "seed": str(schedule.seed), "data": data}
        how = {"out": out, "device": device, "workers": workers, "metadata": metadata, "start": start}
        trainer = task.trainer(state, how | {"schedule": schedule})
        write_whole(note, learns.encode())  # what was refused until here may be corrected
        trainer.run()
    write_held_out(task.of_use("train"), root, out / HELD_OUT)
    found = Findings(name, recipe, str(device), state.step, state.seconds / 60, beside=others)
    found.measured = task.finish(Path(shutil.copytree(out / LAST, out / WEIGHTS, dirs_exist_ok=True)), found)
    logging.info("report: %s", write_report(found, out))
    return found


def _check_same(note: Path, learns: str) -> None:
    """Refuse to go on with a run that has learnt from something else."""
    if note.exists() and (begun := read_text(note)) != learns:
        pairs = zip_longest(begun.splitlines(), learns.splitlines(), fillvalue="")
        before, now = next((one.strip(" ,"), other.strip(" ,")) for one, other in pairs if one != other)
        raise InputError(
            f"{note.parent}: begun with {before}, now {now}; use the same settings, or another folder for --out"
        )
