"""The state of a training of CornerNet."""

from pathlib import Path

import torch

from plate_nets.nets.checkpoint import load_weights
from plate_nets.nets.corners import CornerNet
from training.checkpoint import TrainingState

ARCHITECTURE = "corners/1"


class CornerState(TrainingState[CornerNet]):
    """Of CornerNet; ``best`` is the least error."""

    def __init__(self, device: torch.device) -> None:
        network: CornerNet = CornerNet().to(device).to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        super().__init__(ARCHITECTURE, network, float("inf"))

    def start_from(self, weights: Path) -> None:
        """Takes over a safetensors file; steps and optimiser start anew.

        Raises:
            WeightsError: the file is missing, damaged or of another architecture.
        """
        for network in (self.network, self.average):
            load_weights(network, weights)
