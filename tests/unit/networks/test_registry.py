"""The list of networks."""

import pytest

from plate_nets.contract import CROP_DIMS, MODELS, READERS
from plate_nets.countries import main_scheme
from plate_nets.networks.checkpoint import read_sums
from plate_nets.networks.registry import NETWORKS


def test_every_network_is_run_by_a_model_and_has_committed_weights() -> None:
    assert {network.model.name for network in NETWORKS.values()} < {*MODELS, *READERS}
    for name, network in NETWORKS.items():
        assert network.name == name
        assert network.weights.is_file()
    (folder,) = {network.weights.parent for network in NETWORKS.values()}
    assert set(read_sums(folder)) == {network.weights.name for network in NETWORKS.values()}


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.filterwarnings("ignore:.*torch.jit.*:DeprecationWarning")
def test_a_network_takes_the_input_in_the_registry_and_can_be_scripted(name: str) -> None:
    """`python -m benchmarks --networks` needs the script."""
    import torch

    dims, network = NETWORKS[name].dims, NETWORKS[name].load(main_scheme())
    assert not network.training
    assert (dims == CROP_DIMS) == (NETWORKS[name].model.inputs[0].dims == CROP_DIMS)
    given = torch.rand(2, *(64 if each == -1 else each for each in dims))
    with torch.inference_mode():
        found = network(given)
        assert found.shape[0] == 2
        torch.testing.assert_close(torch.jit.script(network)(given), found, atol=1e-3, rtol=1e-4)
