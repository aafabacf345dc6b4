"""Networks with random weights: the converters' promises hold for any weights."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from plate_nets.contract import CROP_DIMS
from plate_nets.networks.checkpoint import save_weights
from plate_nets.networks.conversion.conversion import Conversion
from plate_nets.networks.runtimes.networks import released

SHAPES = tuple((batch, *CROP_DIMS) for batch in (2, 1, 5, 32))


def randomize(network: nn.Module) -> None:
    """Set weights and running statistics so that every layer shows in the output."""
    torch.manual_seed(0)
    for module in network.modules():
        if isinstance(module, nn.BatchNorm2d):
            assert module.running_mean is not None and module.running_var is not None
            module.running_mean.normal_(0, 0.1)
            module.running_var.uniform_(0.5, 2)
            nn.init.uniform_(module.weight, 0.5, 1.5)
            nn.init.normal_(module.bias, 0, 0.1)
        if isinstance(module, nn.Linear):
            nn.init.normal_(module.weight, 0, 0.05)


def random_conversion(folder: Path, network: Callable[[], nn.Module], name: str = "net", **changes: Any) -> Conversion:
    """A network class -> its conversion, with random weights in a folder."""
    instance = network()
    randomize(instance)
    path = folder / "weights" / f"{name}.safetensors"
    save_weights(instance, path, {})
    settings: dict[str, Any] = {"shapes": SHAPES, "low": -1.0, "high": 1.0, "tolerance": 1e-4}
    return Conversion(name, released(Path(), name), network, path, **(settings | {"channels_last": True} | changes))


@pytest.fixture
def conversion_of(tmp_path: Path) -> Callable[..., Conversion]:
    """The same in the test's own folder."""
    return partial(random_conversion, tmp_path)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    path = tmp_path / "model_repository"
    path.mkdir()
    return path
