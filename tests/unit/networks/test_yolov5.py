from pathlib import Path

import pytest
import torch

from plate_nets.networks.checkpoint import load_weights, save_weights
from plate_nets.networks.yolov5 import YOLOv5n

SIZES = [(160, 96), (128, 128)]
"""Neither is that of a trace."""


@pytest.fixture(scope="module")
def network() -> YOLOv5n:
    """Random weights whose batch normalisation has an effect."""
    torch.manual_seed(0)
    network = YOLOv5n().eval()
    for key, buffer in network.named_buffers():
        if key.endswith("running_var"):
            buffer.uniform_(0.5, 1.5)
        elif key.endswith("running_mean"):
            buffer.uniform_(-0.2, 0.2)
    return network


@pytest.mark.parametrize("classes", [1, 3])
def test_rows(classes: int) -> None:
    network = YOLOv5n(classes).eval()
    with torch.no_grad():
        rows = network(torch.rand(2, 3, 64, 96))
    assert rows.shape == (2, 3 * (8 * 12 + 4 * 6 + 2 * 3), 5 + classes)
    assert rows.dtype == torch.float32
    assert (rows[..., 2:4] > 0).all()
    assert ((rows[..., 4:] >= 0) & (rows[..., 4:] <= 1)).all()


@pytest.mark.parametrize("vehicles", [False, True])
def test_weights_may_lack_the_head_for_vehicles(vehicles: bool, tmp_path: Path) -> None:
    path = tmp_path / "yolo.safetensors"
    given, loaded = YOLOv5n(vehicles=vehicles), YOLOv5n()
    save_weights(given, path, {})
    load_weights(loaded, path)
    assert loaded.state_dict().keys() == given.state_dict().keys()
    assert (loaded.vehicles is not None) == vehicles


@pytest.mark.slow
@pytest.mark.parametrize("fused", [False, True])
def test_a_trace_gives_the_same_boxes(network: YOLOv5n, fused: bool) -> None:
    """`test_registry.py` has the script of each network."""
    other: torch.nn.Module = YOLOv5n().eval()
    other.load_state_dict(network.state_dict())
    if fused:
        other.fuse()  # type: ignore[operator]
    other = torch.jit.trace(other, torch.rand(1, 3, 64, 96))
    for hw in SIZES:
        picture = torch.rand(1, 3, *hw)
        with torch.no_grad():
            torch.testing.assert_close(other(picture), network(picture), atol=1e-3, rtol=1e-4)


def test_a_picture_gets_the_same_answer_alone_and_in_a_batch(network: YOLOv5n) -> None:
    pictures = torch.rand(3, 3, 96, 64)
    with torch.no_grad():
        together = network(pictures)
        alone = torch.cat([network(picture[None]) for picture in pictures])
    torch.testing.assert_close(together, alone, atol=1e-4, rtol=1e-4)
