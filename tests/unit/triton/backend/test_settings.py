"""Settings of a served model: their sources, and what is refused."""

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from plate_nets.common.errors import ContractError, PlateError
from plate_nets.recognition.detection import DetectionSettings
from plate_nets.triton.backend.detector import Detector
from plate_nets.triton.backend.network_model import TorchScriptModel
from plate_nets.triton.backend.quota import usable_cores
from plate_nets.triton.backend.recognition import Recognition
from plate_nets.triton.backend.settings import NetworkSettings, read_settings, refuse_unknown, thread_count
from tests.fakes import triton


def test_the_environment_overrides_the_config() -> None:
    parameters = {"score_threshold": "0.4", "long_side": "960", "threads": "3"}
    environ = {"PLATES_YOLO_SCORE_THRESHOLD": "0.5", "PLATES_STN_LONG_SIDE": "320"}
    settings = read_settings(DetectionSettings, "yolo", parameters, environ)
    assert settings == DetectionSettings(score_threshold=0.5, long_side=960)


def test_a_value_of_another_type_names_its_source() -> None:
    with pytest.raises(ContractError, match=r"parameter threads of stn/config.pbtxt: expected int, got 'many'"):
        read_settings(NetworkSettings, "stn", {"threads": "many"}, {})
    with pytest.raises(ContractError, match=r"PLATES_STN_THREADS: expected int, got '2.5'"):
        read_settings(NetworkSettings, "stn", {}, {"PLATES_STN_THREADS": "2.5"})


def test_a_value_out_of_range_is_refused() -> None:
    with pytest.raises(PlateError, match="score_threshold: expected 0 to below 1, got 2"):
        read_settings(DetectionSettings, "yolo", {"score_threshold": "2"}, {})


def test_an_unknown_key_is_refused_but_not_one_of_triton() -> None:
    refuse_unknown("stn", {"threads": "1", "EXECUTION_ENV_PATH": "env.tar.gz"}, NetworkSettings)
    with pytest.raises(ContractError, match=r"stn/config.pbtxt: unknown parameter thread; expected threads"):
        refuse_unknown("stn", {"thread": "1"}, NetworkSettings)


@pytest.mark.parametrize("instances", [1, 2, 1000])
def test_threads_of_all_instances_fit_the_cores(instances: int) -> None:
    cores = usable_cores()
    threads = thread_count(NetworkSettings(), instances)
    assert threads >= 1
    assert threads * instances <= max(cores, instances)
    assert thread_count(NetworkSettings(threads=5), instances) == 5


@pytest.mark.parametrize("model", [Detector, Recognition, TorchScriptModel])
def test_a_model_whose_tensors_change_on_the_way_does_not_start(
    model: Callable[[Mapping[str, str]], object], model_repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As beside NumPy 2: the right shape, other bytes."""
    monkeypatch.setattr(triton.Tensor, "from_dlpack", lambda name, sent: triton.Tensor(name, 0 * sent.as_numpy()))
    arguments = triton.model_args(model_repository / "yolo" / "config.pbtxt", Path("/models/yolo"))
    with pytest.raises(triton.TritonModelException, match=r"changes the bytes of arrays of NumPy \d"):
        model(arguments)
