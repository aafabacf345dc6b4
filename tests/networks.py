"""Networks of a test's own as the converters would write them."""

from pathlib import Path

import torch

from plate_nets.contract import CROP_DIMS
from plate_nets.conversion import openvino_ir
from plate_nets.conversion.provenance import Origin


def save_ir(network: torch.nn.Module, folder: Path) -> None:
    """A network of crops -> `model.xml` and `model.bin` in ``folder``, made if it is not there."""
    folder.mkdir(parents=True, exist_ok=True)
    openvino_ir.save(network.eval(), torch.zeros(2, *CROP_DIMS), CROP_DIMS, Origin("", "", "", ""), folder)
