"""The stage that trains: a recipe's samples, starting weights and schedule, for the loop of all trainings."""

import logging
from collections.abc import Sequence
from itertools import accumulate, chain
from pathlib import Path
from typing import Any

import torch

from plate_nets.countries import PlateScheme, load_scheme, load_schemes
from plate_nets.networks.checkpoint import WEIGHTS
from plate_nets.networks.country import CountryNet
from training import loop
from training.checkpoint import TrainingState
from training.country.samples import Samples as CountrySamples
from training.country.samples import load_real as load_known
from training.country.trainer import ARCHITECTURE, CountryTrainer, drawn_plates, known_crops
from training.reader.real import Example, load_foreign, load_real
from training.reader.samples import Samples
from training.reader.state import ReaderState
from training.reader.trainer import ReaderTrainer
from training.reader.validation import load_crops
from training.recipe.prepare import Examples, held_out
from training.recipe.recipe import DRAWN, NONE, PACKAGE, CountryRecipe, Phase, ReaderRecipe, Recipe, drawings

LAST = "last"
"""The folder of the weights at the end of a training."""


def begin(recipe: ReaderRecipe | CountryRecipe, out: Path, device: torch.device) -> TrainingState[Any]:
    """The starting weights of a recipe, or the state in which the training in ``out`` stopped.

    Raises:
        WeightsError: they cannot be used.
    """
    state = _reader(recipe, device) if recipe.network == "reader" else _country(recipe, device)
    if (out / loop.CHECKPOINT).exists():
        loop.continue_from(state, out)
    return state


def train(
    state: TrainingState[Any],
    name: str,
    recipe: ReaderRecipe | CountryRecipe,
    examples: Examples,
    out: Path,
    device: torch.device,
    workers: int,
) -> None:
    """Train the network of a recipe to the end; a finished training is not repeated.

    Raises:
        DatasetError: a photo does not open.
        OSError: the disk is full; the last checkpoint stays.
    """
    schedule = recipe.schedule
    budget = loop.Budget(schedule.steps, schedule.minutes)
    if (out / LAST).exists() and budget.progress(state) >= 1:
        return
    metadata = {"recipe": name, "seed": str(schedule.seed), "data": ", ".join(of_use(recipe, examples, "train"))}
    how: dict[str, Any] = {
        "device": device,
        "workers": workers,
        "rate": schedule.rate,
        "every": schedule.every,
        "metadata": metadata,
    }
    if recipe.network == "reader":
        assert isinstance(state, ReaderState), "as `begin` makes it"
        first, *later = _reader_samples(recipe, examples)
        validation = {each: load_crops(state.scheme, known) for each, known in choosing(recipe, examples).items()}
        then = list(zip(starts(recipe.phases), later, strict=True))
        ReaderTrainer(state, first, validation, budget, out, then=then, **how).run()
    else:
        schemes = load_schemes(recipe.scheme)
        learnt = (each for each in chain(*of_use(recipe, examples, "train").values()) if not each.held_out)
        samples = CountrySamples(schemes, load_known(schemes, learnt), batch=schedule.batch, seed=schedule.seed)
        known = known_sets(schemes, choosing(recipe, examples))
        CountryTrainer(state, samples, known, budget, out, **how).run()


def _reader(recipe: ReaderRecipe, device: torch.device) -> ReaderState:
    state = ReaderState(load_scheme(recipe.scheme), device, recipe.averaging.decay)
    kept = WEIGHTS if recipe.start.stn == "kept" else None
    if recipe.start.weights != NONE:
        state.start_from(_weights(recipe), kept)
    elif kept:
        state.start_beside(kept)
    return state


def _country(recipe: CountryRecipe, device: torch.device) -> TrainingState[CountryNet]:
    network: CountryNet = CountryNet().to(device)
    state = TrainingState(ARCHITECTURE, network, -1.0, decay=recipe.averaging.decay)
    if recipe.start.weights != NONE:
        state.take_over(_weights(recipe) / CountryTrainer.file)
    return state


def _weights(recipe: Recipe) -> Path:
    return WEIGHTS if recipe.start.weights == PACKAGE else Path(recipe.start.weights)


def _reader_samples(recipe: ReaderRecipe, examples: Examples) -> list[Samples]:
    """The samples of each phase."""
    scheme = load_scheme(recipe.scheme)
    real, others = (of_use(recipe, examples, use) for use in ("train", "foreign"))
    plates, empty = load_real(chain(*real.values()))
    foreign = load_foreign(chain(*others.values()))
    found = f"{len(plates)} real plates, {len(foreign)} foreign ones, {len(empty)} regions without a plate"
    logging.info(found)
    drawn = drawings(recipe)
    weights = {Path(each).name: recipe.data[each].weight for each in real} | {each.name: drawn[each] for each in drawn}
    return [
        Samples(
            scheme,
            plates,
            empty,
            batch=recipe.schedule.batch,
            seed=recipe.schedule.seed,
            mixture=phase.mixture,
            foreign=foreign,
            drawn=tuple(drawn),
            weights=weights,
        )
        for phase in recipe.phases or (Phase(share=1, mixture=recipe.mixture),)
    ]


def known_sets(schemes: Sequence[PlateScheme], examples: Examples) -> dict[str, Any]:
    """What CountryNet is measured on: the plates of data sets, and drawn ones."""
    known = {name: known_crops(name, load_known(schemes, plates)) for name, plates in examples.items()}
    return known | {DRAWN: drawn_plates(schemes)}


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
