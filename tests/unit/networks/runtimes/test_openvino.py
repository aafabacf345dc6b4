"""OpenVINO: results, and in a process of its own signals and memory."""

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn, cast

import numpy as np
import openvino
import pytest
from openvino import opset13

from plate_nets.common.errors import ServerError
from plate_nets.networks.runtimes import openvino as runtime
from plate_nets.networks.runtimes.openvino import check_output, infer, load_ir

INTERRUPTED = """
import signal
from openvino import Model, opset13 as opset
from plate_nets.networks.runtimes.openvino import compile_model

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell starts its background jobs with SIGINT ignored
given = opset.parameter([1], name="x")
model = Model([opset.relu(given)], [given])
first, second = (compile_model(model, 1, "float32") for _ in range(2))
del first, second
try:
    signal.raise_signal(signal.SIGINT)
except KeyboardInterrupt:
    print("interrupted")
"""

SIZES = """
import numpy as np, psutil
from openvino import Model, opset13 as opset
from plate_nets.networks.runtimes.openvino import compile_model

given = opset.parameter([1, 4, -1, -1], np.float32)
layer = opset.convolution(given, opset.constant(np.ones((4, 4, 3, 3), np.float32)), [1] * 2, *[[1] * 2] * 3)
request = compile_model(Model([layer], [given]), 1, "float32").create_infer_request()
for size in range(1600):
    if size == 1200:
        before = psutil.Process().memory_info().rss
    request.infer([np.zeros((1, 4, 8 + size // 40, 8 + size % 40), np.float32)])
print((psutil.Process().memory_info().rss - before) >> 20)
"""


def test_memory_is_bounded_when_every_picture_has_another_size() -> None:
    """Unbounded, it grew by 47 MB from the 1,200th size to the 1,600th."""
    done = subprocess.run([sys.executable, "-c", SIZES], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 20


def test_ctrl_c_after_networks_are_deleted_is_an_exception() -> None:
    done = subprocess.run([sys.executable, "-c", INTERRUPTED], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "interrupted\n"), done.stderr


def test_a_result_outlives_the_next_call(tmp_path: Path) -> None:
    given = opset13.parameter([-1, 4], np.float32)
    openvino.save_model(openvino.Model([opset13.relu(given)], [given]), tmp_path / "model.xml")
    network = load_ir(tmp_path / "model.xml", threads=1)
    ones = network(np.ones((2, 4), np.float32))
    network(np.full((2, 4), 3, np.float32))
    assert ones.tolist() == [[1] * 4] * 2


def test_an_output_without_values_names_memory() -> None:
    """OpenVINO gives one, instead of an error, when memory runs out."""
    check_output(np.zeros((1, 2), np.float32), "yolo")
    with pytest.raises(ServerError, match="yolo: the network gave no values: there is too little memory"):
        check_output(np.zeros((1, 2, 0, 0), np.float32), "yolo")


@pytest.mark.parametrize("said", ["std::bad_alloc", "[CPU] Convolution node with name 'Convolution_135' can't alloc"])
def test_a_call_that_memory_is_too_little_for_names_it(said: str) -> None:
    def fails(*_: object, **__: object) -> NoReturn:
        raise RuntimeError(f"Exception from src/inference/src/cpp/infer_request.cpp:224:\n{said}\n\n")

    with pytest.raises(ServerError, match=r"^yolo: the network gave no values: there is too little memory for it"):
        infer(cast(Any, SimpleNamespace(infer=fails)), np.zeros(1), "yolo")
    said = "shape.compatible"
    with pytest.raises(RuntimeError, match=said):
        infer(cast(Any, SimpleNamespace(infer=fails)), np.zeros(1), "yolo")


@pytest.mark.parametrize(("machine", "asked"), [("x86_64", True), ("aarch64", False), ("arm64", False)])
def test_layers_are_not_kept_on_arm(monkeypatch: pytest.MonkeyPatch, machine: str, asked: bool) -> None:
    """OpenVINO 2026.4 computes wrong numbers with them there; `make arm64` shows the whole."""
    options: dict[str, str] = {}
    fake = SimpleNamespace(compile_model=lambda model, device, given: options.update(given))
    monkeypatch.setattr(runtime, "core", lambda: fake)
    monkeypatch.setattr("platform.machine", lambda: machine)
    runtime.compile_model(None, 1, "float32")
    assert ("CPU_RUNTIME_CACHE_CAPACITY" in options) == asked
