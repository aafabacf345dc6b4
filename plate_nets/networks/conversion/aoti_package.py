"""Network -> package of AOTInductor, compiled for this processor or its GPU, for Triton's `torch_aoti`.

Needs torch and g++.

A package is a program for one kind of processor. Its provenance names the kind, so that another one refuses it.
"""

import platform
from collections.abc import Callable, Sequence
from pathlib import Path

import torch
from torch._inductor import aoti_compile_and_package, aoti_load_package
from torch._inductor.cpp_builder import get_cpp_compiler
from torch._inductor.cpu_vec_isa import pick_vec_isa
from torch._inductor.exc import InvalidCxxCompiler

import plate_nets.networks
from plate_nets.common.errors import ConversionError, WeightsError
from plate_nets.networks.conversion import exported
from plate_nets.networks.conversion.conversion import Conversion
from plate_nets.networks.conversion.formats import Array
from plate_nets.networks.conversion.provenance import Provenance, archived, provenance_of
from plate_nets.networks.runtimes.networks import PACKAGE

CONFIG = "config.torch_aoti.pbtxt"
FILES = (CONFIG, PACKAGE)
"""In the order in which they are moved into place; the second one holds the provenance."""
DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
OLDEST = (2, 9)
"""No older one was tried: Triton 26.06, the first that batches requests for packages, has a newer one."""

_METADATA = "wrapper_metadata.json"


def make(conversion: Conversion, folder: Path) -> None:
    """A network with its weights -> `model.pt2` in ``folder``, for a GPU if there is one, else for this processor.

    Beside it lies the `config.pbtxt` of a model that serves it alone.
    """
    graph = exported.export(conversion, DEVICE)
    settings = {"aot_inductor.metadata": current_provenance(conversion.weights)}
    try:
        with exported.quiet():
            aoti_compile_and_package(graph, package_path=str(folder / PACKAGE), inductor_configs=settings)
    except RuntimeError as error:
        raise ConversionError(f"{conversion.name}: cannot be compiled: {str(error).splitlines()[0]}") from error
    (output,) = graph.graph.output_node().args[0]
    (folder / CONFIG).write_text(_config(conversion, output.meta["val"].shape), encoding="utf-8")


def run(folder: Path, inputs: Sequence[Array]) -> list[Array]:
    """Run the saved `model.pt2` on each of the inputs, on the device for which it is made."""
    network = load(folder)
    try:
        with torch.inference_mode():
            return [network(torch.from_numpy(array).to(DEVICE)).cpu().numpy() for array in inputs]
    except RuntimeError as error:
        raise ConversionError(f"{folder / PACKAGE}: {error}") from error


def load(folder: Path) -> Callable[[torch.Tensor], torch.Tensor]:
    """The saved `model.pt2` -> its network, as a function of tensors on `DEVICE`.

    Raises:
        WeightsError: the file is missing, damaged or for another processor.
    """
    path = folder / PACKAGE
    try:
        made_for = saved_provenance(folder).get("processor")
        if made_for != processor():
            here = f"this is {processor()}; make one here: `python -m converters --format aoti`"
            raise WeightsError(f"{path}: made for {made_for}, {here}")
        with exported.quiet():
            network: Callable[[torch.Tensor], torch.Tensor] = aoti_load_package(str(path))
    except (ConversionError, RuntimeError) as error:
        raise WeightsError(f"{path}: cannot be loaded: {str(error).splitlines()[0]}") from error
    return network


def current_provenance(weights: Path) -> Provenance:
    sources = (Path(plate_nets.networks.__path__[0]), Path(exported.__file__), Path(__file__))
    return provenance_of(weights, sources, torch=str(torch.__version__), processor=processor())


def saved_provenance(folder: Path) -> Provenance:
    path = folder / PACKAGE
    metadata = archived(path, _METADATA, "package of AOTInductor")
    if metadata is None:
        raise ConversionError(f"{path}: not a readable package of AOTInductor: it has no {_METADATA}")
    return {key: value for key, value in metadata.items() if not key.startswith("AOTI_")}  # torch's own


def _config(conversion: Conversion, output: Sequence[int | torch.SymInt]) -> str:
    """The configuration for Triton; the backend takes the tensors by these names only."""
    inputs = [sizes.pop() if len(sizes) == 1 else -1 for sizes in map(set, zip(*conversion.shapes, strict=True))]
    outputs = [size if isinstance(size, int) else -1 for size in output]
    return (
        f'name: "{conversion.name}"\n'
        'backend: "pytorch"\n'
        'platform: "torch_aoti"\n'
        f"max_batch_size: {max(shape[0] for shape in conversion.shapes)}\n"
        f'input [{{ name: "INPUT__0" data_type: TYPE_FP32 dims: {inputs[1:]} }}]\n'
        f'output [{{ name: "OUTPUT__0" data_type: TYPE_FP32 dims: {outputs[1:]} }}]\n'
        f"instance_group [{{ count: 1 kind: {'KIND_GPU' if DEVICE.type == 'cuda' else 'KIND_CPU'} }}]\n"
        "dynamic_batching {}\n"
    )


def processor() -> str:
    """The kind of processor that packages are made for: "x86_64 avx512", "x86_64 cuda 9.0"."""
    if DEVICE.type == "cuda":
        return f"{platform.machine()} cuda {'.'.join(map(str, torch.cuda.get_device_capability()))}"
    return f"{platform.machine()} {pick_vec_isa()}"


def _check_tools() -> None:
    """Raise ConversionError if this torch, or this machine, cannot make packages."""
    if tuple(map(int, torch.__version__.split(".")[:2])) < OLDEST:
        raise ConversionError(f"the format aoti needs torch {'.'.join(map(str, OLDEST))}, found {torch.__version__}")
    try:
        get_cpp_compiler()
    except InvalidCxxCompiler as error:
        raise ConversionError(
            "the format aoti needs a C++ compiler: install g++ (Debian: apt-get install g++), or name one in CXX"
        ) from error


_check_tools()  # when the module is imported, so that nothing starts without them
