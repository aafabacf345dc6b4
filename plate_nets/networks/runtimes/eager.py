"""The committed weights as eager torch networks on the CPU, without conversion."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from torch import nn

from plate_nets.contract import CORNERS, COUNTRY, LPRNET, STN, YOLO, reader_of
from plate_nets.countries import PlateScheme, own_reader
from plate_nets.networks.registry import NETWORKS
from plate_nets.networks.runtimes.networks import Networks
from plate_nets.networks.runtimes.openvino import Network
from plate_nets.networks.runtimes.torchscript import TorchDetector, forward, load_torchscript


def load_eager(schemes: Sequence[PlateScheme], other_reader: Path | None = None, detector: str = YOLO.name) -> Networks:
    """The networks of the committed weights for some schemes.

    ``other_reader``: a folder with another `stn.pt` and `lprnet.pt` (TorchScript) to use instead of the committed ones.
    They get one crop at a time, because a network that normalises over its batch would read a plate differently beside
    others. ``detector``: one of `registry.DETECTORS`.

    Raises:
        WeightsError: weights are missing, damaged, or those of another network or scheme.
    """
    scheme = own_reader(schemes)
    yolo = TorchDetector(NETWORKS[detector].load(scheme))
    corners = _eager(CORNERS.name, scheme)
    if other_reader is None:
        readers = {name: _eager(name, scheme) for name in {reader_of(own).name for own in schemes}}
        return Networks(yolo, corners, _eager(STN.name, scheme), readers, _eager(COUNTRY.name, scheme))
    stn, lprnet = (
        partial(_one_by_one, load_torchscript(other_reader / f"{name}.pt")) for name in (STN.name, LPRNET.name)
    )
    return Networks(yolo, corners, stn, {LPRNET.name: lprnet})


def _eager(name: str, scheme: PlateScheme) -> Network:
    return partial(forward, NETWORKS[name].load(scheme))


def _one_by_one(network: nn.Module, array: NDArray[np.float32]) -> NDArray[np.float32]:
    return np.concatenate([forward(network, row[None]) for row in array])
