"""The `pytorch` backend: one forward pass per batch, one response per request."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
import torch

from plate_nets.contract import CROP_DIMS, STN
from plate_nets.triton.backend.network_model import TorchScriptModel
from tests.fakes import triton
from tests.networks import save_ir

Make = Callable[..., TorchScriptModel]


class AddOne(torch.nn.Module):
    def forward(self, crops: torch.Tensor) -> torch.Tensor:
        return crops + 1


class ChannelsLast(torch.nn.Module):
    def forward(self, crops: torch.Tensor) -> torch.Tensor:
        return (crops + 1).contiguous(memory_format=torch.channels_last)


def on(runtime: str) -> dict[str, Any]:
    """The config's parameters for a runtime."""
    return {"openvino": {"string_value": str(runtime == "OpenVINO").lower()}}


@pytest.fixture(params=["torch", "OpenVINO"])
def parameters(request: pytest.FixtureRequest) -> dict[str, Any]:
    return on(request.param)


def save(network: torch.nn.Module, folder: Path) -> None:
    save_ir(network, folder)
    torch.jit.save(torch.jit.trace(network, torch.zeros(2, *CROP_DIMS)), folder / "model.pt")


@pytest.fixture
def make(tmp_path: Path, model_repository: Path) -> Make:
    """Saves a network and loads its model, on torch by default. Without a network, it loads what is there."""

    def model(network: torch.nn.Module | None = AddOne(), **changes: Any) -> TorchScriptModel:
        if network:
            save(network, tmp_path / "1")
        config = model_repository / "stn" / "config.pbtxt"
        return TorchScriptModel(triton.model_args(config, tmp_path, **{"parameters": {}, **changes}))

    return model


def request(rows: np.ndarray, name: str = STN.inputs[0].name) -> triton.InferenceRequest:
    return triton.InferenceRequest("stn", inputs=[triton.Tensor(name, rows)])


def crops(*values: float) -> np.ndarray:
    return np.stack([np.full(CROP_DIMS, value, np.float32) for value in values])


def watched(model: TorchScriptModel) -> Mock:
    """The network of a model, which notes its forward passes from now on."""
    runtime: Any = model._runtime
    runtime._network = network = Mock(side_effect=runtime._network)
    return network


def batches(network: Mock) -> list[int]:
    """The rows of each forward pass."""
    return [len(each.args[0]) for each in network.call_args_list]


def values(responses: Sequence[triton.InferenceResponse]) -> list[list[float]]:
    return [[float(row[0, 0, 0]) for row in each.output_tensors()[0].as_numpy()] for each in responses]


@pytest.mark.parametrize("network", [AddOne(), ChannelsLast()])
def test_the_requests_of_a_batch_run_in_one_forward_pass_and_have_answers_with_memory_of_their_own(
    network: torch.nn.Module, parameters: dict[str, Any], make: Make
) -> None:
    model = make(network, parameters=parameters)
    seen = watched(model)
    first = model.execute([request(crops(1)), request(crops(2, 3, 4)), request(crops(5, 6))])
    second = model.execute([request(crops(7, 8, 9))])
    assert values(first) == [[2], [3, 4, 5], [6, 7]]
    assert values(second) == [[8, 9, 10]]
    assert batches(seen) == [6, 3]


def test_a_bad_request_is_answered_alone(parameters: dict[str, Any], make: Make) -> None:
    model = make(parameters=parameters)
    seen = watched(model)
    bad = [
        request(np.zeros((1, 3, 24, 95), np.float32)),
        request(np.zeros((1, *CROP_DIMS), np.float64)),
        request(crops(9), name="other"),
    ]
    first, *refused, last = model.execute([request(crops(1)), *bad, request(crops(2))])
    assert values([first, last]) == [[2], [3]]
    for response, what in zip(refused, ["(1, 3, 24, 95)", "float64", "got none"], strict=True):
        assert response.error().code() == triton.TritonError.INVALID_ARG
        assert response.error().message().startswith("PLATES_BAD_INPUT: ")
        assert what in response.error().message()
    assert all(response.has_error() for response in model.execute(bad))
    assert batches(seen) == [2], "a batch of bad requests runs no forward pass"


def test_a_failing_network_hides_its_traceback(
    parameters: dict[str, Any], make: Make, fake_server: triton.Server
) -> None:
    model = make(parameters=parameters)
    watched(model).side_effect = RuntimeError("secret")
    responses = model.execute([request(crops(1)), request(np.zeros((1, 1), np.float32))])
    assert [each.error().code() for each in responses] == [triton.TritonError.INTERNAL, triton.TritonError.INVALID_ARG]
    assert responses[0].error().message() == "PLATES_INTERNAL: unexpected RuntimeError; see the server's log"
    assert "secret" in triton.Logger.lines[0]


def cut(path: Path) -> None:
    os.truncate(path, 100)


@pytest.mark.parametrize(
    ("runtime", "file", "damage", "fault"),
    [
        ("torch", "model.pt", Path.unlink, "model.pt: no such file; .* run `python -m converters`"),
        ("torch", "model.pt", cut, "model.pt: cannot be loaded as TorchScript"),
        ("OpenVINO", "model.xml", Path.unlink, "model.xml: not converted yet; run `python -m converters`"),
        ("OpenVINO", "model.xml", cut, "model.xml: cannot be loaded: "),
        ("OpenVINO", "model.bin", Path.unlink, "model.xml: cannot be loaded: "),
    ],
)
def test_a_missing_or_damaged_file_is_named(
    runtime: str, file: str, damage: Callable[[Path], None], fault: str, tmp_path: Path, make: Make
) -> None:
    save(torch.nn.Conv2d(3, 3, 1), tmp_path / "1")
    damage(tmp_path / "1" / file)
    with pytest.raises(triton.TritonModelException, match=fault):
        make(None, parameters=on(runtime))


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"output": []}, "expected one input and one output, got 1 and 0"),
        ({"output": [{"name": "x", "data_type": "TYPE_INT32", "dims": ["1"]}]}, "x: expected FP32, got INT32"),
        ({"parameters": {"threads": {"string_value": "x"}}}, "expected int, got 'x'"),
        ({"parameters": {"speed": {"string_value": "1"}}}, "unknown parameter speed"),
    ],
)
def test_a_partly_wrong_config_stops_the_start(changes: dict[str, Any], fault: str, make: Make) -> None:
    with pytest.raises(triton.TritonModelException, match=fault):
        make(**changes)


def test_the_number_of_threads_is_a_setting(make: Make) -> None:
    before = torch.get_num_threads()
    try:
        make(parameters={"threads": {"string_value": "1"}})
        assert torch.get_num_threads() == 1
    finally:
        torch.set_num_threads(before)
