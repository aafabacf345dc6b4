"""Vehicles for tests of what happens to them, whatever the present weights find."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from plate_nets.networks.runtimes.networks import Networks, first_versions, load_converted
from plate_nets.networks.runtimes.networks import default_repository as repository
from plate_nets.recognition.local import LocalReader

Rows = NDArray[np.float32]


@dataclass(frozen=True)
class BusDetector:
    """A detector that sees one bus, nearly as large as the picture.

    ``widest``: the width of the input from which on it no longer sees the bus.
    """

    plates: Callable[[NDArray[np.uint8]], Rows]
    widest: int = 8192

    def __call__(self, pictures: NDArray[np.uint8], /) -> Rows:
        return self.plates(pictures)

    def both(self, pictures: NDArray[np.uint8], /, least: float) -> tuple[Rows, Rows]:
        h, w = pictures.shape[1:3]
        row = [w / 2, h / 2, 0.98 * w, 0.96 * h, 0.9, 0.1, 0.2, 0.9, 0.1]
        seen = np.array([[row]], np.float32)
        return self.plates(pictures), seen if w < self.widest else seen[:, :0]


def bus_reader(widest: int = 8192) -> LocalReader:
    """A reader in this process that sees a bus in every picture, see `BusDetector`."""

    def networks() -> Networks:
        found = load_converted(first_versions(repository()), threads=1)
        return replace(found, yolo=BusDetector(found.yolo, widest))

    return LocalReader(threads=1, networks=networks)
