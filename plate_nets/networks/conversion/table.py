"""How the networks of the registry are converted."""

from functools import partial
from pathlib import Path

from plate_nets.contract import CORNERS, COUNTRY, READERS, STN
from plate_nets.countries import PlateScheme
from plate_nets.networks.conversion.conversion import Conversion
from plate_nets.networks.conversion.graphs.corners import corners
from plate_nets.networks.conversion.graphs.country import country
from plate_nets.networks.conversion.graphs.lprnet import lprnet
from plate_nets.networks.conversion.graphs.stn import stn
from plate_nets.networks.conversion.graphs.yolov5 import yolov5
from plate_nets.networks.registry import DETECTORS, NETWORKS, RegisteredNetwork
from plate_nets.networks.runtimes.networks import network_folder, released

GRAPHS = {
    **dict.fromkeys(READERS, lprnet),
    STN.name: stn,
    **dict.fromkeys(DETECTORS, yolov5),
    CORNERS.name: corners,
    COUNTRY.name: country,
}

BATCHES = (2, 1, 5, 32)
"""A batch of 2 first: a trace with 1 could mistake the batch axis for a broadcast."""

TOLERANCES = {STN.name: 5e-4}
"""Tolerances other than 1e-4. STN samples pixels of noise, -1..1, at positions that may differ by a hundred-thousandth
of the crop; one step of a byte is 8e-3. With the committed weights the difference is 2e-5, with weights that flip
everything it is over 1e-4."""

FRAMES = ((2, 3, 96, 160), (1, 3, 384, 640), (1, 3, 416, 416), (5, 3, 64, 96), (32, 3, 64, 64))
"""A small frame to trace, a 16:9 frame at the default size, a square one, and cheap ones in larger batches."""


def conversions(scheme: PlateScheme, weights: Path | None = None) -> dict[str, Conversion]:
    """A scheme -> the conversion of each network, by name.

    Weights come from a folder if given; networks missing there, or without a folder, use the committed weights.
    """
    return {name: _conversion(network, scheme, weights) for name, network in NETWORKS.items()}


def _conversion(network: RegisteredNetwork, scheme: PlateScheme, folder: Path | None) -> Conversion:
    given = folder / network.weights.name if folder else network.weights
    weights = given if given.is_file() else network.weights
    into = network_folder(released(Path(), network.model.name), network.name)
    graph, of_weights = GRAPHS[network.name], network.scheme_of_weights(scheme)
    common = (network.name, into, partial(network.build, scheme), weights)
    if network.name in DETECTORS:
        return Conversion(*common, FRAMES, 0.0, 1.0, 1e-3, graph=graph, scheme=of_weights)
    shapes = tuple((batch, *network.dims) for batch in BATCHES)
    tolerance = TOLERANCES.get(network.name, 1e-4)
    return Conversion(*common, shapes, -1.0, 1.0, tolerance, channels_last=True, graph=graph, scheme=of_weights)
