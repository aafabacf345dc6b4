"""STN: a spatial transformer that straightens a plate crop.

Jaderberg et al., "Spatial Transformer Networks", 2015: a small network looks at the crop and predicts an affine map,
and the crop is sampled again along it. The map starts as the identity.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional


class STN(nn.Module):
    """Crops (N, 3, 24, 94) RGB -1..1 -> straightened crops of the same shape and range."""

    def __init__(self) -> None:
        super().__init__()
        self.localization = nn.Sequential(
            nn.Conv2d(3, 24, 5, stride=2, padding=2, bias=False),  # (N, 24, 12, 47)
            nn.BatchNorm2d(24),
            nn.ReLU(),
            nn.Conv2d(24, 32, 3, stride=(1, 2), padding=1, bias=False),  # (N, 32, 12, 24)
            nn.BatchNorm2d(32),
            nn.ReLU(),
            nn.Conv2d(32, 48, 3, stride=2, padding=1, bias=False),  # (N, 48, 6, 12)
            nn.BatchNorm2d(48),
            nn.ReLU(),
            nn.Conv2d(48, 32, 1),  # (N, 32, 6, 12)
            nn.ReLU(),
        )
        self.affine = nn.Sequential(
            nn.Linear(32 * 6 * 12, 48),
            nn.ReLU(),
            nn.Linear(48, 6),
        )
        last = self.affine[-1]
        assert isinstance(last, nn.Linear)
        nn.init.zeros_(last.weight)
        with torch.no_grad():
            last.bias.copy_(torch.tensor([1.0, 0.0, 0.0, 0.0, 1.0, 0.0]))

    def forward(self, crops: Tensor) -> Tensor:
        features = self.localization(crops).flatten(1)  # (N, 32, 6, 12) -> (N, 2304)
        theta = self.affine(features).view(-1, 2, 3).to(crops.dtype)
        grid = functional.affine_grid(theta, list(crops.shape), align_corners=False)
        return functional.grid_sample(crops, grid, mode="bilinear", padding_mode="border", align_corners=False)
