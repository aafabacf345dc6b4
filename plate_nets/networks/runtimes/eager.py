"""The committed weights as eager torch networks on the CPU, without conversion."""

from collections.abc import Sequence
from functools import partial

from plate_nets.contract import CORNERS, COUNTRY, STN, reader_of
from plate_nets.countries import PlateScheme, own_reader
from plate_nets.networks.registry import NETWORKS
from plate_nets.networks.runtimes.networks import Networks
from plate_nets.networks.runtimes.openvino import Network
from plate_nets.networks.runtimes.torchscript import TorchDetector, forward


def load_eager(schemes: Sequence[PlateScheme], detector: str) -> Networks:
    """The networks of the committed weights for some schemes; ``detector``: one of `registry.DETECTORS`.

    Raises:
        WeightsError: weights are missing, damaged, or those of another network or scheme.
    """
    scheme = own_reader(schemes)
    yolo = TorchDetector(NETWORKS[detector].load(scheme))
    corners, stn, country = (_eager(name, scheme) for name in (CORNERS.name, STN.name, COUNTRY.name))
    readers = {name: _eager(name, scheme) for name in {reader_of(own).name for own in schemes}}
    return Networks(yolo, corners, stn, readers, country)


def _eager(name: str, scheme: PlateScheme) -> Network:
    return partial(forward, NETWORKS[name].load(scheme))
