"""YOLOv5n, release 7.0: the detector's network (https://github.com/ultralytics/yolov5, AGPL-3.0), for inference only.

Backbone CSPDarknet with SPPF, neck PANet, three anchor-based heads at strides 8, 16 and 32. Its activation is
HardSwish, as in releases 2 and 3, instead of 7.0's SiLU, so that a processor needs 0.6 to 0.85 of the time. Parameter
names inside a block are those of the yolov5 package. The blocks have names instead of numbers;
`training.detector.names` maps one to the other.
"""

import torch
from torch import Tensor, nn

from plate_nets.types import VEHICLES

STRIDES = (8, 16, 32)

ANCHORS = (
    ((14.0, 6.0), (26.0, 9.0), (42.0, 13.0)),
    ((56.0, 19.0), (80.0, 24.0), (110.0, 32.0)),
    ((150.0, 42.0), (220.0, 64.0), (330.0, 110.0)),
)
"""Width and height in pixels of three prior boxes per stride.

They cover the plates of the training photos at a long side of 640: the 1st to 99th percentile is 20 to 440 px of the
width and 5 to 110 px of the height; the median aspect is 3.6.
"""

VEHICLE_ANCHORS = (
    ((10.0, 13.0), (16.0, 30.0), (33.0, 23.0)),
    ((30.0, 61.0), (62.0, 45.0), (59.0, 119.0)),
    ((116.0, 90.0), (156.0, 198.0), (373.0, 326.0)),
)
"""Width and height in pixels of the prior boxes for vehicles. They are from `yolov5n.yaml`, which fits them to COCO."""

ACTIVATIONS: dict[str, type[nn.Module]] = {"hardswish": nn.Hardswish, "silu": nn.SiLU}
"""HardSwish (Howard et al., "Searching for MobileNetV3", 2019) is the activation of our weights. SiLU is the activation
of the yolov5 package, and of our weights up to 0.2."""


Anchors = tuple[tuple[tuple[float, float], ...], ...]
"""Width and height in pixels, by stride and index."""


class Conv(nn.Module):
    """Convolution with "same" padding, batch normalisation, activation."""

    def __init__(self, inputs: int, outputs: int, kernel: int = 1, stride: int = 1) -> None:
        super().__init__()
        self.conv = nn.Conv2d(inputs, outputs, kernel, stride, (kernel - 1) // 2, bias=False)
        self.bn: nn.Module = nn.BatchNorm2d(outputs, eps=1e-3, momentum=0.03)
        self.act: nn.Module = nn.Identity()  # set by `YOLOv5n`

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.act(self.bn(self.conv(x)))
        return y


class Bottleneck(nn.Module):
    """1x1 and 3x3 convolution, with an optional residual connection."""

    def __init__(self, channels: int, shortcut: bool) -> None:
        super().__init__()
        self.cv1 = Conv(channels, channels, 1)
        self.cv2 = Conv(channels, channels, 3)
        self.shortcut = shortcut

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.cv2(self.cv1(x))
        return x + y if self.shortcut else y


class C3(nn.Module):
    """Cross-stage-partial block with three convolutions around ``depth`` bottlenecks."""

    def __init__(self, inputs: int, outputs: int, depth: int = 1, shortcut: bool = True) -> None:
        super().__init__()
        hidden = outputs // 2
        self.cv1 = Conv(inputs, hidden)
        self.cv2 = Conv(inputs, hidden)
        self.cv3 = Conv(2 * hidden, outputs)
        self.m = nn.Sequential(*(Bottleneck(hidden, shortcut) for _ in range(depth)))

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.cv3(torch.cat((self.m(self.cv1(x)), self.cv2(x)), 1))
        return y


class SPPF(nn.Module):
    """Spatial pyramid pooling: a 5x5 maximum applied once, twice and three times, together with the input."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.cv1 = Conv(inputs, inputs // 2)
        self.cv2 = Conv(2 * inputs, outputs)
        self.m = nn.MaxPool2d(5, stride=1, padding=2)

    def forward(self, x: Tensor) -> Tensor:
        x = self.cv1(x)
        once = self.m(x)
        twice = self.m(once)
        y: Tensor = self.cv2(torch.cat((x, once, twice, self.m(twice)), 1))
        return y


class Detect(nn.Module):
    """Three feature maps -> candidate boxes in pixels of the network's input."""

    anchors: Tensor

    def __init__(self, classes: int, channels: tuple[int, int, int], anchors: Anchors) -> None:
        super().__init__()
        self.values = 5 + classes
        self.strides = STRIDES
        self.register_buffer("anchors", torch.tensor(anchors) / torch.tensor(STRIDES).view(-1, 1, 1))
        self.m = nn.ModuleList(nn.Conv2d(count, len(anchors[0]) * self.values, 1) for count in channels)

    def forward(self, features: list[Tensor]) -> Tensor:
        """Feature maps at strides 8, 16, 32 -> (N, A, 5 + classes), A = 3 * cells of all maps."""
        rows: list[Tensor] = []
        for index, head in enumerate(self.m):
            # (N, 3 * values, h, w) -> (N, 3, values, h, w) -> (N, 3, h, w, values)
            x = head(features[index]).unflatten(1, (-1, self.values)).permute(0, 1, 3, 4, 2).sigmoid()
            stride = self.strides[index]
            across = torch.arange(x.shape[3], device=x.device, dtype=x.dtype)
            down = torch.arange(x.shape[2], device=x.device, dtype=x.dtype)
            cy, cx = torch.meshgrid(down, across, indexing="ij")
            # The centre may lie half a cell beyond its cell, and the sides may be four times those of the anchor
            xy = (x[..., 0:2] * 2 + torch.stack((cx, cy), 2) - 0.5) * stride
            wh = (x[..., 2:4] * 2) ** 2 * (self.anchors[index] * stride).view(1, -1, 1, 1, 2)
            rows.append(torch.cat((xy, wh, x[..., 4:]), 4).flatten(1, 3))
        return torch.cat(rows, 1)


class YOLOv5n(nn.Module):
    """RGB pictures (N, 3, H, W), float32, 0..1, H and W multiples of 32 -> (N, A, 5 + classes) float32.

    A row is cx, cy, width, height in pixels of the input, objectness 0..1, and one score 0..1 per class.

    ``vehicles`` is a second head on the same features, with the classes `types.VEHICLES`. If weights lack it, loading
    them sets it to None.

    Args:
        classes: the number of classes of the first head.
        activation: one of `ACTIVATIONS`, which the weights are trained with.
        vehicles: whether to have the second head.
    """

    optional = ("vehicles",)
    """Parts that weights may lack; see `networks.checkpoint.load_weights`."""
    exported = ("both",)
    """Methods that a converted network also has; see `conversion.torchscript_file.save`."""
    channels = (16, 32, 64, 128, 256)
    """Of the maps at strides 2, 4, 8, 16 and 32."""
    depths = (1, 2, 3, 1)
    """Bottlenecks of the stages at strides 4, 8, 16 and 32."""
    kernel = 6
    """Side of the first convolution's kernel."""

    def __init__(self, classes: int = 1, activation: str = "hardswish", vehicles: bool = True) -> None:
        super().__init__()
        self.activation = activation
        first, second, near, middle, far = self.channels
        self.down1 = Conv(3, first, self.kernel, 2)
        self.down2 = Conv(first, second, 3, 2)
        self.stage2 = C3(second, second, self.depths[0])
        self.down3 = Conv(second, near, 3, 2)
        self.stage3 = C3(near, near, self.depths[1])
        self.down4 = Conv(near, middle, 3, 2)
        self.stage4 = C3(middle, middle, self.depths[2])
        self.down5 = Conv(middle, far, 3, 2)
        self.stage5 = C3(far, far, self.depths[3])
        self.pyramid = SPPF(far, far)
        self.reduce5 = Conv(far, middle)
        self.merge4 = C3(2 * middle, middle, 1, shortcut=False)
        self.reduce4 = Conv(middle, near)
        self.merge3 = C3(2 * near, near, 1, shortcut=False)
        self.up4 = Conv(near, near, 3, 2)
        self.out4 = C3(2 * near, middle, 1, shortcut=False)
        self.up5 = Conv(middle, middle, 3, 2)
        self.out5 = C3(2 * middle, far, 1, shortcut=False)
        outputs = (near, middle, far)
        self.detect = Detect(classes, outputs, ANCHORS)
        self.vehicles = Detect(len(VEHICLES), outputs, VEHICLE_ANCHORS) if vehicles else None
        self.enlarge = nn.Upsample(scale_factor=2.0, mode="nearest")
        for module in self.modules():
            if isinstance(module, Conv):
                module.act = ACTIVATIONS[activation]()

    def forward(self, x: Tensor) -> Tensor:
        rows: Tensor = self.detect(self.features(x))
        return rows

    @torch.jit.export
    def both(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Pictures -> rows of plates, and rows of vehicles (none without a head for them)."""
        features = self.features(x)
        rows: Tensor = self.detect(features)
        if self.vehicles is None:
            return rows, rows[:, :0]
        vehicles: Tensor = self.vehicles(features)
        return rows, vehicles

    def features(self, x: Tensor) -> list[Tensor]:
        """Pictures -> the heads' input, (N, C, h, w) each: the last three of `channels` at strides 8, 16 and 32."""
        p3 = self.stage3(self.down3(self.stage2(self.down2(self.down1(x)))))
        p4 = self.stage4(self.down4(p3))
        top = self.reduce5(self.pyramid(self.stage5(self.down5(p4))))
        middle = self.reduce4(self.merge4(torch.cat((self.enlarge(top), p4), 1)))
        out3 = self.merge3(torch.cat((self.enlarge(middle), p3), 1))
        out4 = self.out4(torch.cat((self.up4(out3), middle), 1))
        out5 = self.out5(torch.cat((self.up5(out4), top), 1))
        return [out3, out4, out5]

    @torch.no_grad()
    def fuse(self) -> "YOLOv5n":
        """Fold batch normalisation into the convolutions, in place: the same results with fewer operations."""
        for module in self.modules():
            if isinstance(module, Conv) and isinstance(module.bn, nn.BatchNorm2d):
                module.conv = nn.utils.fuse_conv_bn_eval(module.conv.eval(), module.bn.eval())
                module.bn = nn.Identity()
        return self


class YOLOv5Fast(YOLOv5n):
    """`YOLOv5n` with a quarter of the multiplications, for `detail` "fast"; the rows are the same.

    The first kernel has a quarter of YOLOv5n's values, because a processor spends a quarter of the time of a network of
    this size on the first convolution.
    """

    channels = (16, 16, 32, 64, 128)
    depths = (0, 2, 2, 1)
    kernel = 3
