"""What the trained network answers. For a reader, plates are cut and decoded as the server does it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path

import numpy as np

from plate_nets.contract import CORNERS, COUNTRY, STN, YOLO, reader_network
from plate_nets.countries import PlateScheme, load_scheme, load_schemes, main_scheme
from plate_nets.countries.designs import DESIGNS
from plate_nets.evaluation.dataset import Label
from plate_nets.evaluation.detection_metrics import found
from plate_nets.evaluation.evaluate import evaluate_given
from plate_nets.evaluation.reading_metrics import ReadPlate, Share, summarize
from plate_nets.networks.registry import NETWORKS
from plate_nets.networks.runtimes.networks import Networks, default_repository, first_versions, load_converted
from plate_nets.networks.runtimes.torchscript import forward
from plate_nets.networks.yolov5 import YOLOv5n
from plate_nets.recognition.detection import DetectionSettings
from plate_nets.recognition.local import LocalReader
from plate_nets.types import Crops
from training.corners.trainer import CornerTrainer, errors_on, load_corners
from training.country.trainer import CountryTrainer, shares
from training.detector.trainer import Detection, measured
from training.real import Example, by_photo
from training.recipe.detector import known_plates
from training.recipe.prepare import Examples
from training.recipe.recipe import DRAWN, CountryRecipe, DetectorRecipe, ReaderRecipe, drawings
from training.recipe.train import known_sets

NEAR = 0.15
"""Maximum error of a corner that is near, in plate heights."""
WORST = 12
"""Plates of a data set with the worst answers to show."""


@dataclass(frozen=True)
class TrainedReader:
    """A reader of a folder of weights among the converted networks of the package."""

    recipe: ReaderRecipe
    folder: Path

    @property
    def scheme(self) -> PlateScheme:
        """What it is trained for."""
        return load_scheme(self.recipe.scheme)

    @property
    def schemes(self) -> Sequence[PlateScheme]:
        """What is read with it."""
        return load_schemes(self.recipe.read or self.recipe.scheme)

    @property
    def name(self) -> str:
        """The name of LPRNet among the networks."""
        return reader_network(self.scheme)

    @property
    def weights(self) -> Path:
        """LPRNet's weights."""
        return self.folder / f"{self.name}.safetensors"

    @cached_property
    def networks(self) -> Networks:
        """The networks, with this reader in place of the package's."""
        others = {reader_network(each) for each in self.schemes} - {self.name}
        loaded = load_converted(first_versions(default_repository()), threads=1, readers=others)
        own = partial(forward, NETWORKS[self.name].load(self.scheme, self.weights))
        loaded = replace(loaded, readers={**loaded.readers, self.name: own})
        if self.recipe.start.stn == "kept":  # the package's
            return loaded
        stn = NETWORKS[STN.name].load(self.scheme, self.folder / f"{STN.name}.safetensors")
        return replace(loaded, stn=partial(forward, stn))

    def local(self, schemes: Sequence[PlateScheme] = ()) -> LocalReader:
        """A reader of pictures with these networks, by default for the countries of the recipe."""
        return LocalReader(schemes or self.schemes, networks=lambda: self.networks)


@dataclass(frozen=True)
class Answered:
    """A plate and what was said about it; ``crop``: (3, 24, 94)."""

    crop: Crops
    label: str
    answer: str
    confidence: float


@dataclass(frozen=True)
class Measured:
    """The figures of a data set by name, and the plates with the worst answers."""

    figures: Mapping[str, Share]
    worst: Sequence[Answered]


def measure_reader(reader: TrainedReader, examples: Examples) -> dict[str, Measured]:
    """How plates of data sets are read, given their boxes; drawn ones as those of the countries that are drawn."""
    scheme = reader.scheme
    of_sets = {}
    for name, plates in examples.items():
        local = reader.local(list(drawings(reader.recipe)) if name == DRAWN else ())
        outcome = evaluate_given(spelled(scheme, plates), local.cut, local.read_crops, scheme, keep_crops=True)
        total = summarize(outcome.plates)
        figures = {"best": total.best_exact, "text": total.exact, "wrong": total.wrong, "no text": total.unread}
        figures["right_of_sure"] = Share(total.exact.hits, total.wrong_of_read.count)
        read = [(outcome.plates[row], outcome.crops[row][0]) for row in worst(outcome.plates, WORST)]
        shown = [(plate, crop, plate.reading.confidence if plate.reading else 0.0) for plate, crop in read]
        of_sets[name] = Measured(figures, [Answered(crop, each.label, each.best, sure) for each, crop, sure in shown])
    return of_sets


def worst(plates: Sequence[ReadPlate], count: int) -> list[int]:
    """The rows of the worst plates: first those with a wrong best reading, then the least certain ones."""
    badness = [(each.best == each.label, each.reading.confidence if each.reading else 0.0) for each in plates]
    return sorted(range(len(plates)), key=badness.__getitem__)[:count]


def measure_country(recipe: CountryRecipe, folder: Path, examples: Examples) -> dict[str, Measured]:
    """How well the CountryNet of a folder knows plates of data sets, and drawn ones."""
    schemes = load_schemes(recipe.scheme)
    network = NETWORKS[COUNTRY.name].load(schemes[0], folder / CountryTrainer.file)
    of_sets = {}
    for name, known in known_sets(schemes, examples).items():
        logits = forward(network, known.crops)
        designs = logits[:, : len(DESIGNS)]
        chances = np.exp(designs - designs.max(1, keepdims=True))
        sure = chances.max(1) / chances.sum(1)
        right = designs.argmax(1) == known.designs
        rows = np.lexsort((sure, right))[:WORST].tolist()
        each = [(DESIGNS[known.designs[row]], DESIGNS[designs[row].argmax()], float(sure[row])) for row in rows]
        shown = [Answered(known.crops[row], *answer) for row, answer in zip(rows, each, strict=True)]
        of_sets[name] = Measured(shares(known, logits), shown)
    return of_sets


def measure_corners(folder: Path, examples: Examples) -> dict[str, Measured]:
    """How many plates of data sets get four corners near the labelled ones from the CornerNet of a folder."""
    network = NETWORKS[CORNERS.name].load(main_scheme(), folder / CornerTrainer.file)
    of_sets = {}
    for name, plates in examples.items():
        errors = errors_on(network, load_corners(plates))
        of_sets[name] = Measured({"near": Share(int((errors.max(axis=1) < NEAR).sum()), len(errors))}, [])
    return of_sets


def measure_detector(recipe: DetectorRecipe, folder: Path, root: Path) -> dict[str, Measured]:
    """How many plates of data sets the detector of a folder finds."""
    network = NETWORKS[YOLO.name].load(main_scheme(), folder / Detection.file)
    assert isinstance(network, YOLOv5n)
    found_in = {}
    for name, photos in known_plates(recipe, root).items():
        hits = found(measured(network, photos)[0], DetectionSettings().score_threshold)
        found_in[name] = Measured({"found": Share(int(hits.sum()), len(hits))}, [])
    return found_in


def spelled(scheme: PlateScheme, examples: Iterable[Example]) -> Iterator[tuple[Path, tuple[Label, ...]]]:
    """Each photo with the labels of its plates, as the reader of a scheme spells them."""
    for path, known in by_photo(examples):
        yield path, tuple(replace(each.label, text=scheme.spelled(each.label.text)) for each in known)
