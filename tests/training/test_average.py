"""Means of weights."""

from pathlib import Path

import torch
import typer
from typer.testing import CliRunner

from plate_nets.nets.checkpoint import load_weights, save_weights
from plate_nets.nets.stn import STN
from plate_nets.plates import default_scheme
from training import average


def test_mean_of_two(tmp_path: Path) -> None:
    app = typer.Typer()
    app.command()(average.main)
    files = []
    for seed in range(2):
        torch.manual_seed(seed)
        files.append(tmp_path / str(seed) / "stn.safetensors")
        save_weights(STN(), files[-1], {}, default_scheme())
    out = tmp_path / "mean" / "stn.safetensors"
    result = CliRunner().invoke(app, [*map(str, files), "--out", str(out)])
    assert result.exit_code == 0, result.output
    first, second, mean = STN(), STN(), STN()
    for network, path in zip((first, second, mean), (*files, out), strict=True):
        load_weights(network, path, default_scheme())
    weight = "localization.0.weight"
    expected = (first.state_dict()[weight] + second.state_dict()[weight]) / 2
    assert torch.allclose(mean.state_dict()[weight], expected)
    refused = CliRunner().invoke(app, [str(files[0]), "--out", str(tmp_path / "other.safetensors")])
    assert refused.exit_code == 1
