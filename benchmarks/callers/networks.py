"""The networks of the committed weights, without a server and not converted."""

from collections.abc import Callable

from torch import nn

from plate_nets.nets.checkpoint import load_weights, weights_path
from plate_nets.nets.lprnet import LPRNet
from plate_nets.nets.stn import STN
from plate_nets.nets.yolov5 import YOLOv5n

NETWORKS: dict[str, Callable[[], nn.Module]] = {"yolo": YOLOv5n, "stn": STN, "lprnet": LPRNet}


def eager_network(name: str) -> nn.Module:
    """The network with the committed weights, in eval mode."""
    network = NETWORKS[name]()
    load_weights(network, weights_path(name))
    return network.eval()
