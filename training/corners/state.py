"""The state of a training of CornerNet."""

from pathlib import Path

import torch

from plate_nets.networks.checkpoint import load_weights
from plate_nets.networks.corners import CornerNet
from training.checkpoint import TrainingState

ARCHITECTURE = "corners/1"


class CornerState(TrainingState[CornerNet]):
    """The state for CornerNet; ``best`` is the lowest error."""

    def __init__(self, device: torch.device) -> None:
        network: CornerNet = CornerNet().to(device).to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        super().__init__(ARCHITECTURE, network, float("inf"))

    def start_from(self, weights: Path) -> None:
        """Take over the weights of a safetensors file; steps and optimiser start from scratch.

        Raises:
            WeightsError: the file is missing, damaged or of another architecture.
        """
        for network in (self.network, self.average):
            load_weights(network, weights)
