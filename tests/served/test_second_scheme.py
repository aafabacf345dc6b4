"""A second country from just a TOML file, through every stage: training, conversion, serving, decoding."""

from pathlib import Path

import pytest
import torch

from plate_nets.client import PlateClient
from plate_nets.common.errors import WeightsError
from plate_nets.countries import PlateScheme
from plate_nets.networks.conversion.conversion import convert, is_current
from plate_nets.networks.conversion.table import conversions
from plate_nets.networks.registry import NETWORKS
from plate_nets.triton.config_check import check_configs, scheme_of
from plate_nets.triton.server import EmbeddedTriton
from plate_nets.types import STEPS
from tests.frames import Placed, compose
from tests.schemes import for_testland
from training.reader.samples import Samples
from training.reader.state import ReaderState
from training.reader.trainer import ReaderTrainer, save_reader
from training.recipe.recipe import Schedule

CAR = compose(600, 800, [Placed("A123BC77", 300, 400)])
TEXT = "DG1234"


def train(scheme: PlateScheme, folder: Path) -> Path:
    """Train a few steps on rendered plates -> the folder of the weights."""
    torch.manual_seed(0)
    state = ReaderState(scheme, torch.device("cpu"))
    samples = Samples(scheme, [], [], batch=4, seed=1)
    ReaderTrainer(state, samples, {}, Schedule(steps=3), folder, device=torch.device("cpu"), workers=0).run()
    return folder / "last"


def spell(scheme: PlateScheme, folder: Path) -> None:
    """Make weights read every crop as `TEXT`, because three steps teach nothing and the result must be known.

    Each step has its own direction in the network's last features, from which its class is read.
    """
    state = ReaderState(scheme, torch.device("cpu"))
    state.start_from(folder)
    network = state.network.lprnet
    with torch.no_grad():
        network.classes.weight.zero_()
        network.classes.bias.zero_()
        for step in range(STEPS):
            place, between = divmod(step, 2)
            symbol = scheme.blank if between or place >= len(TEXT) else scheme.index[TEXT[place]]
            network.position[0, step, step] = 1000.0
            network.classes.weight[symbol, step] = 2.0
    save_reader(state.network, folder, {}, scheme)


@pytest.mark.timeout(600)
def test_a_second_country_is_trained_converted_served_and_read(repository: Path, tmp_path: Path) -> None:
    scheme = for_testland(repository)
    assert scheme_of(repository) == scheme and check_configs(repository) == []

    weights = train(scheme, tmp_path / "training")
    with pytest.raises(WeightsError, match=r"weights of another scheme: scheme: expected testland, got russia"):
        is_current(conversions(scheme)["lprnet"], repository)
    spell(scheme, weights)
    for name in (name for name, network in NETWORKS.items() if network.reads and not network.scheme):
        convert(conversions(scheme, weights)[name], repository)

    with EmbeddedTriton(repository, exit_timeout=0) as server, PlateClient(server.http_url, timeout=120) as client:
        (plate,) = client.read(CAR, evidence=True)
    assert (plate.reading.text, plate.reading.best) == (TEXT, TEXT)
    assert plate.reading.confidence > 0.9
    assert plate.logits is not None and plate.logits.shape == (scheme.classes, STEPS)
