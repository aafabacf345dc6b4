"""The head that tells plates from other things: how its windows are chosen, and that it learns."""

import numpy as np
import torch

from plate_nets.networks.corners import CornerNet, pooled
from plate_nets.recognition.detection import DetectionSettings, PlateDetector
from training.corners.plate_head import SHIFT, features, fit, mine, rendered


def test_windows_show_plates_and_what_the_detector_takes_for_them() -> None:
    # 640 x 640 px: a box on the plate, one beside it, a sure one beside it, a narrow one
    rows = [(150, 110, 100, 20, 0.9), (400, 300, 100, 20, 0.2), (400, 500, 100, 20, 0.8), (20, 500, 5, 4, 0.2)]
    answer = np.array([[*row, 1.0] for row in rows], np.float32)[None]
    detector = PlateDetector(lambda picture: answer, DetectionSettings(proposal=0.03))
    frame, labelled = np.zeros((640, 640, 3), np.uint8), np.array([[100, 100, 200, 120]], np.float32)
    windows = mine(frame, labelled, 0.5, detector, np.random.default_rng(0))
    assert [shows for _, shows in windows] == [True, True, True, False], "the label, moved, as found; and no plate"
    assert all(window.shape == (3, 64, 128) for window, _ in windows)
    assert not any(not shows for _, shows in mine(frame, labelled, 0.0, detector, np.random.default_rng(0)))


def test_rendered_pictures_list_all_their_plates() -> None:
    shown = list(rendered(2, seed=0))
    assert len(shown) == 2 and all(sure == 1.0 and boxes.shape[1] == 4 for _, boxes, sure in shown)


def test_the_head_learns_the_correction_and_changes_no_other_weights() -> None:
    torch.manual_seed(0)
    network = CornerNet().eval()
    windows = torch.randn(4, 3, 64, 128)
    with torch.inference_mode():
        before = network(windows)
        size = pooled(list(network.features(windows))).shape[1]
    plates = torch.arange(600) % 3 > 0
    seen = 5 + 3 * torch.randn(600, size)
    seen[plates, :20] += 3
    assert fit(network.plate, seen, plates, epochs=8) < 0.5, "0.69 is that of a coin"
    with torch.inference_mode():
        added, after = network.plate(seen)[:, 0], network(windows)
    assert added[plates].mean() > SHIFT + 0.2 and added[~plates].mean() < SHIFT - 0.2
    assert torch.equal(before[:, :9], after[:, :9])
    chunk = [(window.numpy().astype(np.float16), True) for window in windows]
    assert features(network, chunk).shape == (4, size)
