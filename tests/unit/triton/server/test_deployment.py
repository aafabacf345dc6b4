"""What a server says of how it is deployed."""

from pathlib import Path

import pytest

from plate_nets.triton.server import deployment
from plate_nets.triton.server.deployment import LIBTORCH, warnings
from plate_nets.triton.server.ports import LOOPBACK


@pytest.mark.parametrize(("has_libtorch", "has_gpu", "warned"), [(1, 0, 1), (1, 1, 0), (0, 0, 0)])
def test_an_image_for_a_gpu_says_that_it_sees_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_libtorch: int, has_gpu: int, warned: int
) -> None:
    program, libtorch, gpu = tmp_path / "bin" / "tritonserver", tmp_path / LIBTORCH, tmp_path / "nvidiactl"
    for path in (program, *(libtorch,) * has_libtorch, *(gpu,) * has_gpu):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch(mode=0o755)
    monkeypatch.setenv("PATH", str(program.parent))
    monkeypatch.setattr(deployment, "GPUS", (gpu,))
    said = [each for each in warnings(tmp_path, LOOPBACK, "system") if "GPU" in each]
    assert len(said) == warned
    assert not any("GPU" in each for each in warnings(tmp_path, LOOPBACK, "embedded"))
