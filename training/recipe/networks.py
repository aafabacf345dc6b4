"""What differs between the networks: where they start, what they learn from, and what is measured in the end."""

import logging
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate, chain
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np
import torch

from plate_nets.common.errors import InputError
from plate_nets.contract import YOLO
from plate_nets.countries import PlateScheme, load_scheme, load_schemes, main_scheme
from plate_nets.countries.designs import DESIGNS
from plate_nets.evaluation.detection_metrics import found as hits_of
from plate_nets.evaluation.reading_metrics import Share
from plate_nets.networks.checkpoint import WEIGHTS, load_weights
from plate_nets.networks.corners import CornerNet
from plate_nets.networks.country import CountryNet
from plate_nets.networks.registry import NETWORKS, YOLO_FAST
from plate_nets.networks.runtimes.torchscript import forward
from plate_nets.networks.yolov5 import YOLOv5n
from plate_nets.recognition.detection import DetectionSettings
from training.checkpoint import TrainingState
from training.corners.plate_head import teach_head
from training.corners.samples import Samples as CornerSamples
from training.corners.samples import load_sources
from training.corners.trainer import CornerTrainer, LabelledCorners, corner_state, errors_of, found_by, load_corners
from training.country.samples import Samples as CountrySamples
from training.country.samples import load_real
from training.country.trainer import CountryTrainer, country_state, drawn_plates, known_crops, shares
from training.detector.drawn import draw
from training.detector.objects import Objects
from training.detector.pictures import pictures_of, split_photos
from training.detector.teach import PlateTeacher, VehicleTeacher, teach
from training.detector.trainer import Detection, Distillation, detector_state, measured
from training.detector.views import Views, of_drawn, of_photos
from training.loop import Trainer
from training.quantize import converted, quantize
from training.reader.samples import Samples as ReaderSamples
from training.reader.state import ReaderState
from training.reader.trainer import ReaderTrainer, load_crops
from training.real import Example, cut_outs, empty_regions, readable
from training.recipe.calibrate import calibrations, fold, outputs_of
from training.recipe.measure import Measured, TrainedReader, measure_reader
from training.recipe.prepare import PREPARED, Examples, folder_of, held_out
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
    drawings,
)
from training.recipe.report import Findings
from training.recipe.worst import WORST, displaced, missed, read_as

NEAR = 0.15
"""Maximum error of a corner that is near, in plate heights."""
R = TypeVar("R", bound=AnyRecipe)


@dataclass
class Task(ABC, Generic[R]):
    """A network to train by a recipe on the data sets in ``root``; ``out`` is the folder of the run.

    ``examples``: the prepared plates, once they are.
    """

    recipe: R
    root: Path
    out: Path
    device: torch.device
    examples: Examples = field(default_factory=dict)

    @abstractmethod
    def begin(self, weights: Path | None) -> TrainingState[Any]:
        """The state at the start, from a folder of weights or from nothing.

        Raises:
            WeightsError: they cannot be used.
            InputError: the recipe does not suit the network.
        """

    @abstractmethod
    def trainer(self, state: Any, how: Mapping[str, Any]) -> Trainer[Any, Any, Any]:
        """What trains the state; ``how``: the arguments of all trainers."""

    @abstractmethod
    def finish(self, weights: Path, found: Findings) -> Mapping[str, Measured]:
        """What follows the training: the folder of its weights is completed, and what they reach is measured."""

    @property
    def start(self) -> Path | None:
        named = self.recipe.start.weights
        return None if named == NONE else WEIGHTS if named == PACKAGE else Path(named)

    def of_use(self, use: str) -> Examples:
        """The plates of the data sets of one use."""
        data = self.recipe.data
        return {name: self.examples[name] for name in data if data[name].use == use and name in self.examples}

    @property
    def learnt(self) -> list[Example]:
        return [each for each in chain(*self.of_use("train").values()) if not each.held_out]

    @property
    def choosing(self) -> dict[str, list[Example]]:
        """The plates that are not learnt, but shape the weights: not those of sets that are only checked."""
        checked = self.of_use("check")
        return {name: plates for name, plates in held_out(self.examples).items() if name not in checked}

    def check_parts(self, network: torch.nn.Module) -> None:
        """Check the names of what int8 leaves out, which would otherwise fail only after the training.

        Raises:
            InputError: the network has no such part.
        """
        quantization, parts = getattr(self.recipe, "quantization", None), [name for name, _ in network.named_children()]
        for name in quantization.left_out if quantization else ():
            if name not in parts:
                raise InputError(f"quantization.left_out: expected some of {', '.join(parts)}, got {name!r}")

    def quantize(self, weights: Path, network: str, found: Findings, reader: TrainedReader | None = None) -> None:
        if quantization := getattr(self.recipe, "quantization", None):
            prepared = self.out / PREPARED
            folders = [folder_of(each, self.recipe, self.root, prepared) / "images" for each in quantization.pictures]
            schemes, networks = (reader.schemes, lambda: reader.networks) if reader else ([main_scheme()], converted)
            found.quantized = quantize(
                weights, network, folders, quantization.count, schemes, networks, quantization.left_out
            )
            logging.info("int8: %s", found.quantized)


class ReaderTask(Task[ReaderRecipe]):
    def begin(self, weights: Path | None) -> ReaderState:
        """The reader, beside the package's STN if it is kept."""
        start = self.recipe.start
        state = ReaderState(load_scheme(self.recipe.scheme), self.device, self.recipe.averaging.decay)
        self.check_parts(state.network.lprnet)
        beside = WEIGHTS if start.stn == "kept" else None
        if weights:
            state.start_from(weights, beside)
        elif beside:
            state.start_beside(beside, start.features)
        return state

    def trainer(self, state: ReaderState, how: Mapping[str, Any]) -> ReaderTrainer:
        recipe, drawn = self.recipe, drawings(self.recipe)
        real = self.of_use("train")
        plates = [plate for _, plate in cut_outs(self.learnt, lambda each: readable(each.symbols))]
        foreign = [plate for _, plate in cut_outs(chain(*self.of_use("foreign").values()))]
        empty = empty_regions(chain(*real.values()))
        found = f"{len(plates)} real plates, {len(foreign)} foreign ones, {len(empty)} regions without a plate"
        logging.info(found)
        weights = {Path(name).name: recipe.data[name].weight for name in real}
        first, *later = (
            ReaderSamples(
                state.scheme,
                plates,
                empty,
                batch=recipe.schedule.batch,
                seed=recipe.schedule.seed,
                mixture=phase.mixture,
                foreign=foreign,
                drawn=tuple(drawn),
                weights=weights | {each.name: drawn[each] for each in drawn},
            )
            for phase in recipe.phases or (Phase(share=1, mixture=recipe.mixture),)
        )
        crops = {name: load_crops(state.scheme, known) for name, known in self.choosing.items()}
        then = list(zip(starts(recipe.phases), later, strict=True))
        return ReaderTrainer(state, first, crops, then=then, **how)

    def finish(self, weights: Path, found: Findings) -> Mapping[str, Measured]:
        reader, calibration = TrainedReader(self.recipe, weights), self.recipe.calibration
        if calibration and (known := self.choosing):
            outputs = outputs_of(reader, chain(*known.values()))
            found.calibrations = calibrations(reader.scheme, outputs, calibration.temperatures)
            found.temperature = min(found.calibrations, key=lambda each: each.surprise).temperature
            fold(reader, found.temperature, weights)
            logging.info("temperature: %g", found.temperature)
            reader = TrainedReader(self.recipe, weights)
        self.quantize(reader.weights, reader.name, found, reader)
        return measure_reader(reader, held_out(self.examples))


class CountryTask(Task[CountryRecipe]):
    @cached_property
    def schemes(self) -> Sequence[PlateScheme]:
        return load_schemes(self.recipe.scheme)

    def begin(self, weights: Path | None) -> TrainingState[CountryNet]:
        return country_state(self.device, weights and weights / CountryTrainer.file, self.recipe.averaging.decay)

    def trainer(self, state: TrainingState[CountryNet], how: Mapping[str, Any]) -> CountryTrainer:
        schedule, real = self.recipe.schedule, load_real(self.schemes, self.learnt)
        samples = CountrySamples(self.schemes, real, batch=schedule.batch, seed=schedule.seed)
        return CountryTrainer(state, samples, self._known(self.choosing), **how)

    def finish(self, weights: Path, found: Findings) -> Mapping[str, Measured]:
        network, of_sets = CountryNet().eval(), {}
        load_weights(network, weights / CountryTrainer.file)
        for name, known in self._known(held_out(self.examples)).items():
            logits = forward(network, known.crops)
            designs = logits[:, : len(DESIGNS)]
            chances = np.exp(designs - designs.max(1, keepdims=True))
            sure, best = chances.max(1) / chances.sum(1), designs.argmax(1)
            rows = np.lexsort((sure, best == known.designs))[:WORST].tolist()
            answered = [
                read_as(known.crops[row], DESIGNS[known.designs[row]], DESIGNS[best[row]], float(sure[row]))
                for row in rows
            ]
            of_sets[name] = Measured(shares(known, logits), answered)
        return of_sets

    def _known(self, examples: Mapping[str, Sequence[Example]]) -> dict[str, Any]:
        known = {name: known_crops(name, load_real(self.schemes, plates)) for name, plates in examples.items()}
        return known | {DRAWN: drawn_plates(self.schemes)}


class CornersTask(Task[CornersRecipe]):
    def begin(self, weights: Path | None) -> TrainingState[CornerNet]:
        return corner_state(self.device, weights and weights / CornerTrainer.file, self.recipe.averaging.decay)

    def trainer(self, state: TrainingState[CornerNet], how: Mapping[str, Any]) -> CornerTrainer:
        schedule, (sources, chances) = self.recipe.schedule, load_sources(self.learnt)
        logging.info("%d plates with corners", len(sources))
        mixture = self.recipe.mixture
        samples = CornerSamples(sources, chances, batch=schedule.batch, seed=schedule.seed, mixture=mixture)
        return CornerTrainer(state, samples, _with_corners(self.choosing), **how)

    def finish(self, weights: Path, found: Findings) -> Mapping[str, Measured]:
        file, network = weights / CornerTrainer.file, CornerNet().eval()
        if head := self.recipe.plate_head:
            apart = {each.label.photo for each in chain(*self.examples.values()) if each.held_out}
            photos = (each for name in self.of_use("train") for each in pictures_of(self.root / name))
            learnt = [each for each in photos if each.photo not in apart]
            logging.info(teach_head(learnt, file, head.rendered, head.epochs))
        load_weights(network, file)
        of_sets = {}
        for name, known in _with_corners(held_out(self.examples)).items():
            quads = found_by(network, known)
            errors = errors_of(quads, known)
            near = Share(int((errors.max(axis=1) < NEAR).sum()), len(errors))
            of_sets[name] = Measured({"near": near}, displaced(known, quads, errors))
        return of_sets


def _with_corners(sets: Mapping[str, Sequence[Example]]) -> dict[str, list[LabelledCorners]]:
    """The labelled corners of each data set that has some."""
    return {name: found for name, each in sets.items() if (found := load_corners(each))}


class DetectorTask(Task[DetectorRecipe]):
    @property
    def fast(self) -> bool:
        return self.recipe.size == "fast"

    def begin(self, weights: Path | None) -> TrainingState[YOLOv5n]:
        weights = weights and weights / Detection.file
        state = detector_state(self.device, weights, self.recipe.averaging.decay, fast=self.fast)
        self.check_parts(state.network)
        return state

    def trainer(self, state: TrainingState[YOLOv5n], how: Mapping[str, Any]) -> Detection:
        """Photos whose objects other networks name, and drawn pictures; the run's folder keeps both."""
        recipe, prepared = self.recipe, self.out / PREPARED
        folders = self._folders("train")
        chosen, held = split_photos(folders.values(), recipe.held_out)
        prepared.mkdir(parents=True, exist_ok=True)
        teachers = VehicleTeacher(self.root / recipe.vehicles), PlateTeacher()
        taught: dict[Path, Objects] = {}
        for name, folder in folders.items():
            taught |= teach(folder, teachers, prepared / f"{name.replace('/', '-')}.json")
        pictures = folder_of(DRAWN, recipe, self.root, prepared)
        streets, others = of_drawn(pictures, draw(pictures, recipe.streets, recipe.others, recipe.schedule.seed))
        count = f"{len(chosen)} photos, {len(streets)} streets and {len(others)} other drawn pictures"
        logging.info("%s; %d photos held out", count, len(held))
        views = Views((of_photos(chosen, taught), streets, others), recipe.schedule.batch, recipe.schedule.seed)
        detection = Distillation if self.fast else Detection
        return detection(state, views, {"held out": of_photos(held, taught)}, **how)

    def finish(self, weights: Path, found: Findings) -> Mapping[str, Measured]:
        """Measure the ranges for int8, and find the labelled plates of photos that are not learnt."""
        registered = YOLO_FAST if self.fast else NETWORKS[YOLO.name]
        file = weights / registered.weights.name
        self.quantize(file, registered.name, found)
        network = registered.load(main_scheme(), file)
        assert isinstance(network, YOLOv5n)
        learnt = self._folders("train")
        _, held = split_photos(learnt.values(), self.recipe.held_out)
        photos = {name: [each for each in held if each.photo.is_relative_to(path)] for name, path in learnt.items()}
        photos |= {name: pictures_of(path) for name, path in self._folders("check").items()}
        of_sets = {}
        for name, pictures in ((name, each) for name, each in photos.items() if each):
            examples = of_photos(pictures, {})
            plates, _ = measured(network, examples)
            hits = hits_of(plates, DetectionSettings().score_threshold)
            worst = missed(list(zip(examples, plates, strict=True)))
            of_sets[name] = Measured({"found": Share(int(hits.sum()), len(hits))}, worst)
        return of_sets

    def _folders(self, use: str) -> dict[str, Path]:
        return {name: self.root / name for name, data in self.recipe.data.items() if data.use == use}


TASKS: Mapping[str, type[Task[Any]]] = {
    "reader": ReaderTask,
    "country": CountryTask,
    "corners": CornersTask,
    "detector": DetectorTask,
}


def starts(phases: Sequence[Phase]) -> list[float]:
    """The progress, 0..1, at which each phase after the first begins."""
    shares = [phase.share for phase in phases]
    return [end / sum(shares) for end in accumulate(shares)][:-1]
