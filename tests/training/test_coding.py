"""Pictures after a codec."""

import cv2
import numpy as np

from plate_nets.evaluation.coding import code_jpeg
from training.synthesis.coding import code_h264, moved

NOISE = np.random.default_rng(0).integers(0, 255, (61, 121, 3), np.uint8)
PICTURE = np.asarray(cv2.GaussianBlur(NOISE, (0, 0), 3), np.uint8)


def test_a_coded_picture_differs_only_by_the_loss_of_the_codec() -> None:
    """Odd sizes work; coarser coding loses more."""
    fine, coarse = (code_h264([PICTURE], crf)[-1] for crf in (10, 45))
    assert fine.shape == PICTURE.shape
    fine_loss, coarse_loss = (np.abs(each.astype(int) - PICTURE).mean() for each in (fine, coarse))
    assert fine_loss < coarse_loss
    assert code_jpeg(PICTURE, 40).shape == PICTURE.shape


def test_coding_keeps_the_number_and_order_of_frames() -> None:
    frames = [moved(PICTURE, right, 0) for right in (0, 6, 12)]
    coded = code_h264(frames, 10)
    assert len(coded) == 3
    losses = np.array([[np.abs(a.astype(int) - b).mean() for b in frames] for a in coded])
    assert (losses.argmin(axis=1) == [0, 1, 2]).all()
