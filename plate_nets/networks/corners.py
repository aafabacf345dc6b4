"""CornerNet: finds the four corners of a plate in a window around it.

Every cell of a feature map votes for each corner, with an offset and a weight. A corner is the weighted mean of the
votes. For a visible corner this is a soft-argmax (Sun et al., "Integral Human Pose Regression", 2018). The offsets also
reach a corner outside the window, which a heatmap alone could not.
"""

from typing import Final

import torch
from torch import Tensor, nn
from torch.nn import functional

from plate_nets.types import WINDOW_HEIGHT, WINDOW_WIDTH

_STRIDE = 4


class ConvNorm(nn.Sequential):
    """A 3x3 convolution, batch norm and ReLU."""

    def __init__(self, inputs: int, outputs: int, stride: int = 1) -> None:
        super().__init__(
            nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU(inplace=True)
        )


class Residual(nn.Module):
    """Two 3x3 convolutions with an identity shortcut: (N, C, H, W) -> the same shape."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.first = ConvNorm(channels, channels)
        self.second = nn.Conv2d(channels, channels, 3, 1, 1, bias=False)
        self.norm = nn.BatchNorm2d(channels)
        nn.init.zeros_(self.norm.weight)

    def forward(self, features: Tensor) -> Tensor:
        return functional.relu(features + self.norm(self.second(self.first(features))))


class CornerNet(nn.Module):
    """Windows (N, 3, 64, 128) RGB, ``(value - 127.5) / 128`` -> (N, 10).

    Columns 0 to 7 are the corners x1, y1, ..., x4, y4 in pixels of the window, clockwise from the plate's own top left;
    pixel ``i`` covers ``i`` to ``i + 1``. They may lie outside the window. Column 8 is the natural logarithm of the
    expected corner error, as a share of the plate's height. Column 9 is a correction to the detector's log-odds of a
    plate.
    """

    across: Tensor
    down: Tensor
    reach: Final[float] = 16.0
    """Pixels per unit of the offsets."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(ConvNorm(3, 16, 2), ConvNorm(16, 32, 2))  # (N, 32, 16, 32)
        self.middle = nn.Sequential(ConvNorm(32, 48, 2), Residual(48))  # (N, 48, 8, 16)
        self.deep = nn.Sequential(ConvNorm(48, 96, 2), Residual(96), Residual(96))  # (N, 96, 4, 8)
        self.whole = nn.Linear(96, 96)
        self.from_deep = nn.Conv2d(96, 48, 1)
        self.from_middle = nn.Conv2d(48, 32, 1)
        self.joined = ConvNorm(48, 48)
        self.fine = ConvNorm(32, 32)
        self.votes = nn.Conv2d(32, 12, 1)  # for each corner: weight, offset across, offset down
        self.error = nn.Sequential(nn.Linear(96, 32), nn.ReLU(), nn.Linear(32, 1))
        self.plate = nn.Sequential(nn.Linear(2 * (32 + 48 + 96), 32), nn.ReLU(), nn.Linear(32, 1))
        rows, columns = WINDOW_HEIGHT // _STRIDE, WINDOW_WIDTH // _STRIDE
        across = (torch.arange(columns) + 0.5) * _STRIDE
        down = (torch.arange(rows) + 0.5) * _STRIDE
        self.register_buffer("across", across.repeat(rows).view(1, 1, -1), persistent=False)
        self.register_buffer("down", down.repeat_interleave(columns).view(1, 1, -1), persistent=False)

    def forward(self, windows: Tensor) -> Tensor:
        points, weights, quality = self.vote(windows)
        corners = (points * weights[..., None]).sum(2)  # (N, 4, 2)
        return torch.cat((corners.flatten(1), quality), dim=1)

    def vote(self, windows: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Windows -> votes (N, 4, cells, 2) in pixels, their weights (N, 4, cells), and the last two columns (N, 2)."""
        stem, middle, deep = self.features(windows)
        whole = deep.mean((2, 3))
        quality = torch.cat((self.error(whole), self.plate(pooled([stem, middle, deep]))), dim=1).float()
        deep = functional.relu(deep + self.whole(whole)[:, :, None, None])
        middle = self.joined(middle + _doubled(self.from_deep(deep)))
        fine = self.fine(stem + _doubled(self.from_middle(middle)))
        votes = self.votes(fine).flatten(2).float()  # (N, 12, cells)
        weights = votes[:, :4].softmax(2)
        points = torch.stack((self.across + self.reach * votes[:, 4:8], self.down + self.reach * votes[:, 8:]), dim=3)
        return points, weights, quality

    def features(self, windows: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Windows -> feature maps (N, 32, 16, 32), (N, 48, 8, 16) and (N, 96, 4, 8)."""
        stem = self.stem(windows)
        middle = self.middle(stem)
        return stem, middle, self.deep(middle)


def pooled(features: list[Tensor]) -> Tensor:
    """Feature maps (N, C, H, W) -> the mean and the maximum of each channel, (N, twice the number of all channels)."""
    return torch.cat([torch.cat((maps.mean((2, 3)), maps.amax((2, 3))), dim=1) for maps in features], dim=1)


def _doubled(features: Tensor) -> Tensor:
    return functional.interpolate(features, scale_factor=2.0, mode="nearest")
