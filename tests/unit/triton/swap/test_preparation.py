"""New weights on a machine without torch: only the IR, tested by the known picture."""

import shutil
import sys
from pathlib import Path

import pytest
from safetensors.numpy import save_file

from plate_nets.common.errors import MissingExtra
from plate_nets.networks.checkpoint import read_weights, weights_path
from plate_nets.networks.runtimes.networks import IR, IR_WEIGHTS, TORCHSCRIPT
from plate_nets.triton.swap.preparation import prepare


@pytest.fixture
def repository(model_repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The project's own without TorchScript, on a machine without torch."""
    monkeypatch.setitem(sys.modules, "torch", None)
    ignored = shutil.ignore_patterns(TORCHSCRIPT, "__pycache__")
    return Path(shutil.copytree(model_repository, tmp_path / "model_repository", ignore=ignored))


def test_a_swap_needs_no_torch(repository: Path) -> None:
    with prepare("yolo", weights_path("yolo"), repository) as (prepared, comparisons):
        assert {path.name for path in prepared.iterdir()} == {IR, IR_WEIGHTS, "model.py", "corners", "yolo_fast"}
        assert [each.files for each in comparisons] == [(IR_WEIGHTS, IR)]


def test_swapping_one_network_of_a_model_keeps_the_other(repository: Path, tmp_path: Path) -> None:
    served = repository / "yolo" / "1"
    arrays = read_weights(weights_path("corners"))
    arrays["votes.bias"] = arrays["votes.bias"] * 1.01
    weights = tmp_path / "corners.safetensors"
    save_file(arrays, weights)
    with prepare("corners", weights, repository) as (prepared, _):
        for name in (IR_WEIGHTS, "model.py"):
            assert (prepared / name).read_bytes() == (served / name).read_bytes()
        new, former = (folder / "corners" / IR_WEIGHTS for folder in (prepared, served))
        assert new.read_bytes() != former.read_bytes()


def test_torch_is_required_if_the_version_in_service_has_torchscript(repository: Path) -> None:
    (repository / "stn" / "1" / TORCHSCRIPT).touch()
    with (
        pytest.raises(MissingExtra, match=r"stn/1/model\.pt needs torch: pip install \"plate-nets\[convert\]"),
        prepare("stn", weights_path("stn"), repository),
    ):
        pass
