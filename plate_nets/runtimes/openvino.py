"""OpenVINO networks on the CPU."""

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from plate_nets.errors import WeightsError
from plate_nets.extras import needs
from plate_nets.runtimes.quantization import quantize

if TYPE_CHECKING:
    import openvino
    from torch import nn

Network = Callable[[NDArray[np.float32]], NDArray[np.float32]]


Precision = Literal["float32", "bfloat16", "int8"]
"""In which a network computes, with int8 the most of it; what goes in and comes out is float32 in each."""

_HINTS: Mapping[Precision, str] = {"float32": "f32", "bfloat16": "bf16", "int8": "f32"}


def load_ir(path: Path, threads: int, precision: Precision = "float32") -> Network:
    """A converted `model.xml`, its `model.bin` beside it -> a call, for one caller at a time.

    ``threads`` 0 is one a core.

    Raises:
        WeightsError: no such file, or a damaged one; for int8, its weights have no ranges.
    """
    return _call(compile_model(read_ir(path, precision), threads, precision))


def read_ir(path: Path, precision: Precision = "float32") -> "openvino.Model":
    """A converted `model.xml`, its `model.bin` beside it -> the graph that is to be compiled for a precision.

    Raises:
        WeightsError: no such file, or a damaged one; for int8, its weights have no ranges.
    """
    if not path.is_file():
        raise WeightsError(f"{path}: not converted yet; run `python -m converters`")
    with needs("local", "reading in process"):
        import openvino  # late: takes a second to import

    try:
        model = openvino.Core().read_model(path)
    except RuntimeError as error:
        raise WeightsError(f"{path}: cannot be loaded: {error}") from error
    if precision == "int8":
        quantize(model)
    return model


def compile_torch(network: "nn.Module", dims: tuple[int, ...], threads: int) -> Network:
    """A torch network, eager or TorchScript -> a call on arrays (N, *dims) in float32, for any N above 0.

    Raises:
        WeightsError: OpenVINO has no rule for one of its operations.
    """
    import warnings

    import openvino
    import torch

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of torch's, on tracing
            model = openvino.convert_model(network, example_input=torch.zeros(1, *dims), input=[(-1, *dims)])
    except openvino.frontend.OpConversionFailure as error:
        raise WeightsError(f"OpenVINO cannot run {type(network).__name__}: {error}") from error
    return _call(compile_model(model, threads, "float32"))


def compile_model(model: "openvino.Model", threads: int, precision: Precision) -> "openvino.CompiledModel":
    """A graph -> the same on so many threads of the CPU, 0: one a core.

    Raises:
        WeightsError: OpenVINO cannot run it.
    """
    import openvino

    options = {
        "INFERENCE_PRECISION_HINT": _HINTS[precision],
        "PERFORMANCE_HINT": "LATENCY",
        "NUM_STREAMS": "1",
        "INFERENCE_NUM_THREADS": str(threads),
        "ENABLE_CPU_PINNING": "NO",
    }
    try:
        return openvino.Core().compile_model(model, "CPU", options)
    except RuntimeError as error:
        raise WeightsError(f"{model.get_friendly_name()}: cannot be loaded: {error}") from error


@cache
def has_bfloat16() -> bool:
    """Whether the CPU is said to compute in bfloat16; OpenVINO says so of some on which it is slow."""
    import openvino

    return "BF16" in openvino.Core().get_property("CPU", "OPTIMIZATION_CAPABILITIES")


def _call(compiled: "openvino.CompiledModel") -> Network:
    request = compiled.create_infer_request()

    def run(array: NDArray[np.float32]) -> NDArray[np.float32]:
        answer: NDArray[np.float32] = request.infer([array], share_inputs=True)[0]
        return answer.copy()  # the next call writes over it

    return run
