"""The `pytorch` backend: one forward pass per batch, one response per request."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from plate_nets.contract import CROP_DIMS, STN
from plate_nets.triton.backend.network_model import TorchScriptModel
from tests.fakes import triton
from tests.networks import save_ir

CONFIG = Path("stn/config.pbtxt")


class AddOne(torch.nn.Module):
    def forward(self, crops: torch.Tensor) -> torch.Tensor:
        return crops + 1


class ChannelsLast(torch.nn.Module):
    def forward(self, crops: torch.Tensor) -> torch.Tensor:
        return (crops + 1).contiguous(memory_format=torch.channels_last)


def save(network: torch.nn.Module, folder: Path) -> None:
    save_ir(network, folder / "1")
    torch.jit.save(torch.jit.trace(network, torch.zeros(2, *CROP_DIMS)), folder / "1" / "model.pt")


def make(folder: Path, model_repository: Path, **changes: Any) -> TorchScriptModel:
    """The model of a folder, on torch by default."""
    return TorchScriptModel(triton.model_args(model_repository / CONFIG, folder, **{"parameters": {}, **changes}))


@pytest.fixture(params=["torch", "OpenVINO"])
def parameters(request: pytest.FixtureRequest) -> dict[str, Any]:
    """The config's parameters for each runtime."""
    return {"openvino": {"string_value": str(request.param == "OpenVINO").lower()}}


def request(rows: np.ndarray, name: str = STN.inputs[0].name) -> triton.InferenceRequest:
    return triton.InferenceRequest("stn", inputs=[triton.Tensor(name, rows)])


def set_network(model: TorchScriptModel, network: Callable[[Any], Any]) -> None:
    """Make a model call this instead of its network."""
    runtime: Any = model._runtime
    runtime._network = network


def counted_network(model: TorchScriptModel) -> "Counted":
    """From now on, count what a model asks of its network."""
    runtime: Any = model._runtime
    counted = Counted(runtime._network)
    set_network(model, counted)
    return counted


def crops(*values: float) -> np.ndarray:
    return np.stack([np.full(CROP_DIMS, value, np.float32) for value in values])


class Counted:
    """Counts the forward passes of a network, and the rows of each."""

    def __init__(self, network: Any) -> None:
        self.network = network
        self.batches: list[int] = []

    def __call__(self, rows: Any) -> Any:
        self.batches.append(len(rows))
        return self.network(rows)


def values(responses: Sequence[triton.InferenceResponse]) -> list[list[float]]:
    return [[float(row[0, 0, 0]) for row in each.output_tensors()[0].as_numpy()] for each in responses]


@pytest.mark.parametrize("network", [AddOne, ChannelsLast])
def test_the_requests_of_a_batch_run_in_one_forward_pass(
    network: type[torch.nn.Module], parameters: dict[str, Any], tmp_path: Path, model_repository: Path
) -> None:
    save(network(), tmp_path)
    model = make(tmp_path, model_repository, parameters=parameters)
    counted = counted_network(model)
    responses = model.execute([request(crops(1)), request(crops(2, 3, 4)), request(crops(5, 6))])
    assert values(responses) == [[2], [3, 4, 5], [6, 7]]
    assert counted.batches == [6]


def test_a_bad_request_is_answered_alone(parameters: dict[str, Any], tmp_path: Path, model_repository: Path) -> None:
    save(AddOne(), tmp_path)
    model = make(tmp_path, model_repository, parameters=parameters)
    counted = counted_network(model)
    bad = [
        request(np.zeros((1, 3, 24, 95), np.float32)),
        request(np.zeros((1, *CROP_DIMS), np.float64)),
        request(crops(9), name="other"),
    ]
    first, *refused, last = model.execute([request(crops(1)), *bad, request(crops(2))])
    assert values([first, last]) == [[2], [3]]
    assert counted.batches == [2]
    for response, what in zip(refused, ["(1, 3, 24, 95)", "float64", "got none"], strict=True):
        assert response.error().code() == triton.TritonError.INVALID_ARG
        assert response.error().message().startswith("PLATES_BAD_INPUT: ")
        assert what in response.error().message()
    assert all(response.has_error() for response in model.execute(bad))
    assert counted.batches == [2], "a batch of bad requests runs no forward pass"


def test_a_failing_network_hides_its_traceback(
    parameters: dict[str, Any], tmp_path: Path, model_repository: Path, fake_server: triton.Server
) -> None:
    save(AddOne(), tmp_path)
    model = make(tmp_path, model_repository, parameters=parameters)

    def fail(rows: object) -> object:
        raise RuntimeError(f"secret {tmp_path}")

    set_network(model, fail)
    responses = model.execute([request(crops(1)), request(np.zeros((1, 1), np.float32))])
    assert [each.error().code() for each in responses] == [triton.TritonError.INTERNAL, triton.TritonError.INVALID_ARG]
    assert responses[0].error().message() == "PLATES_INTERNAL: unexpected RuntimeError; see the server's log"
    assert "secret" in triton.Logger.lines[0]


def test_a_model_that_was_not_converted_is_reported(tmp_path: Path, model_repository: Path) -> None:
    with pytest.raises(triton.TritonModelException, match=r"model.pt: no such file; .* run `python -m converters`"):
        make(tmp_path, model_repository)


def test_a_damaged_model_is_named(tmp_path: Path, model_repository: Path) -> None:
    save(AddOne(), tmp_path)
    path = tmp_path / "1" / "model.pt"
    path.write_bytes(path.read_bytes()[:1000])
    with pytest.raises(triton.TritonModelException, match=r"model.pt: cannot be loaded as TorchScript"):
        make(tmp_path, model_repository)


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"output": []}, "expected one input and one output, got 1 and 0"),
        ({"output": [{"name": "x", "data_type": "TYPE_INT32", "dims": ["1"]}]}, "x: expected FP32, got INT32"),
        ({"parameters": {"threads": {"string_value": "x"}}}, "expected int, got 'x'"),
        ({"parameters": {"speed": {"string_value": "1"}}}, "unknown parameter speed"),
    ],
)
def test_a_partly_wrong_config_stops_the_start(
    changes: dict[str, Any], fault: str, tmp_path: Path, model_repository: Path
) -> None:
    save(AddOne(), tmp_path)
    with pytest.raises(triton.TritonModelException, match=fault):
        make(tmp_path, model_repository, **changes)


def test_the_number_of_threads_is_a_setting(tmp_path: Path, model_repository: Path) -> None:
    save(AddOne(), tmp_path)
    before = torch.get_num_threads()
    try:
        make(tmp_path, model_repository, parameters={"threads": {"string_value": "1"}})
        assert torch.get_num_threads() == 1
    finally:
        torch.set_num_threads(before)


def test_each_answer_has_its_own_memory(parameters: dict[str, Any], tmp_path: Path, model_repository: Path) -> None:
    save(AddOne(), tmp_path)
    model = make(tmp_path, model_repository, parameters=parameters)
    first = model.execute([request(crops(1, 2)), request(crops(3))])
    second = model.execute([request(crops(4, 5, 6))])
    assert values(first) == [[2, 3], [4]]
    assert values(second) == [[5, 6, 7]]


@pytest.mark.parametrize(
    ("damage", "fault"),
    [
        (lambda folder: (folder / "model.xml").unlink(), "model.xml: not converted yet; run `python -m converters`"),
        (lambda folder: (folder / "model.bin").unlink(), "model.xml: cannot be loaded: "),
        (lambda folder: (folder / "model.xml").write_text("<net>"), "model.xml: cannot be loaded: "),
    ],
)
def test_a_damaged_ir_is_named(
    damage: Callable[[Path], None], fault: str, tmp_path: Path, model_repository: Path
) -> None:
    save(torch.nn.Sequential(torch.nn.Conv2d(3, 3, 1)), tmp_path)
    damage(tmp_path / "1")
    with pytest.raises(triton.TritonModelException, match=fault):
        make(tmp_path, model_repository, parameters={"openvino": {"string_value": "true"}})
