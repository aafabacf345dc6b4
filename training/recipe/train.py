"""The stage that trains: a recipe's samples, starting weights and schedule, for the loop of all trainings."""

import logging
from collections.abc import Iterator, Sequence
from itertools import accumulate, chain
from pathlib import Path
from typing import Any

import torch

from plate_nets.countries import PlateScheme, load_scheme, load_schemes
from plate_nets.networks.checkpoint import WEIGHTS
from plate_nets.networks.country import CountryNet
from training import loop
from training.checkpoint import TrainingState
from training.corners.samples import Samples as CornerSamples
from training.corners.sources import load_sources
from training.corners.trainer import CornerTrainer, corner_state, load_corners
from training.country.samples import Samples as CountrySamples
from training.country.samples import load_real as load_known
from training.country.trainer import ARCHITECTURE, CountryTrainer, drawn_plates, known_crops
from training.detector.trainer import Detection, detector_state
from training.reader.samples import Samples
from training.reader.state import ReaderState
from training.reader.trainer import ReaderTrainer
from training.reader.validation import load_crops
from training.real import Example, cut_outs, empty_regions, readable
from training.recipe.detector import views
from training.recipe.prepare import PREPARED, Examples, held_out
from training.recipe.recipe import (
    DRAWN,
    NONE,
    PACKAGE,
    AnyRecipe,
    CornersRecipe,
    CountryRecipe,
    DetectorRecipe,
    Phase,
    ReaderRecipe,
    Recipe,
    drawings,
)

LAST = "last"
"""The folder of the weights at the end of a training."""


def begin(recipe: AnyRecipe, out: Path, device: torch.device) -> TrainingState[Any]:
    """The starting weights of a recipe, or the state in which the training in ``out`` stopped.

    Raises:
        WeightsError: they cannot be used.
    """
    decay = recipe.averaging.decay
    weights = None if recipe.start.weights == NONE else _weights(recipe)
    state: TrainingState[Any]
    match recipe:
        case ReaderRecipe():
            state = _reader(recipe, device)
        case CountryRecipe():
            state = country_state(device, weights and weights / CountryTrainer.file, decay)
        case CornersRecipe():
            state = corner_state(device, weights and weights / CornerTrainer.file, decay)
        case DetectorRecipe():
            state = detector_state(device, weights and weights / Detection.file, decay)
    if (out / loop.CHECKPOINT).exists():
        loop.continue_from(state, out)
    return state


def train(
    state: TrainingState[Any],
    name: str,
    recipe: AnyRecipe,
    examples: Examples,
    root: Path,
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
    learnt = ", ".join(each for each, data in recipe.data.items() if data.use == "train")
    how: dict[str, Any] = {
        "device": device,
        "workers": workers,
        "rate": schedule.rate,
        "every": schedule.every,
        "metadata": {"recipe": name, "seed": str(schedule.seed), "data": learnt},
    }
    match recipe:
        case ReaderRecipe():
            assert isinstance(state, ReaderState), "as `begin` makes it"
            first, *later = _reader_samples(recipe, examples)
            crops = {each: load_crops(state.scheme, known) for each, known in choosing(recipe, examples).items()}
            then = list(zip(starts(recipe.phases), later, strict=True))
            ReaderTrainer(state, first, crops, budget, out, then=then, **how).run()
        case CountryRecipe():
            schemes = load_schemes(recipe.scheme)
            real = load_known(schemes, chain(*_learnt(recipe, examples)))
            samples = CountrySamples(schemes, real, batch=schedule.batch, seed=schedule.seed)
            known = known_sets(schemes, choosing(recipe, examples))
            CountryTrainer(state, samples, known, budget, out, **how).run()
        case CornersRecipe():
            sources, chances = load_sources(chain(*_learnt(recipe, examples)))
            logging.info("%d plates with corners", len(sources))
            windows = CornerSamples(sources, chances, batch=schedule.batch, seed=schedule.seed, mixture=recipe.mixture)
            corners = {each: load_corners(known) for each, known in choosing(recipe, examples).items()}
            CornerTrainer(state, windows, corners, budget, out, **how).run()
        case DetectorRecipe():
            pictures, looks = views(recipe, root, out / PREPARED)
            Detection(state, pictures, looks, budget, out, **how).run()


def _learnt(recipe: Recipe, examples: Examples) -> Iterator[list[Example]]:
    """The plates of each data set that are learnt."""
    for plates in of_use(recipe, examples, "train").values():
        yield [each for each in plates if not each.held_out]


def _reader(recipe: ReaderRecipe, device: torch.device) -> ReaderState:
    state = ReaderState(load_scheme(recipe.scheme), device, recipe.averaging.decay)
    kept = WEIGHTS if recipe.start.stn == "kept" else None
    if recipe.start.weights != NONE:
        state.start_from(_weights(recipe), kept)
    elif kept:
        state.start_beside(kept, recipe.start.features)
    return state


def country_state(device: torch.device, weights: Path | None, decay: float) -> TrainingState[CountryNet]:
    """The state for CountryNet, starting from weights or from nothing."""
    network: CountryNet = CountryNet().to(device)
    state = TrainingState(ARCHITECTURE, network, decay=decay)
    if weights:
        state.take_over(weights)
    return state


def _weights(recipe: Recipe) -> Path:
    return WEIGHTS if recipe.start.weights == PACKAGE else Path(recipe.start.weights)


def _reader_samples(recipe: ReaderRecipe, examples: Examples) -> list[Samples]:
    """The samples of each phase."""
    scheme = load_scheme(recipe.scheme)
    real, others = (of_use(recipe, examples, use) for use in ("train", "foreign"))
    learnt = list(chain(*real.values()))
    plates = [plate for _, plate in cut_outs(learnt, lambda each: readable(each.symbols) and not each.held_out)]
    foreign, empty = [plate for _, plate in cut_outs(chain(*others.values()))], empty_regions(learnt)
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
    return {name: examples[name] for name, data in recipe.data.items() if data.use == use and name in examples}


def choosing(recipe: Recipe, examples: Examples) -> dict[str, list[Example]]:
    """The plates that are not learnt, but shape the weights: not those of sets that are only checked."""
    checked = of_use(recipe, examples, "check")
    return {name: plates for name, plates in held_out(examples).items() if name not in checked}


def starts(phases: Sequence[Phase]) -> list[float]:
    """The progress, 0..1, at which each phase after the first begins."""
    shares = [phase.share for phase in phases]
    return [end / sum(shares) for end in accumulate(shares)][:-1]
