"""The layers that the graphs share. A layer finds its weights by their names in the torch module."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from openvino import Node
from openvino import opset13 as opset

Array = NDArray[Any]
Sides = tuple[int, int]
"""A size, a stride or a padding: one number for the height, one for the width."""


class Weights:
    """The arrays of a network, or of the part of it whose names begin with ``prefix``."""

    def __init__(self, arrays: Mapping[str, Array], prefix: str = "", used: set[str] | None = None) -> None:
        self._arrays, self._prefix = arrays, prefix
        self._used = set() if used is None else used

    def __getitem__(self, name: str) -> Array:
        """The array with this name in this part.

        Raises:
            KeyError: there is no such array.
        """
        name = self._prefix + name
        if name not in self._arrays:
            raise KeyError(f"tensor {name} is missing")
        self._used.add(name)
        return self._arrays[name]

    def __contains__(self, name: str) -> bool:
        return self._prefix + name in self._arrays

    @property
    def name(self) -> str:
        return self._prefix.removesuffix(".")

    def part(self, name: str | int) -> "Weights":
        """The weights of a part: after ``part("cv1")``, "weight" means "cv1.weight"."""
        return Weights(self._arrays, f"{self._prefix}{name}.", self._used)

    def parts(self) -> "list[Weights]":
        """The parts that are numbered from 0, in order."""
        inner = (name.removeprefix(self._prefix) for name in self._arrays if name.startswith(self._prefix))
        return [self.part(number) for number in range(len({name.partition(".")[0] for name in inner}))]

    def unused(self) -> list[str]:
        """Names of the arrays that no layer has used, except the step counters of batch norms."""
        return sorted(name for name in self._arrays.keys() - self._used if not name.endswith(".num_batches_tracked"))


def parameter(name: str, *dims: int) -> Node:
    """The input of a graph: FP32 (N, *dims) for any N; a dim of -1 means any size."""
    node = opset.parameter([-1, *dims], np.float32, name)
    node.set_friendly_name(name)
    node.output(0).set_names({name})
    return node


def constant(value: Any) -> Node:
    """Numbers -> an FP32 constant. A number too large for FP32 becomes infinite, and the comparison then fails."""
    with np.errstate(over="ignore"):
        return opset.constant(np.asarray(value, np.float32))


def convolution(
    x: Node,
    weights: Weights,
    norm: Weights | None = None,
    stride: Sides = (1, 1),
    padding: Sides | None = None,
    epsilon: float = 1e-5,
) -> Node:
    """A convolution, followed by batch norm if ``norm`` is given: (N, C, H, W) -> (N, C', H', W').

    The norm is folded into the kernel and the bias. ``padding`` defaults to half the kernel.
    """
    kernel = weights["weight"].astype(np.float64)
    bias = weights["bias"].astype(np.float64) if "bias" in weights else np.zeros(len(kernel))
    if norm is not None:
        scale = norm["weight"] / np.sqrt(norm["running_var"].astype(np.float64) + epsilon)
        kernel *= scale[:, None, None, None]
        bias = (bias - norm["running_mean"]) * scale + norm["bias"]
    pads = list(padding or (kernel.shape[2] // 2, kernel.shape[3] // 2))
    return opset.convolution(x, constant(kernel), list(stride), pads, pads, [1, 1]) + constant(
        bias[None, :, None, None]
    )


def named(name: str, node: Node) -> Node:
    """Give a node a name that is the same in every graph of the network; see `runtimes.quantization`."""
    node.set_friendly_name(name)
    return node


def linear(x: Node, weights: Weights) -> Node:
    """A fully connected layer over the last axis: (..., C) -> (..., C')."""
    return opset.matmul(x, constant(weights["weight"]), False, True) + constant(weights["bias"])


def layer_norm(x: Node, weights: Weights) -> Node:
    """Layer norm over the last axis: (..., C) -> the same shape."""
    return opset.mvn(x, [-1], True, 1e-5, "inside_sqrt") * constant(weights["weight"]) + constant(weights["bias"])


def enlarge(x: Node) -> Node:
    """Repeat each value in both directions: (N, C, H, W) -> (N, C, 2H, 2W)."""
    scales = constant([2, 2])
    larger = opset.interpolate(
        x, scales, "nearest", "scales", coordinate_transformation_mode="asymmetric", nearest_mode="floor", axes=[2, 3]
    )
    return named(f"{x.get_friendly_name()}.enlarged", larger)


def reshape(x: Node, shape: tuple[int, ...]) -> Node:
    """Reshape: 0 keeps the size of an axis, -1 takes the size that remains."""
    return opset.reshape(x, list(shape), True)


def transpose(x: Node, order: tuple[int, ...]) -> Node:
    return opset.transpose(x, list(order))
