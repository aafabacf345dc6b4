"""CountryNet: whose design a plate has, by its colours, its bands and the shape of its characters."""

from torch import Tensor, nn

from plate_nets.nets.corners import ConvNorm, Residual
from plate_nets.plates.designs import DESIGNS

_ROWS, _COLUMNS = 3, 12
"""Of the last features. They keep their place: what a plate has on its left is not what it has on its right."""


class CountryNet(nn.Module):
    """Crops (N, 3, 24, 94) RGB, ``(value - 127.5) / 128``, of the detector -> logits (N, K) of `DESIGNS`."""

    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(
            ConvNorm(3, 24, 2),  # (N, 24, 12, 47)
            ConvNorm(24, 48, 2),  # (N, 48, 6, 24)
            Residual(48),
            ConvNorm(48, 64, 2),  # (N, 64, 3, 12)
            Residual(64),
        )
        self.head = nn.Sequential(nn.Linear(64 * _ROWS * _COLUMNS, 96), nn.ReLU(), nn.Linear(96, len(DESIGNS)))

    def forward(self, crops: Tensor) -> Tensor:
        logits: Tensor = self.head(self.features(crops).flatten(1))
        return logits
