"""STN: a spatial transformer that straightens a plate crop.

Jaderberg et al., "Spatial Transformer Networks", 2015: a small network predicts an affine map from the crop, and the
crop is resampled with it. The map starts as the identity.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional

from plate_nets.types import CROP_HEIGHT, CROP_WIDTH


class STN(nn.Module):
    """Crops (N, 3, 24, 94) RGB -1..1 -> straightened crops of the same shape and range."""

    across: Tensor
    down: Tensor

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
        # Centres of the pixels, with -1 and 1 at the edges. OpenVINO cannot convert `affine_grid`, which gives the same
        across = (torch.arange(CROP_WIDTH) * 2 + 1) / CROP_WIDTH - 1
        down = (torch.arange(CROP_HEIGHT) * 2 + 1) / CROP_HEIGHT - 1
        self.register_buffer("across", across.view(1, 1, -1, 1), persistent=False)
        self.register_buffer("down", down.view(1, -1, 1, 1), persistent=False)

    def forward(self, crops: Tensor) -> Tensor:
        features = self.localization(crops).flatten(1)  # (N, 32, 6, 12) -> (N, 2304)
        theta = self.affine(features).view(-1, 1, 1, 2, 3).to(crops.dtype)
        grid = theta[..., 0] * self.across + theta[..., 1] * self.down + theta[..., 2]  # (N, 24, 94, 2)
        return functional.grid_sample(crops, grid, mode="bilinear", padding_mode="border", align_corners=False)
