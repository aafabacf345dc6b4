"""OpenVINO networks on the CPU."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from plate_nets.errors import WeightsError
from plate_nets.extras import needs

if TYPE_CHECKING:
    import openvino
    from torch import nn

Network = Callable[[NDArray[np.float32]], NDArray[np.float32]]


def load_ir(path: Path, threads: int) -> Network:
    """A converted `model.xml`, its `model.bin` beside it -> a call in float32, for one caller at a time.

    ``threads`` 0 is one a core.

    Raises:
        WeightsError: no such file, or a damaged one.
    """
    if not path.is_file():
        raise WeightsError(f"{path}: not converted yet; run `python -m converters`")
    try:
        return _compile(str(path), threads)
    except RuntimeError as error:
        raise WeightsError(f"{path}: does not load: {error}") from error


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
    return _compile(model, threads)


def _compile(model: "openvino.Model | str", threads: int) -> Network:
    with needs("local", "reading in process"):
        import openvino  # late: takes a second to import

    # The defaults of some CPUs are bf16, whose 8 bits of mantissa round a box at 640 px to 4 px.
    options = {
        "INFERENCE_PRECISION_HINT": "f32",
        "PERFORMANCE_HINT": "LATENCY",
        "NUM_STREAMS": "1",
        "INFERENCE_NUM_THREADS": str(threads),
        "ENABLE_CPU_PINNING": "NO",
    }
    request = openvino.Core().compile_model(model, "CPU", options).create_infer_request()

    def run(array: NDArray[np.float32]) -> NDArray[np.float32]:
        answer: NDArray[np.float32] = request.infer([array], share_inputs=True)[0]
        return answer.copy()  # the next call writes over it

    return run
