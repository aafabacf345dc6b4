"""Makes a reader better on somebody's own plates: a recipe for them, and the figures before and after.

It is the recipe of the reader without its data sets: from the shipped weights, with its drawings and its mixture, so
that nothing is forgotten. `plates learn` is the command.
"""

import logging
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from plate_nets.common.cores import own_cores
from plate_nets.common.errors import DatasetError, InputError
from plate_nets.contract import reader_network
from plate_nets.countries import PlateScheme, load_scheme, load_schemes
from plate_nets.networks.checkpoint import WEIGHTS
from training import loop
from training.real import Example, readable
from training.recipe.load import BUILT_IN, load_recipe
from training.recipe.measure import Measured, TrainedReader, measure_reader
from training.recipe.prepare import PREPARED, held_out, prepare
from training.recipe.recipe import DRAWN, PACKAGE, Averaging, Calibration, DataSet, Quantization, ReaderRecipe, Schedule
from training.recipe.run import WEIGHTS as LEARNT
from training.recipe.run import run

HELD_OUT = 0.2
"""Share of the texts that only measure."""
FEWEST, FEWEST_HELD_OUT = 40, 8
"""Minimum number of plates to learn, and of those to measure with: with fewer, chance decides."""
FORGOTTEN = 0.005
"""The share of right drawings that a better reader may lose: 2 of `DRAWINGS`."""
DRAWINGS = 400
_REAL = 0.4
"""Share of the user's plates among the samples, fewer than the recipes' many."""
_RATE, _STEPS, _EVERY = 2e-4, 20_000, 200
"""Highest learning rate; steps that minutes of no machine reach; steps between two points of the curves."""
_START = 0.5
"""Weight of the shipped weights in the mean that is the result: without it, drawings are forgotten."""
_MOST = 4
"""Maximum number of processes that make samples: each takes memory."""


@dataclass(frozen=True)
class Change:
    """How plates were read before and after; figures as of `measure_reader`."""

    before: Measured
    after: Measured

    @property
    def gain(self) -> int:
        """How many more texts are right, less how many more are wrong."""
        return self._more("text") - self._more("wrong")

    @property
    def lost(self) -> float:
        """The share of the plates that were read right, sure or not, and are no longer."""
        return -self._more("best") / max(self.before.figures["best"].count, 1)

    def _more(self, figure: str) -> int:
        return self.after.figures[figure].hits - self.before.figures[figure].hits

    def __str__(self) -> str:
        def shown(figure: str) -> str:
            return f"{self.before.figures[figure].hits} -> {self.after.figures[figure].hits}"

        return f"{self.before.figures['text'].count} plates, right {shown('text')}, wrong {shown('wrong')}"


@dataclass(frozen=True)
class Learnt:
    """What a reader learnt: the file of its weights, and the changes on plates held back and on drawings."""

    network: str
    weights: Path
    own: Change
    drawn: Change

    @property
    def fault(self) -> str:
        if self.own.before.figures["text"].value == 1:
            return "all plates held back are read right already"
        if self.own.gain <= 0:
            return "the plates held back are read no better"
        if self.drawn.lost > FORGOTTEN:
            return f"the drawings are read worse, by {self.drawn.lost:.3f}; at most {FORGOTTEN} is allowed"
        return ""


def learn(folder: Path, scheme: str, minutes: float, out: Path) -> Learnt:
    """Train the reader of a scheme on a labelled folder -> what it learnt. ``out`` keeps the run, to go on with.

    If the reader is no better, its weights are not kept.

    Raises:
        InputError: several readers read the scheme, or none that learns; or ``out`` is of other plates.
        DatasetError: the folder cannot be used or has too few plates.
        OSError: the disk is full; the same command goes on once there is room.
    """
    root, name = folder.resolve().parent, folder.resolve().name
    recipe = recipe_for(scheme, name, minutes)
    processes = max(1, min(_MOST, own_cores() // 2))
    loop.prepare(out, processes, recipe.schedule.seed)
    examples = prepare(recipe, root, out / PREPARED)
    _check(folder, examples[name])
    known = held_out(examples)
    before = measure_reader(TrainedReader(recipe, WEIGHTS), known)
    perfect = before[name].figures["text"].value == 1
    after = before if perfect else run("learn", recipe, root, out, processes, processes).measured
    changes = {each: Change(before[each], after[each]) for each in known}
    network = reader_network(load_scheme(recipe.scheme))
    learnt = Learnt(network, out / LEARNT / f"{network}.safetensors", changes[name], changes[DRAWN])
    if learnt.fault:
        shutil.rmtree(out / LEARNT, ignore_errors=True)
    return learnt


def recipe_for(scheme: str, name: str, minutes: float) -> ReaderRecipe:
    """Countries to read, the name of a labelled folder and minutes -> the recipe that learns the folder."""
    schemes = load_schemes(scheme)
    recipe, country = _recipe_of(schemes, scheme), schemes[0].country if len(schemes) == 1 else ""
    mixture = (recipe.phases[-1].mixture if recipe.phases else recipe.mixture).model_copy(update={"real": _REAL})
    count = recipe.quantization.count if recipe.quantization else 1
    values = {
        "data": {name: DataSet(boxes="tight", held_out=HELD_OUT, country=country)},
        "read": scheme,
        "mixture": mixture,
        "phases": (),
        "start": recipe.start.model_copy(update={"weights": PACKAGE}),
        "schedule": Schedule(minutes=minutes, steps=_STEPS, rate=_RATE, every=_EVERY, seed=recipe.schedule.seed),
        "averaging": Averaging(start=_START),
        # The shipped temperature stays: one chosen on what was corrected, and so misread, makes all texts unsure.
        "calibration": Calibration(temperatures=(1.0,), drawn=DRAWINGS),
        "quantization": Quantization(pictures=(name, DRAWN), count=count),
        "checks": {},
    }
    return ReaderRecipe.model_validate(dict(recipe) | values)


def _recipe_of(schemes: Sequence[PlateScheme], named: str) -> ReaderRecipe:
    """The recipe of the reader of schemes."""
    alphabets = {each.trained_as for each in schemes}
    recipes = [load_recipe(path.stem) for path in sorted(BUILT_IN.glob("reader_*.toml"))]
    by_alphabet = {load_scheme(each.scheme).trained_as: each for each in recipes if isinstance(each, ReaderRecipe)}
    if len(alphabets) > 1:
        raise InputError(f"--scheme {named}: {len(alphabets)} readers read it; name countries of one, such as latin")
    (alphabet,) = alphabets
    if alphabet not in by_alphabet:
        raise InputError(f"--scheme {named}: no recipe makes its reader; expected {' or '.join(by_alphabet)}")
    return by_alphabet[alphabet]


def _check(folder: Path, plates: Sequence[Example]) -> None:
    """Say what is left out, and refuse too little."""
    usable = [each for each in plates if readable(each.label.text)]
    if silent := len(plates) - len(usable):
        logging.warning("left out %d plates of %s without a text, or with one that is too long", silent, folder)
    apart = sum(each.held_out for each in usable)
    if len(usable) - apart < FEWEST or apart < FEWEST_HELD_OUT:
        raise DatasetError(
            f"{folder}: {len(usable) - apart} plates to learn and {apart} of other texts to measure with are too few; "
            f"expected {FEWEST} and {FEWEST_HELD_OUT} at least, so correct some more"
        )
