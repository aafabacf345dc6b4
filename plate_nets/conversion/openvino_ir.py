"""Network -> OpenVINO IR, which the embedded server runs on a CPU."""

from pathlib import Path

import openvino
import torch
from torch import Tensor, nn

from plate_nets.conversion.errors import ConversionError
from plate_nets.conversion.provenance import Origin

FILES = ("model.bin", "model.xml")
"""In the order in which they are moved: the origin stands in the second."""


def save(network: nn.Module, example: Tensor, dims: tuple[int, ...], origin: Origin, folder: Path) -> None:
    """A network in eval mode -> `model.xml` and `model.bin` in ``folder``, for inputs (N, *dims); -1 is any size.

    Weights stay FP32: FP16 halves the detector's file of 7 MB, but moves boxes by up to 0.3 px and scores by 0.004 (20
    street photos, rows above 0.05; FP32: 0.0003 px and 2e-6).

    Raises:
        ConversionError: OpenVINO cannot convert the network.
    """
    try:
        model = openvino.convert_model(network, example_input=example, input=[openvino.PartialShape([-1, *dims])])
    except Exception as error:  # OpenVINO raises whatever its front end and torch raise
        raise ConversionError(f"cannot convert {type(network).__name__} to OpenVINO: {error}") from error
    for key, value in origin.values.items():
        model.set_rt_info(value, ["origin", key])
    openvino.save_model(model, folder / "model.xml", compress_to_fp16=False)


def run(folder: Path, inputs: list[Tensor]) -> list[Tensor]:
    """What the saved IR answers to each of the inputs, on the CPU in FP32.

    Raises:
        ConversionError: the files are missing, damaged, or refuse an input.
    """
    model = _load(folder)
    try:
        compiled = openvino.Core().compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
        return [torch.from_numpy(compiled(tensor.numpy())[0].copy()) for tensor in inputs]
    except RuntimeError as error:
        raise ConversionError(f"{folder / 'model.xml'}: {error}") from error


def origin(folder: Path) -> dict[str, str]:
    """What the saved IR says it was made from.

    Raises:
        ConversionError: the files are missing or damaged.
    """
    model = _load(folder)
    if not model.has_rt_info(["origin"]):
        return {}
    return {key: model.get_rt_info(["origin", key]).astype(str) for key in Origin.__dataclass_fields__}


def _load(folder: Path) -> openvino.Model:
    for name in FILES:
        if not (folder / name).is_file():
            raise ConversionError(f"{folder / name}: no such file")
    try:
        return openvino.Core().read_model(folder / "model.xml")
    except RuntimeError as error:
        raise ConversionError(f"{folder / 'model.xml'}: not a readable OpenVINO model: {error}") from error
