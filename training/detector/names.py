"""Maps the block numbers of the yolov5 package's network to our names."""

from torch import Tensor

BLOCKS = {
    0: "down1",
    1: "down2",
    2: "stage2",
    3: "down3",
    4: "stage3",
    5: "down4",
    6: "stage4",
    7: "down5",
    8: "stage5",
    9: "pyramid",
    10: "reduce5",
    13: "merge4",
    14: "reduce4",
    17: "merge3",
    18: "up4",
    20: "out4",
    21: "up5",
    23: "out5",
    24: "detect",
}
"""Layer of `yolov5n.yaml` -> attribute of `YOLOv5n`. Missing numbers have no parameters (upsample, concat)."""


def from_package(state: dict[str, Tensor]) -> dict[str, Tensor]:
    """The package's state dict -> ours: ``model.9.cv1.conv.weight`` becomes ``pyramid.cv1.conv.weight``, in float32."""
    parts = ((key.split(".", 2), value) for key, value in state.items())
    return {
        f"{BLOCKS[int(number)]}.{rest}": value.float() if value.is_floating_point() else value
        for (_, number, rest), value in parts
    }


def to_package(state: dict[str, Tensor]) -> dict[str, Tensor]:
    """Our state dict -> the package's, the reverse of `from_package`; the package has no head for vehicles."""
    numbers = {name: number for number, name in BLOCKS.items()}
    parts = ((key.split(".", 1), value) for key, value in state.items())
    return {f"model.{numbers[name]}.{rest}": value for (name, rest), value in parts if name in numbers}
