"""STN and LPRNet: shapes, and that a plate reads the same alone and in any batch."""

import pytest
import torch
from torch import nn

from plate_nets.countries import main_scheme
from plate_nets.networks.lprnet import LPRNet, normalize_by_power
from plate_nets.networks.registry import NETWORKS
from plate_nets.networks.stn import STN


def shipped(name: str) -> nn.Module:
    return NETWORKS[name].load(main_scheme())


@pytest.mark.parametrize("batch", [1, 2, 5, 32])
def test_the_networks_keep_their_shapes(batch: int) -> None:
    crops = torch.randn(batch, 3, 24, 94)
    straight = STN().eval()(crops)
    assert straight.shape == crops.shape
    assert LPRNet(classes=23).eval()(straight).shape == (batch, 23, 18)


def test_untrained_stn_changes_nothing() -> None:
    crops = torch.randn(2, 3, 24, 94)
    assert torch.allclose(STN().eval()(crops), crops, atol=2e-3)


def test_context_is_normalised_per_sample() -> None:
    context = torch.randn(4, 8, 6, 24) * torch.tensor([1.0, 10.0, 0.1, 3.0]).view(4, 1, 1, 1)
    together = normalize_by_power(context)
    for i in range(4):
        assert torch.equal(together[i], normalize_by_power(context[i : i + 1])[0])


@pytest.mark.parametrize("name", ["stn", "lprnet"])
def test_batch_independence(name: str) -> None:
    """Alone, permuted, beside noise, beside grey: the same numbers within rounding."""
    network = shipped(name)
    generator = torch.Generator().manual_seed(0)
    crops = torch.rand(32, 3, 24, 94, generator=generator) * 2 - 1
    with torch.inference_mode():
        alone = torch.cat([network(crop[None]) for crop in crops])
        assert torch.allclose(network(crops), alone, atol=1e-4)
        order = torch.randperm(32, generator=generator)
        assert torch.allclose(network(crops[order]), alone[order], atol=1e-4)
        for strangers in (torch.zeros(31, 3, 24, 94), 50 * torch.randn(31, 3, 24, 94, generator=generator)):
            assert torch.allclose(network(torch.cat((crops[:1], strangers)))[:1], alone[:1], atol=1e-4)
