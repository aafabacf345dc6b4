"""What the trained network answers. For a reader, plates are cut and decoded as the server does it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path

from plate_nets.contract import STN, reader_network
from plate_nets.countries import PlateScheme, load_scheme, load_schemes
from plate_nets.evaluation.dataset import Label
from plate_nets.evaluation.evaluate import evaluate_given
from plate_nets.evaluation.reading_metrics import ReadPlate, Share, summarize
from plate_nets.networks.registry import NETWORKS
from plate_nets.networks.runtimes.networks import Networks, default_repository, first_versions, load_converted
from plate_nets.networks.runtimes.torchscript import forward
from plate_nets.recognition.local import LocalReader
from training.real import Example, by_photo
from training.recipe.prepare import Examples
from training.recipe.recipe import DRAWN, ReaderRecipe, drawings
from training.recipe.worst import WORST, Answered, read_as


@dataclass(frozen=True)
class TrainedReader:
    """A reader of a folder of weights among the converted networks of the package."""

    recipe: ReaderRecipe
    folder: Path

    @property
    def scheme(self) -> PlateScheme:
        return load_scheme(self.recipe.scheme)

    @property
    def schemes(self) -> Sequence[PlateScheme]:
        return load_schemes(self.recipe.read or self.recipe.scheme)

    @property
    def name(self) -> str:
        return reader_network(self.scheme)

    @property
    def weights(self) -> Path:
        return self.folder / f"{self.name}.safetensors"

    @cached_property
    def networks(self) -> Networks:
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
        of_sets[name] = Measured(figures, [read_as(crop, each.label, each.best, sure) for each, crop, sure in shown])
    return of_sets


def worst(plates: Sequence[ReadPlate], count: int) -> list[int]:
    """The rows of the worst plates: first those with a wrong best reading, then the least certain ones."""
    badness = [(each.best == each.label, each.reading.confidence if each.reading else 0.0) for each in plates]
    return sorted(range(len(plates)), key=badness.__getitem__)[:count]


def spelled(scheme: PlateScheme, examples: Iterable[Example]) -> Iterator[tuple[Path, tuple[Label, ...]]]:
    """Each photo with the labels of its plates, as the reader of a scheme spells them."""
    for path, known in by_photo(examples):
        yield path, tuple(replace(each.label, text=scheme.spelled(each.label.text)) for each in known)
