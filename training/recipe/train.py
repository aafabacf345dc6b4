"""The stage that trains: a recipe's samples, starting weights and schedule, for the loop of all trainings."""

import logging
from collections.abc import Sequence
from itertools import accumulate, chain
from pathlib import Path

import torch

from plate_nets.networks.checkpoint import WEIGHTS
from plate_nets.plates import PlateScheme, load_scheme, load_schemes
from training import loop
from training.reader.real import Example, load_foreign, load_real
from training.reader.samples import Samples
from training.reader.state import ReaderState
from training.reader.trainer import ReaderTrainer
from training.reader.validation import load_crops
from training.recipe.prepare import Examples, held_out
from training.recipe.recipe import NONE, PACKAGE, Phase, Recipe, Start

LAST = "last"
"""The folder of the weights at the end of a training."""


def train(name: str, recipe: Recipe, examples: Examples, out: Path, device: torch.device, workers: int) -> ReaderState:
    """Train the reader of a recipe, or go on where the training in ``out`` stopped -> its state at the end.

    Raises:
        PlateError: the data or the starting weights cannot be used.
        OSError: the disk is full; the last checkpoint stays.
    """
    scheme, schedule = load_scheme(recipe.scheme), recipe.schedule
    state = ReaderState(scheme, device, recipe.averaging.decay)
    _start(state, recipe.start)
    if (out / loop.CHECKPOINT).exists():
        loop.continue_from(state, out)
    budget = loop.Budget(schedule.steps, schedule.minutes)
    if (out / LAST).exists() and budget.progress(state) >= 1:
        return state
    real, others = (of_use(recipe, examples, use) for use in ("train", "foreign"))
    plates, empty = load_real(chain(*real.values()))
    foreign = load_foreign(chain(*others.values()))
    found = f"{len(plates)} real plates, {len(foreign)} foreign ones, {len(empty)} regions without a plate"
    logging.info("%s; %s", found, device)
    drawn = drawings(scheme, recipe)
    weights = {Path(each).name: recipe.data[each].weight for each in real} | {each.name: drawn[each] for each in drawn}
    phases = recipe.phases or (Phase(share=1, mixture=recipe.mixture),)
    first, *later = (
        Samples(
            scheme,
            plates,
            empty,
            batch=schedule.batch,
            seed=schedule.seed,
            mixture=phase.mixture,
            foreign=foreign,
            drawn=tuple(drawn),
            weights=weights,
        )
        for phase in phases
    )
    ReaderTrainer(
        state,
        first,
        {each: load_crops(scheme, known) for each, known in choosing(recipe, examples).items()},
        budget,
        out,
        then=list(zip(starts(phases), later, strict=True)),
        device=device,
        workers=workers,
        rate=schedule.rate,
        every=schedule.every,
        metadata={"recipe": name, "seed": str(schedule.seed), "data": ", ".join(real)},
    ).run()
    return state


def of_use(recipe: Recipe, examples: Examples, use: str) -> Examples:
    """The plates of the data sets of one use."""
    return {name: examples[name] for name, data in recipe.data.items() if data.use == use}


def choosing(recipe: Recipe, examples: Examples) -> dict[str, list[Example]]:
    """The plates that are not learnt, but shape the weights: not those of sets that are only checked."""
    checked = of_use(recipe, examples, "check")
    return {name: plates for name, plates in held_out(examples).items() if name not in checked}


def starts(phases: Sequence[Phase]) -> list[float]:
    """The progress, 0..1, at which each phase after the first begins."""
    shares = [phase.share for phase in phases]
    return [end / sum(shares) for end in accumulate(shares)][:-1]


def drawings(scheme: PlateScheme, recipe: Recipe) -> dict[PlateScheme, float]:
    """The countries that a recipe draws, and how often each comes."""
    return {each: factor for names, factor in recipe.drawings.items() for each in load_schemes(names)} or {scheme: 1.0}


def _start(state: ReaderState, start: Start) -> None:
    kept = WEIGHTS if start.stn == "kept" else None
    if start.weights != NONE:
        state.start_from(WEIGHTS if start.weights == PACKAGE else Path(start.weights), kept)
    elif kept:
        state.start_beside(kept)
