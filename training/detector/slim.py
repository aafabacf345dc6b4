"""Starts a small detector from the strongest channels of a large one: those with the largest scales in their batch
norms (Liu et al., "Learning Efficient Convolutional Networks through Network Slimming", 2017)."""

import torch
from torch import Tensor, nn

from plate_nets.networks.yolov5 import C3, SPPF, Bottleneck, Conv, Detect, YOLOv5n


@torch.no_grad()
def slim(large: YOLOv5n, small: YOLOv5n) -> None:
    """Copy the strongest channels of a network into a smaller one, in place; of bottlenecks, the first ones."""
    colours = torch.arange(3)
    x = _c3(large.stage2, small.stage2, _conv(large.down2, small.down2, _conv(large.down1, small.down1, colours)))
    p3 = _c3(large.stage3, small.stage3, _conv(large.down3, small.down3, x))
    p4 = _c3(large.stage4, small.stage4, _conv(large.down4, small.down4, p3))
    p5 = _c3(large.stage5, small.stage5, _conv(large.down5, small.down5, p4))
    _, _, near, middle, _ = large.channels
    top = _conv(large.reduce5, small.reduce5, _sppf(large.pyramid, small.pyramid, p5))
    x = _c3(large.merge4, small.merge4, torch.cat((top, p4 + middle)))
    reduced = _conv(large.reduce4, small.reduce4, x)
    out3 = _c3(large.merge3, small.merge3, torch.cat((reduced, p3 + near)))
    x = torch.cat((_conv(large.up4, small.up4, out3), reduced + near))
    out4 = _c3(large.out4, small.out4, x)
    x = torch.cat((_conv(large.up5, small.up5, out4), top + middle))
    out5 = _c3(large.out5, small.out5, x)
    for begun, head in ((large.detect, small.detect), (large.vehicles, small.vehicles)):
        if begun is not None and head is not None:
            _head(begun, head, (out3, out4, out5))


def _conv(large: Conv, small: Conv, inputs: Tensor, outputs: Tensor | None = None) -> Tensor:
    """Copy some channels; ``inputs``: indices of those of the large network that the small one has -> the same of the
    outputs, the strongest unless given."""
    norm, own = large.bn, small.bn
    assert isinstance(norm, nn.BatchNorm2d) and isinstance(own, nn.BatchNorm2d)
    if outputs is None:
        outputs = norm.weight.abs().topk(own.num_features).indices.sort().values
    whole, side = large.conv.kernel_size[0], small.conv.kernel_size[0]
    first = (whole - 1) // 2 - (side - 1) // 2
    middle = slice(first, first + side)
    small.conv.weight.copy_(large.conv.weight[outputs][:, inputs, middle, middle])
    for name, value in own.state_dict().items():
        value.copy_(norm.state_dict()[name][outputs] if value.dim() else norm.state_dict()[name])
    return outputs


def _c3(large: C3, small: C3, inputs: Tensor) -> Tensor:
    chain = _conv(large.cv1, small.cv1, inputs)
    for begun, own in zip(large.m, small.m, strict=False):
        assert isinstance(begun, Bottleneck) and isinstance(own, Bottleneck)
        _conv(begun.cv2, own.cv2, _conv(begun.cv1, own.cv1, chain), chain)
    beside = _conv(large.cv2, small.cv2, inputs)
    return _conv(large.cv3, small.cv3, torch.cat((chain, beside + large.cv1.conv.out_channels)))


def _sppf(large: SPPF, small: SPPF, inputs: Tensor) -> Tensor:
    pooled = _conv(large.cv1, small.cv1, inputs)
    return _conv(large.cv2, small.cv2, torch.cat([pooled + index * large.cv1.conv.out_channels for index in range(4)]))


def _head(large: Detect, small: Detect, inputs: tuple[Tensor, ...]) -> None:
    for begun, own, kept in zip(large.m, small.m, inputs, strict=True):
        assert isinstance(begun, nn.Conv2d) and begun.bias is not None
        own.load_state_dict({"weight": begun.weight[:, kept], "bias": begun.bias})
