"""The list of all networks: names, weights, inputs and classes. You can import it without torch."""

from dataclasses import dataclass
from pathlib import Path, PurePath
from pkgutil import resolve_name
from typing import TYPE_CHECKING

from plate_nets.contract import (
    CORNERS,
    COUNTRY,
    CROP_DIMS,
    LATIN,
    LPRNET,
    LPRNET_LATIN,
    LPRNET_SCRIPTS,
    READERS,
    SCRIPTS,
    STN,
    YOLO,
    ModelSpec,
)
from plate_nets.countries import PlateScheme, load_scheme
from plate_nets.networks.checkpoint import load_weights, weights_path
from plate_nets.types import WINDOW_HEIGHT, WINDOW_WIDTH

if TYPE_CHECKING:
    from torch import nn


@dataclass(frozen=True)
class RegisteredNetwork:
    """One network.

    ``name``: its name, and the name of its weights. ``model``: the Triton model that runs it. ``built``: its module and
    class in this package. ``dims``: the dims of its input (N, *dims); -1 means any size. ``reads``: whether its weights
    are trained for one scheme only. ``scheme``: the name of this scheme; empty if it is the main scheme of the model
    repository.
    """

    name: str
    model: ModelSpec
    built: str
    dims: tuple[int, ...]
    reads: bool
    scheme: str = ""

    @property
    def folder(self) -> PurePath:
        """The folder of its files in a version folder of its model: a subfolder, unless both have the same name."""
        return PurePath("" if self.name == self.model.name else self.name)

    @property
    def weights(self) -> Path:
        return weights_path(self.name)

    def load(self, scheme: PlateScheme, weights: Path | None = None) -> "nn.Module":
        """The network with its weights, by default the committed ones, in eval mode.

        Raises:
            WeightsError: they are missing, damaged, or for another scheme or network.
        """
        network = self.build(scheme)
        load_weights(network, weights or self.weights, self.scheme_of_weights(scheme))
        return network.eval()

    def scheme_of_weights(self, scheme: PlateScheme) -> PlateScheme | None:
        """The scheme that its weights are trained for, in a repository for ``scheme``; None if they suit any scheme."""
        if not self.reads:
            return None
        return load_scheme(self.scheme) if self.scheme else scheme

    def build(self, scheme: PlateScheme) -> "nn.Module":
        """The network without weights, for a repository for ``scheme``."""
        made: type[nn.Module] = resolve_name(f"plate_nets.networks.{self.built}")
        return made((self.scheme_of_weights(scheme) or scheme).classes) if self.name in READERS else made()


YOLO_FAST = RegisteredNetwork("yolo_fast", YOLO, "yolov5:YOLOv5Fast", (3, -1, -1), reads=False)
"""The small detector, for `detail` "fast"."""

DETECTORS = (YOLO.name, YOLO_FAST.name)
"""The detectors by name. A process loads one of them."""

NETWORKS = {
    network.name: network
    for network in (
        RegisteredNetwork(YOLO.name, YOLO, "yolov5:YOLOv5n", (3, -1, -1), reads=False),
        YOLO_FAST,
        RegisteredNetwork(CORNERS.name, YOLO, "corners:CornerNet", (3, WINDOW_HEIGHT, WINDOW_WIDTH), reads=False),
        RegisteredNetwork(STN.name, STN, "stn:STN", CROP_DIMS, reads=True),  # trained together with LPRNet
        RegisteredNetwork(LPRNET.name, LPRNET, "lprnet:LPRNet", CROP_DIMS, reads=True),
        RegisteredNetwork(LPRNET_LATIN.name, LPRNET_LATIN, "lprnet:LPRNet", CROP_DIMS, reads=True, scheme=LATIN),
        RegisteredNetwork(LPRNET_SCRIPTS.name, LPRNET_SCRIPTS, "lprnet:LPRNet", CROP_DIMS, reads=True, scheme=SCRIPTS),
        RegisteredNetwork(COUNTRY.name, COUNTRY, "country:CountryNet", CROP_DIMS, reads=False),
    )
}
"""The networks by name, in the order of the pipeline. Only one of `DETECTORS` is loaded, and the readers that the
schemes need."""
