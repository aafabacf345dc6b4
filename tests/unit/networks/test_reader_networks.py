"""STN and LPRNet: shapes, and that a plate reads the same alone and in any batch."""

import pytest
import torch

from plate_nets.countries import main_scheme
from plate_nets.networks.lprnet import LPRNet
from plate_nets.networks.registry import NETWORKS
from plate_nets.networks.stn import STN


@pytest.mark.parametrize("batch", [1, 2, 5, 32])
def test_the_networks_keep_their_shapes(batch: int) -> None:
    crops = torch.randn(batch, 3, 24, 94)
    straight = STN().eval()(crops)
    assert straight.shape == crops.shape
    assert LPRNet(classes=23).eval()(straight).shape == (batch, 23, 18)


def test_untrained_stn_changes_nothing() -> None:
    crops = torch.randn(2, 3, 24, 94)
    assert torch.allclose(STN().eval()(crops), crops, atol=2e-3)


@pytest.mark.parametrize("name", ["stn", "lprnet"])
def test_batch_independence(name: str) -> None:
    """Alone, permuted, beside noise, beside grey: the same numbers within rounding."""
    network = NETWORKS[name].load(main_scheme())
    generator = torch.Generator().manual_seed(0)
    crops = torch.rand(32, 3, 24, 94, generator=generator) * 2 - 1
    with torch.inference_mode():
        alone = torch.cat([network(crop[None]) for crop in crops])
        assert torch.allclose(network(crops), alone, atol=1e-4)
        order = torch.randperm(32, generator=generator)
        assert torch.allclose(network(crops[order]), alone[order], atol=1e-4)
        for strangers in (torch.zeros(31, 3, 24, 94), 50 * torch.randn(31, 3, 24, 94, generator=generator)):
            assert torch.allclose(network(torch.cat((crops[:1], strangers)))[:1], alone[:1], atol=1e-4)
