"""What CountryNet learns from: drawn plates of every country, real ones whose country is known, and others.

Every sample is a function of (seed, step, place in the batch) alone.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from torch.utils.data import Dataset as TorchDataset

from plate_nets.evaluation.dataset import load_dataset, read_photo
from plate_nets.plates import PlateFormat, PlateScheme
from plate_nets.plates.designs import CLASSES, DESIGNS, UNKNOWN, design_of
from plate_nets.recognition.geometry import normalize_crop
from plate_nets.types import Crops, Frame
from training.reader.real import RealPlate, countries_in, cut_out, most_lines
from training.reader.straightened import photograph_straightened, synthesize_straightened
from training.synthesis.camera import photograph

REAL = 0.5
"""Share of real plates among the samples of a design that has some."""
_FAR = 0.1


@dataclass(frozen=True)
class Batch:
    """Crops (N, 3, 24, 94) and the classes of their designs (N,)."""

    crops: Crops
    designs: NDArray[np.int64]


class Samples(TorchDataset[Batch]):
    """Batches by step: every design comes equally often, the countries' own and `UNKNOWN`."""

    def __init__(
        self,
        schemes: Sequence[PlateScheme],
        real: Mapping[str, Sequence[RealPlate]],
        *,
        batch: int,
        seed: int,
    ) -> None:
        self.drawn = drawn_formats(schemes)
        self.real = real
        self.designs = [design for design in DESIGNS if self.drawn.get(design) or real.get(design)]
        self.batch = batch
        self.seed = seed

    def __getitem__(self, step: int) -> Batch:
        crops, classes = zip(*(self._sample(step, place) for place in range(self.batch)), strict=True)
        return Batch(np.stack([normalize_crop(crop) for crop in crops]), np.array(classes, np.int64))

    def _sample(self, step: int, place: int) -> tuple[Frame, int]:
        rng = np.random.default_rng((self.seed, step, place))
        design = self.designs[int(rng.integers(len(self.designs)))]
        drawn, real = self.drawn.get(design, ()), self.real.get(design, ())
        if real and (not drawn or rng.random() < REAL):
            return photograph_real(real[int(rng.integers(len(real)))], rng), CLASSES[design]
        scheme, shares = drawn[int(rng.integers(len(drawn)))]
        kind = list(shares)[int(rng.choice(len(shares), p=np.array(list(shares.values())) / sum(shares.values())))]
        return synthesize_straightened(scheme, rng, kind, far=rng.random() < _FAR).crop, CLASSES[design]


def photograph_real(plate: RealPlate, rng: np.random.Generator) -> Frame:
    """A real plate, seen a little worse than it was."""
    severity = float(rng.uniform(0, 1) ** 2)
    if plate.exact:
        return photograph_straightened(plate.picture, plate.corners, rng, severity, lines=plate.lines)
    return photograph(plate.picture, plate.corners, rng, severity)


def drawn_formats(schemes: Sequence[PlateScheme]) -> dict[str, list[tuple[PlateScheme, dict[str, float]]]]:
    """Schemes -> of each design whose formats are drawn, and how often each of these comes."""
    found: dict[str, list[tuple[PlateScheme, dict[str, float]]]] = {}
    for scheme in schemes:
        by_design: dict[str, dict[str, float]] = {}
        for each in scheme.formats:
            by_design.setdefault(design_of(scheme, each), {})[each.name] = scheme.synthesis.shares[each.name]
        for design, shares in by_design.items():
            if sum(shares.values()):
                found.setdefault(design, []).append((scheme, shares))
    return found


def load_real(
    schemes: Sequence[PlateScheme], folders: Sequence[Path], countries: Mapping[str, str]
) -> dict[str, list[RealPlate]]:
    """Labelled folders with a column ``country`` -> the plates of each design.

    A plate counts where its text fits a format of its country; those of countries without a scheme are `UNKNOWN`.

    ``countries``: of folders without that column, by name.

    Raises:
        DatasetError: as `load_dataset`.
    """
    by_country = {scheme.country: scheme for scheme in schemes if scheme.country}
    found: dict[str, list[RealPlate]] = {}
    for folder in folders:
        told = countries_in(folder)
        for path, labels in load_dataset(folder).photos():
            country = told[path.name] or countries.get(folder.name, "")
            if not country:
                continue
            photo, scheme, lines = read_photo(path), by_country.get(country), most_lines(country)
            for label in labels:
                if design := _design(scheme, label.text):
                    found.setdefault(design, []).append(cut_out(photo, label, lines))
    return found


def _design(scheme: PlateScheme | None, text: str) -> str:
    if scheme is None:
        return UNKNOWN
    formats: tuple[PlateFormat, ...] = scheme.formats_of(text)
    return design_of(scheme, formats[0]) if formats else ""
