"""Means of weights from `python -m training.average`."""

from pathlib import Path

import torch

from plate_nets.countries import main_scheme
from plate_nets.networks.checkpoint import ACTIVATION, load_weights, save_weights
from plate_nets.networks.stn import STN
from plate_nets.networks.yolov5 import YOLOv5n
from tests.commands import invoke
from training import average


def test_the_mean_of_two_files_is_written(tmp_path: Path) -> None:
    files = []
    for seed in range(2):
        torch.manual_seed(seed)
        files.append(tmp_path / str(seed) / "stn.safetensors")
        save_weights(STN(), files[-1], {}, main_scheme())
    out = tmp_path / "mean" / "stn.safetensors"
    result = invoke(average.main, *files, "--out", out)
    assert result.exit_code == 0, result.output
    first, second, mean = STN(), STN(), STN()
    for network, path in zip((first, second, mean), (*files, out), strict=True):
        load_weights(network, path, main_scheme())
    weight = "localization.0.weight"
    expected = (first.state_dict()[weight] + second.state_dict()[weight]) / 2
    assert torch.allclose(mean.state_dict()[weight], expected)
    weighted = [*map(str, files), "--out", str(out), "--share", "3", "--share", "1"]
    assert invoke(average.main, *weighted).exit_code == 0
    load_weights(mean, out, main_scheme())
    expected = 0.75 * first.state_dict()[weight] + 0.25 * second.state_dict()[weight]
    assert torch.allclose(mean.state_dict()[weight], expected)
    for wrong in ([str(files[0]), "--out", str(tmp_path / "other.safetensors")], weighted[:-2], [*weighted[:-1], "0"]):
        assert invoke(average.main, *wrong).exit_code == 1


def test_a_part_missing_in_one_file_is_taken_from_the_other(tmp_path: Path) -> None:
    networks = YOLOv5n(), YOLOv5n(vehicles=False)
    files = [tmp_path / str(number) / "yolo.safetensors" for number in range(2)]
    for network, path in zip(networks, files, strict=True):
        save_weights(network, path, {ACTIVATION: network.activation})
    out = tmp_path / "yolo.safetensors"
    for order in (files, files[::-1]):
        assert invoke(average.main, *order, "--out", out).exit_code == 0
        mean = YOLOv5n()
        load_weights(mean, out)
        for name, value in networks[0].state_dict().items():
            other = networks[1].state_dict().get(name, value)
            assert torch.allclose(mean.state_dict()[name].float(), (value.float() + other.float()) / 2)
