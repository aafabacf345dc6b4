"""CountryNet: classifies the design of a plate, by its colours, bands and characters, and the colour of its ground."""

import torch
from torch import Tensor, nn

from plate_nets.countries.designs import DESIGNS, GROUNDS
from plate_nets.networks.corners import ConvNorm, Residual

_ROWS, _COLUMNS = 3, 12
"""Size of the last features. They are not pooled, because the left and the right of a plate differ."""


class CountryNet(nn.Module):
    """Straightened crops (N, 3, 24, 94) RGB, ``(value - 127.5) / 128``, from the detector -> logits (N, K + G).

    The first K columns are for `DESIGNS`, the last G for `GROUNDS`. ``designs``: K.
    """

    def __init__(self, designs: int = len(DESIGNS)) -> None:
        super().__init__()
        self.features = nn.Sequential(
            ConvNorm(3, 24, 2),  # (N, 24, 12, 47)
            ConvNorm(24, 48, 2),  # (N, 48, 6, 24)
            Residual(48),
            ConvNorm(48, 64, 2),  # (N, 64, 3, 12)
            Residual(64),
        )
        size = 64 * _ROWS * _COLUMNS
        self.head = nn.Sequential(nn.Linear(size, 96), nn.ReLU(), nn.Linear(96, designs))
        self.ground = nn.Sequential(nn.Linear(size, 24), nn.ReLU(), nn.Linear(24, len(GROUNDS)))

    def forward(self, crops: Tensor) -> Tensor:
        features = self.features(crops).flatten(1)
        return torch.cat((self.head(features), self.ground(features)), dim=1)
