"""LPRNet: reads a straightened plate crop as CTC logits.

After Zherzdev & Gruzdev, "LPRNet: License Plate Recognition via Deep Neural Networks", 2018: small basic blocks
(1x1, 3x1, 1x3, 1x1), no recurrence, global context divided by its mean square, CTC (Graves et al., 2006).

Differences from the paper:
- The global context is normalised over each sample's own (channel, height, width), never over the batch, so a plate
  reads the same alone and in any batch.
- Pooling is 2-D and blocks have a residual path, so that the network trains in fewer steps.
- Two self-attention layers connect the steps. With 18 steps for 9 characters, CTC needs a blank between equal
  neighbours (``777``), so a step must be able to read a neighbouring place.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional

from plate_nets.types import STEPS


class ConvNorm(nn.Sequential):
    """Convolution, batch norm and, by default, ReLU."""

    def __init__(
        self, inputs: int, outputs: int, kernel: tuple[int, int], stride: tuple[int, int] = (1, 1), relu: bool = True
    ) -> None:
        padding = (kernel[0] // 2, kernel[1] // 2)
        layers: list[nn.Module] = [
            nn.Conv2d(inputs, outputs, kernel, stride, padding, bias=False),
            nn.BatchNorm2d(outputs),
        ]
        if relu:
            layers.append(nn.ReLU())
        super().__init__(*layers)


class SmallBasicBlock(nn.Module):
    """The paper's block with a residual path: (N, channels, H, W) -> the same shape."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        middle = channels // 2
        self.body = nn.Sequential(
            ConvNorm(channels, middle, (1, 1)),
            ConvNorm(middle, middle, (3, 1)),
            ConvNorm(middle, middle, (1, 3)),
            ConvNorm(middle, channels, (1, 1), relu=False),
        )

    def forward(self, features: Tensor) -> Tensor:
        return functional.relu(features + self.body(features))


class SelfAttention(nn.Module):
    """A pre-norm transformer layer over the steps: (N, steps, channels) -> the same shape."""

    def __init__(self, channels: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm = nn.LayerNorm(channels)
        self.qkv = nn.Linear(channels, 3 * channels)
        self.project = nn.Linear(channels, channels)
        self.mlp = nn.Sequential(
            nn.LayerNorm(channels),
            nn.Linear(channels, 2 * channels),
            nn.GELU(),
            nn.Linear(2 * channels, channels),
        )

    def forward(self, steps: Tensor) -> Tensor:
        n, length, channels = steps.shape
        # (N, T, 3C) -> three of (N, heads, T, C / heads)
        qkv = self.qkv(self.norm(steps)).view(n, length, 3, self.heads, channels // self.heads)
        q, k, v = qkv.permute(2, 0, 3, 1, 4).unbind(0)
        mixed = functional.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(n, length, channels)
        steps = steps + self.project(mixed)
        result: Tensor = steps + self.mlp(steps)
        return result


def normalize_by_power(context: Tensor) -> Tensor:
    """Divide each sample by the mean square of its own (C, H, W), as the paper's global context does."""
    return context / (context.square().mean(dim=(1, 2, 3), keepdim=True) + 1e-4)


class LPRNet(nn.Module):
    """Straightened crops (N, 3, 24, 94) RGB -1..1 -> CTC logits (N, classes, 18); the last class is the blank."""

    def __init__(self, classes: int, channels: int = 192, dropout: float = 0.1) -> None:
        super().__init__()
        self.stem = nn.Sequential(
            ConvNorm(3, 32, (3, 3)),  # (N, 32, 24, 94)
            ConvNorm(32, 64, (3, 3), stride=(1, 2)),  # (N, 64, 24, 47)
        )
        self.strokes = nn.Sequential(
            SmallBasicBlock(64),
            ConvNorm(64, 96, (3, 3), stride=(2, 1)),  # (N, 96, 12, 47)
            SmallBasicBlock(96),
            SmallBasicBlock(96),
        )
        self.symbols = nn.Sequential(
            ConvNorm(96, channels, (3, 3), stride=(2, 2)),  # (N, C, 6, 24)
            SmallBasicBlock(channels),
            SmallBasicBlock(channels),
        )
        # The paper's global context: the strokes, pooled to the grid of the symbols
        self.context = nn.AvgPool2d((2, 2), (2, 2), ceil_mode=True)  # (N, 96, 12, 47) -> (N, 96, 6, 24)
        self.merge = ConvNorm(channels + 96, 128, (1, 1))  # (N, 128, 6, 24)
        self.columns = nn.Conv2d(128, channels, (6, 24 - STEPS + 1), bias=False)  # (N, C, 1, 18)
        self.columns_norm = nn.BatchNorm2d(channels)
        self.position = nn.Parameter(torch.zeros(1, STEPS, channels))
        self.attention = nn.Sequential(SelfAttention(channels, 6), SelfAttention(channels, 6))
        self.dropout = nn.Dropout(dropout)
        self.norm = nn.LayerNorm(channels)
        self.classes = nn.Linear(channels, classes)

    def forward(self, crops: Tensor) -> Tensor:
        strokes = self.strokes(self.stem(crops))
        context = normalize_by_power(self.context(strokes))
        features = self.merge(torch.cat((self.symbols(strokes), context), dim=1))
        columns = functional.relu(self.columns_norm(self.columns(features)))
        steps = columns.flatten(2).transpose(1, 2) + self.position  # (N, C, 1, 18) -> (N, 18, C)
        steps = self.dropout(self.attention(steps))
        logits: Tensor = self.classes(self.norm(steps))
        return logits.transpose(1, 2)  # (N, 18, classes) -> (N, classes, 18)
