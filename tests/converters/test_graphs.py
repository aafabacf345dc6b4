"""Graphs that are built without torch match the torch networks."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import openvino
import pytest
import torch
from torch import nn

from plate_nets.common.errors import ConversionError, WeightsError
from plate_nets.contract import COUNTRY
from plate_nets.countries import main_scheme
from plate_nets.networks.checkpoint import save_weights
from plate_nets.networks.conversion import openvino_ir
from plate_nets.networks.conversion.conversion import convert
from plate_nets.networks.conversion.graphs.corners import corners
from plate_nets.networks.conversion.graphs.country import country
from plate_nets.networks.conversion.graphs.lprnet import lprnet
from plate_nets.networks.conversion.graphs.stn import stn
from plate_nets.networks.conversion.graphs.yolov5 import yolov5
from plate_nets.networks.conversion.reference import REFERENCE, read_reference, sample
from plate_nets.networks.conversion.table import conversions
from plate_nets.networks.conversion.torchscript_file import answers
from plate_nets.networks.corners import CornerNet
from plate_nets.networks.country import CountryNet
from plate_nets.networks.lprnet import LPRNet
from plate_nets.networks.registry import NETWORKS
from plate_nets.networks.runtimes.openvino import compile_model
from plate_nets.networks.stn import STN
from plate_nets.networks.yolov5 import YOLOv5Fast, YOLOv5n
from tests.converters.conftest import randomize
from tests.paths import ROOT

CONVERSIONS = conversions(main_scheme())

WITHOUT_TORCH = "import sys; sys.modules['torch'] = None; from converters.__main__ import app; app()"
"""A Python in which torch cannot be imported, as if it was not installed."""


def convert_without_torch(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", WITHOUT_TORCH, *map(str, arguments)],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT), "COLUMNS": "200"},
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.fixture(scope="module")
def made_without_torch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model repository of the committed networks, converted without torch."""
    repository = tmp_path_factory.mktemp("model_repository")
    stale = repository / CONVERSIONS["stn"].folder / "model.pt"
    stale.parent.mkdir(parents=True)
    stale.write_bytes(b"of former weights")
    result = convert_without_torch("--model-repository", repository)
    assert result.returncode == 0, result.stderr
    assert "torch is not installed: TorchScript is skipped" in result.stdout
    assert 'pip install "plate-nets[convert]"' in result.stdout
    for name in CONVERSIONS:
        assert f"{name}: converted, model.bin + model.xml, largest difference" in result.stdout
    return repository


@pytest.mark.slow
@pytest.mark.parametrize("name", CONVERSIONS)
def test_files_made_without_torch_reproduce_the_network(name: str, made_without_torch: Path) -> None:
    conversion = CONVERSIONS[name]
    network = NETWORKS[name].load(main_scheme())
    folder = made_without_torch / conversion.folder
    assert sorted(path.name for path in folder.iterdir() if path.is_file()) == ["model.bin", "model.xml"]
    rng = np.random.default_rng(1)
    inputs = [rng.uniform(conversion.low, conversion.high, shape).astype(np.float32) for shape in conversion.shapes]
    for found, wanted in zip(openvino_ir.run(folder, inputs), answers(network, inputs), strict=True):
        assert np.max(np.abs(found - wanted) / (1 + np.abs(wanted))) <= conversion.tolerance


def test_an_ir_has_the_same_provenance_with_and_without_torch(made_without_torch: Path) -> None:
    for conversion in CONVERSIONS.values():
        provenance = openvino_ir.current_provenance(conversion.weights)
        assert openvino_ir.saved_provenance(made_without_torch / conversion.folder) == provenance
    again = convert_without_torch("--model-repository", made_without_torch)
    assert again.stdout.splitlines()[1:] == [f"{name}: up to date" for name in CONVERSIONS]


def test_inputs_have_the_names_of_the_networks_arguments(made_without_torch: Path) -> None:
    for name, expected in (
        ("yolo", "x"),
        ("corners", "windows"),
        ("stn", "crops"),
        ("lprnet", "crops"),
        ("country", "crops"),
    ):
        model = openvino.Core().read_model(made_without_torch / CONVERSIONS[name].folder / "model.xml")
        assert [each.get_any_name() for each in model.inputs] == [expected]


@pytest.mark.parametrize("name", CONVERSIONS)
def test_the_reference_numbers_are_those_of_the_network(name: str) -> None:
    conversion = CONVERSIONS[name]
    network = NETWORKS[name].load(main_scheme())
    array = np.random.RandomState(0).uniform(conversion.low, conversion.high, conversion.shapes[0])
    (output,) = answers(network, [array.astype(np.float32)])
    reference = read_reference(NETWORKS[name].weights)
    assert reference is not None
    np.testing.assert_array_less(
        np.abs(reference - sample(output)) / (1 + np.abs(reference)), conversion.tolerance / 10
    )


def test_without_torch_other_numbers_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The weights are not those whose reference numbers were recorded."""
    network = STN()
    randomize(network)
    weights = tmp_path / "weights" / "stn.safetensors"
    save_weights(network, weights, {}, main_scheme())
    conversion = replace(CONVERSIONS["stn"], weights=weights)
    monkeypatch.setitem(sys.modules, "torch", None)
    assert convert(conversion, tmp_path) == (), "no numbers, no comparison"
    recorded = json.loads((NETWORKS["stn"].weights.parent / REFERENCE).read_text(encoding="utf-8"))
    (weights.parent / REFERENCE).write_text(json.dumps({"stn.safetensors": recorded["stn.safetensors"]}))
    with pytest.raises(ConversionError, match=r"model\.xml: input \(2, 3, 24, 94\): differs from the network by"):
        convert(conversion, tmp_path)


@pytest.mark.parametrize("content", [b"[1,", b"[]", b'{"a": 1}', b'{"a": ["b"]}', b"[" * 100_000, b"\xff"])
def test_invalid_reference_numbers_are_refused_with_the_file_name(tmp_path: Path, content: bytes) -> None:
    (tmp_path / REFERENCE).write_bytes(content)
    with pytest.raises(WeightsError, match=rf"{REFERENCE}: expected"):
        read_reference(tmp_path / "a")


@pytest.mark.parametrize(
    ("network", "graph", "shape", "out"),
    [
        (STN, stn, (3, 3, 24, 94), (3, 3, 24, 94)),
        (partial(LPRNet, 23), lprnet, (3, 3, 24, 94), (3, 23, 18)),
        (partial(LPRNet, 37), lprnet, (1, 3, 24, 94), (1, 37, 18)),
        (CornerNet, corners, (3, 3, 64, 128), (3, 10)),
        (CountryNet, country, (3, 3, 24, 94), (3, *COUNTRY.outputs[0].dims)),
        (YOLOv5n, yolov5, (2, 3, 64, 96), (2, 378, 6)),
        (YOLOv5Fast, yolov5, (2, 3, 64, 96), (2, 378, 6)),
        (partial(YOLOv5n, classes=4), yolov5, (1, 3, 96, 64), (1, 378, 9)),
    ],
    ids=["stn", "lprnet", "lprnet of another alphabet", "corners", "country", "yolo", "fast", "yolo of four classes"],
)
def test_a_graph_computes_the_same_as_its_network_for_any_weights(
    network: Callable[[], nn.Module],
    graph: openvino_ir.Graph,
    shape: tuple[int, ...],
    out: tuple[int, ...],
    tmp_path: Path,
) -> None:
    defined = network()
    randomize(defined)
    save_weights(defined, tmp_path / "weights.safetensors", {})
    openvino_ir.save(openvino_ir.build(graph, tmp_path / "weights.safetensors"), {}, tmp_path)
    array = np.random.default_rng(0).uniform(0, 1, shape).astype(np.float32)
    (found,) = openvino_ir.run(tmp_path, [array])
    (wanted,) = answers(defined.eval(), [array])
    assert found.shape == wanted.shape == out
    np.testing.assert_allclose(found, wanted, 1e-4, 1e-4)


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (lambda state: state.pop("affine.2.bias"), "tensor affine.2.bias is missing"),
        (lambda state: state.update(more=torch.zeros(2)), "1 tensors are unknown, first more"),
        (lambda state: state.update({"localization.3.weight": torch.zeros(32, 20, 3, 3)}), "not weights of stn: "),
    ],
)
def test_weights_of_another_network_are_refused(
    change: Callable[[dict[str, torch.Tensor]], object], fault: str, tmp_path: Path
) -> None:
    state = dict(STN().state_dict())
    change(state)
    holder = nn.Module()
    holder.state_dict = lambda: state  # type: ignore[method-assign, assignment]
    path = tmp_path / "stn.safetensors"
    save_weights(holder, path, {})
    with pytest.raises(WeightsError) as error:
        openvino_ir.build(stn, path)
    assert str(error.value).startswith(f"{path}: not weights of stn: ")
    assert fault in str(error.value)


def test_the_detectors_graph_gives_vehicles_beside_plates(tmp_path: Path) -> None:
    network = YOLOv5n().eval()
    randomize(network)
    assert network.vehicles is not None
    save_weights(network, tmp_path / "weights.safetensors", {})
    model = openvino_ir.build(yolov5, tmp_path / "weights.safetensors")
    array = np.random.default_rng(0).uniform(0, 1, (1, 3, 96, 64)).astype(np.float32)
    answer = compile_model(model, 1, "float32")([array])
    with torch.no_grad():
        pictures = torch.from_numpy(array)
        expected = network(pictures), network.vehicles(network.features(pictures))
    assert [each.shape for each in expected] == [(1, 378, 6), (1, 378, 9)]
    for found, rows in zip(answer.values(), expected, strict=True):
        np.testing.assert_allclose(found, rows.numpy(), rtol=1e-3, atol=1e-3)
