"""A test's own networks, saved as the converters would save them."""

from pathlib import Path

import openvino
import torch

from plate_nets.contract import CROP_DIMS
from plate_nets.networks.conversion import openvino_ir


def save_ir(network: torch.nn.Module, folder: Path) -> None:
    """A network of crops -> `model.xml` and `model.bin` in ``folder``, which is created if missing."""
    folder.mkdir(parents=True, exist_ok=True)
    model = openvino.convert_model(network.eval(), example_input=torch.zeros(2, *CROP_DIMS), input=[(-1, *CROP_DIMS)])
    openvino_ir.save(model, {}, folder)
