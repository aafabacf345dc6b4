"""Trained weights become those that the package ships, with the figures of their run beside them."""

import json
import shutil
from pathlib import Path

import pytest

from plate_nets.networks import checkpoint
from plate_nets.networks.checkpoint import WEIGHTS, read_metadata, read_sums, sha256, weights_path
from tests.commands import succeed
from training.publish import main
from training.recipe.load import load_recipe


def test_the_figures_of_a_run_follow_its_weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made, shipped = tmp_path / "run" / "weights" / "corners.safetensors", tmp_path / "shipped"
    for folder in (made.parent, shipped):
        folder.mkdir(parents=True)
    shutil.copyfile(weights_path("corners"), made)
    (tmp_path / "run" / "figures.json").write_text('{"ru_dev": {"near": 0.5}}')
    monkeypatch.setattr(checkpoint, "WEIGHTS", shipped)
    succeed(main, made)
    assert read_sums(shipped) == {"corners.safetensors": sha256(shipped / "corners.safetensors")}
    figures = shipped / "figures" / "corners.json"
    assert figures.read_text() == '{"ru_dev": {"near": 0.5}}'

    succeed(main, shipped / "corners.safetensors")
    assert figures.exists(), "still the same weights"
    (tmp_path / "run" / "figures.json").unlink()
    succeed(main, made)
    assert not figures.exists()


@pytest.mark.parametrize("path", sorted((WEIGHTS / "figures").iterdir()), ids=lambda path: path.stem)
def test_the_shipped_figures_meet_the_checks_of_their_recipe(path: Path) -> None:
    figures, recipe = json.loads(path.read_text()), load_recipe(read_metadata(weights_path(path.stem))["recipe"])
    checked = [(figures[name][figure], least) for name, each in recipe.checks.items() for figure, least in each]
    assert checked and all(value >= least for value, least in checked)
