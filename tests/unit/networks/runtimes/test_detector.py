"""The detector on OpenVINO, cut before its last layers, against the network itself."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from plate_nets.common.errors import WeightsError
from plate_nets.contract import CORNERS, YOLO
from plate_nets.countries import main_scheme
from plate_nets.networks.checkpoint import save_weights
from plate_nets.networks.conversion import openvino_ir, torchscript_file
from plate_nets.networks.conversion.graphs.yolov5 import yolov5
from plate_nets.networks.registry import NETWORKS
from plate_nets.networks.runtimes import detector
from plate_nets.networks.runtimes.detector import NEGLIGIBLE, OpenVINODetector
from plate_nets.networks.runtimes.networks import IR, TORCHSCRIPT, network_folder, released
from plate_nets.networks.runtimes.openvino import Precision, compile_model
from plate_nets.networks.runtimes.precision import scene
from plate_nets.networks.runtimes.torchscript import TorchDetector, load_torchscript
from plate_nets.networks.yolov5 import YOLOv5n
from plate_nets.types import VEHICLES
from tests.converters.conftest import randomize


def file_of(repository: Path, name: str) -> Path:
    return network_folder(released(repository, YOLO.name), name) / IR


@pytest.fixture(scope="module")
def network(model_repository: Path) -> OpenVINODetector:
    return OpenVINODetector(file_of(model_repository, YOLO.name), 1, "float32")


@pytest.fixture(scope="module")
def pictures() -> NDArray[np.uint8]:
    return scene()


@pytest.fixture(scope="module")
def expected(pictures: NDArray[np.uint8]) -> NDArray[np.float32]:
    return TorchDetector(NETWORKS[YOLO.name].load(main_scheme()))(pictures)


def test_with_all_rows_the_detector_equals_the_network(
    network: OpenVINODetector, pictures: NDArray[np.uint8], expected: NDArray[np.float32]
) -> None:
    found = network(pictures, least=0.0)
    assert found.shape == expected.shape
    np.testing.assert_allclose(np.sort(found[0], axis=0), np.sort(expected[0], axis=0), atol=1e-2)
    np.testing.assert_allclose(found[0].sum(axis=0), expected[0].sum(axis=0), rtol=1e-4)


def test_rows_that_cannot_be_a_plate_are_left_out(
    network: OpenVINODetector, pictures: NDArray[np.uint8], expected: NDArray[np.float32]
) -> None:
    found = network(pictures)
    likely = expected[0][expected[0, :, 4] >= NEGLIGIBLE]
    assert abs(len(likely) - found.shape[1]) <= 2  # at the border
    assert 0 < found.shape[1] < expected.shape[1] / 10
    assert found[0, :, 4].min() >= NEGLIGIBLE * 0.999


@pytest.mark.parametrize("hw", [(32, 32), (640, 96)])
def test_pictures_of_any_size(network: OpenVINODetector, hw: tuple[int, int]) -> None:
    found = network(np.full((1, *hw, 3), 90, np.uint8), least=0.0)
    assert found.shape == (1, 3 * sum(hw[0] * hw[1] // stride**2 for stride in (8, 16, 32)), 6)
    assert found.dtype == np.float32


@pytest.mark.parametrize("precision", ["float32", "int8"])
def test_frequent_shapes_get_their_own_network(
    model_repository: Path, pictures: NDArray[np.uint8], monkeypatch: pytest.MonkeyPatch, precision: Precision
) -> None:
    made = []

    def compiled(model: Any, threads: int, wanted: Precision) -> Any:
        made.append(str(model.input().get_partial_shape()))
        return compile_model(model, threads, wanted)

    monkeypatch.setattr(detector, "compile_model", compiled)
    monkeypatch.setattr(detector, "FREQUENT", 2)
    network = OpenVINODetector(file_of(model_repository, YOLO.name), 1, precision)
    other, third = (np.ascontiguousarray(pictures[:, :, :width]) for width in (320, 192))
    answers = [[network(given).copy() for given in (pictures, other, third)] for _ in range(3)]
    for first, *more in zip(*answers, strict=True):
        for each in more:
            np.testing.assert_allclose(each, first, atol=1e-2)
    assert made == ["[1,?,?,3]", "[1,384,640,3]", "[1,384,320,3]"]  # and there is no third one


def test_a_file_of_another_network_is_refused_as_a_detector(model_repository: Path) -> None:
    with pytest.raises(WeightsError, match="run `python -m converters`"):
        OpenVINODetector(file_of(model_repository, CORNERS.name), 1, "float32")


@pytest.mark.parametrize("vehicles", [False, True])
def test_weights_with_a_head_for_vehicles_find_them_in_the_same_pass(
    pictures: NDArray[np.uint8], tmp_path: Path, vehicles: bool
) -> None:
    module = YOLOv5n(vehicles=vehicles).eval()
    randomize(module)
    save_weights(module, tmp_path / "yolo.safetensors", {})
    openvino_ir.save(openvino_ir.build(yolov5, tmp_path / "yolo.safetensors"), {}, tmp_path)
    torchscript_file.save(module, np.zeros((1, 3, 64, 64), np.float32), {}, tmp_path)
    eager, scripted = TorchDetector(module), TorchDetector(load_torchscript(tmp_path / TORCHSCRIPT))
    network = OpenVINODetector(tmp_path / IR, 1, "float32")
    rows = network(pictures)
    plates, seen = network.both(pictures)
    np.testing.assert_allclose(plates, rows, atol=1e-4)
    expected = eager.both(pictures)[1]
    if not vehicles:
        assert seen is None and expected is None and scripted.both(pictures)[1] is None
        return
    assert seen is not None and expected is not None
    found = scripted.both(pictures)[1]
    assert found is not None
    np.testing.assert_allclose(found, expected, atol=1e-2)
    assert expected.shape[2] == seen.shape[2] == 5 + len(VEHICLES)
    likely = expected[0][expected[0, :, 4] >= NEGLIGIBLE]
    assert abs(len(likely) - seen.shape[1]) <= 2
    np.testing.assert_allclose(seen[0].mean(axis=0), likely.mean(axis=0), rtol=1e-2)
    half = float(np.median(seen[0, :, 4]))
    _, better = network.both(pictures, half)
    assert better is not None and better[0, :, 4].min() >= half * 0.999
    assert 0.4 < better.shape[1] / seen.shape[1] < 0.6
