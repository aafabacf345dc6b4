"""OpenVINO networks on the CPU."""

import platform
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from plate_nets.common.errors import ServerError, WeightsError
from plate_nets.common.extras import needs
from plate_nets.networks.runtimes.quantization import quantize
from plate_nets.networks.runtimes.room import LITTLE_MEMORY

if TYPE_CHECKING:
    import openvino

Network = Callable[[NDArray[np.float32]], NDArray[np.float32]]


Precision = Literal["float32", "bfloat16", "int8", "int8-bfloat16"]
"""The precision of a network's computations; inputs and outputs are always float32. Layers that int8 leaves out run in
float32, or in bfloat16 with "int8-bfloat16"."""
INT8: Collection[Precision] = ("int8", "int8-bfloat16")
"""The precisions that need the ranges of a network's layers."""

_HINTS: Mapping[Precision, str] = {"float32": "f32", "bfloat16": "bf16", "int8": "f32", "int8-bfloat16": "bf16"}

_SHORT = ("Resource temporarily unavailable", "Cannot allocate memory", "bad_alloc", "can't alloc")
"""How the system and OpenVINO word a lack of memory, for data or for a thread's stack."""

_X86 = ("x86_64", "AMD64")
_PREPARED = 1024
"""How many prepared layers a network keeps for the input sizes it saw last; OpenVINO's default is 5,000. A process that
had read pictures of 170 sizes took 424 MB with 1,024, 383 MB with 512, and 703 MB with the default. On ARM, OpenVINO
keeps none by default: there, layers that it keeps give wrong numbers (2026.4)."""


def load_ir(path: Path, threads: int, precision: Precision = "float32") -> Network:
    """A converted `model.xml` with its `model.bin` -> a function, not thread-safe.

    ``threads``: 0 means one per core.

    Raises:
        WeightsError: the file is missing or damaged; for int8, its weights have no ranges.
    """
    return _call(compile_model(read_ir(path, precision), threads, precision), path)


def check_converted(path: Path) -> None:
    """Raise WeightsError if a converted file of a network is missing."""
    if not path.is_file():
        raise WeightsError(f"{path}: not converted yet; run `python -m converters`")


def read_ir(path: Path, precision: Precision = "float32") -> "openvino.Model":
    """A converted `model.xml` with its `model.bin` -> the graph to compile for a precision.

    Raises:
        WeightsError: the file is missing or damaged; for int8, its weights have no ranges.
    """
    check_converted(path)
    try:
        model = core().read_model(path)
    except RuntimeError as error:
        raise WeightsError(f"{path}: cannot be loaded: {_cause(error)}") from error
    if precision in INT8:
        quantize(model)
    return model


def compile_model(model: "openvino.Model", threads: int, precision: Precision) -> "openvino.CompiledModel":
    """Compile a graph for a number of threads of the CPU; 0: one per core.

    Raises:
        WeightsError: OpenVINO cannot run it.
    """
    options = {
        "INFERENCE_PRECISION_HINT": _HINTS[precision],
        "PERFORMANCE_HINT": "LATENCY",
        "NUM_STREAMS": "1",
        "INFERENCE_NUM_THREADS": str(threads),
        "ENABLE_CPU_PINNING": "NO",
    }
    if platform.machine() in _X86:
        options["CPU_RUNTIME_CACHE_CAPACITY"] = str(_PREPARED)
    try:
        return core().compile_model(model, "CPU", options)
    except RuntimeError as error:
        raise WeightsError(f"{model.get_friendly_name()}: cannot be loaded: {_cause(error)}") from error


def _cause(error: RuntimeError) -> str:
    """OpenVINO's error, several lines with its sources -> its last line, or what is short."""
    last = next((line.strip() for line in reversed(str(error).splitlines()) if line.strip()), type(error).__name__)
    return LITTLE_MEMORY if any(each in last for each in _SHORT) else last


@cache
def core() -> "openvino.Core":
    """OpenVINO's entry point; a process has only one.

    Each `Core` sets a stack for the signal handlers of its thread, and restores the previous one when it is deleted. If
    several are deleted in the wrong order, the thread keeps a stack that is freed, and Ctrl-C ends the process with
    SIGSEGV.
    """
    with needs("local", "reading in process"):
        import openvino  # imported here: takes a second

    return openvino.Core()


@cache
def has_bfloat16() -> bool:
    """Whether OpenVINO reports that the CPU computes in bfloat16, as it does for some that are slow at it."""
    return "BF16" in core().get_property("CPU", "OPTIMIZATION_CAPABILITIES")


def check_output(output: NDArray[np.float32], name: object) -> None:
    """Raise ServerError if a network gave an output without values, as OpenVINO does when memory runs out."""
    if not output.size:
        raise _no_values(name)


def _no_values(name: object) -> ServerError:
    return ServerError(f"{name}: the network gave no values: {LITTLE_MEMORY}")


def infer(
    request: "openvino.InferRequest", array: NDArray[Any], name: object, *, share_outputs: bool = False
) -> Sequence[NDArray[np.float32]]:
    """The outputs of a network for an array; with ``share_outputs``, until its next call.

    Raises:
        ServerError: memory ran out.
    """
    try:
        # Not [array]: to look into a list takes OpenVINO 0.1 ms
        answer: Sequence[NDArray[np.float32]] = request.infer(array, share_inputs=True, share_outputs=share_outputs)
    except RuntimeError as error:
        if _cause(error) != LITTLE_MEMORY:
            raise
        raise _no_values(name) from error
    return answer


def _call(compiled: "openvino.CompiledModel", name: object) -> Network:
    request = compiled.create_infer_request()

    def run(array: NDArray[np.float32]) -> NDArray[np.float32]:
        answer = infer(request, array, name)[0]  # a copy of the output
        check_output(answer, name)
        return answer

    return run
