"""What the trained reader reads: its plates are found, cut and decoded as the server does it."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path

from plate_nets.contract import STN, reader_network
from plate_nets.evaluation.dataset import Label
from plate_nets.evaluation.evaluate import evaluate_given
from plate_nets.evaluation.reading_metrics import ReadingSummary, ReadPlate, summarize
from plate_nets.networks.registry import NETWORKS
from plate_nets.plates import PlateScheme, load_scheme, load_schemes
from plate_nets.recognition.local import LocalReader
from plate_nets.runtimes.networks import Networks, default_repository, first_versions, load_converted
from plate_nets.runtimes.torchscript import forward
from plate_nets.types import Crops
from training.reader.real import Example, by_photo
from training.recipe.recipe import Recipe


@dataclass(frozen=True)
class TrainedReader:
    """A reader of a folder of weights among the converted networks of the package."""

    recipe: Recipe
    folder: Path

    @property
    def scheme(self) -> PlateScheme:
        """What it is trained for."""
        return load_scheme(self.recipe.scheme)

    @property
    def schemes(self) -> list[PlateScheme]:
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
        stn = self.folder / f"{STN.name}.safetensors"
        return (
            replace(loaded, stn=partial(forward, NETWORKS[STN.name].load(self.scheme, stn))) if stn.exists() else loaded
        )

    def local(self) -> LocalReader:
        """A reader of pictures with these networks."""
        return LocalReader(self.schemes, networks=lambda: self.networks)


@dataclass(frozen=True)
class Measured:
    """A data set as it was read: each plate, and its crop (3, 24, 94)."""

    plates: list[ReadPlate]
    crops: list[Crops]

    @property
    def summary(self) -> ReadingSummary:
        """Its figures."""
        return summarize(self.plates)


def measure(reader: TrainedReader, examples: Mapping[str, Iterable[Example]]) -> dict[str, Measured]:
    """Plates by data set -> how they are read, given their boxes."""
    scheme, local = reader.scheme, reader.local()
    found = {}
    for name, plates in examples.items():
        outcome = evaluate_given(spelled(scheme, plates), local.cut, local.read_crops, scheme, keep_crops=True)
        found[name] = Measured(outcome.plates, outcome.crops)
    return found


def spelled(scheme: PlateScheme, examples: Iterable[Example]) -> Iterator[tuple[Path, tuple[Label, ...]]]:
    """Each photo with the labels of its plates, as the reader of a scheme spells them."""
    for path, known in by_photo(examples):
        yield path, tuple(replace(each.label, text=scheme.spelled(each.label.text)) for each in known)
