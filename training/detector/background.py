"""Handles unlabelled plates: labels a first detector's sure ones, and paints over doubtful ones."""

import numpy as np

from plate_nets.recognition.detection import PlateDetector
from plate_nets.recognition.geometry import GREY, clip, expand
from plate_nets.recognition.overlap import iou
from plate_nets.types import Boxes, Frame
from training.detector.pictures import Picture

SURE = 0.7
"""Minimum score of a proposal that becomes a label."""

DOUBTFUL = 0.25
"""Minimum score of a proposal that is painted over: it may be a plate, so it must not count either way."""

SAME = 0.2
"""Minimum overlap (IoU) for a proposal and a label to be the same plate."""


def complete(frame: Frame, picture: Picture, detector: PlateDetector) -> tuple[Frame, Boxes]:
    """A frame and its labelled plates -> the frame without doubtful regions, and the plates (N, 4) known now.

    ``detector`` returns proposals from the score `DOUBTFUL` on, highest first. If the labels are declared complete,
    even a sure proposal is only painted over, because the labeller left it out.
    """
    boxes = picture.boxes
    found, scores = detector.detect(frame)
    other = iou(found, boxes).max(axis=1, initial=0.0) < SAME
    found, scores = found[other], scores[other]
    sure = (scores >= SURE) & (not picture.complete)
    known = np.concatenate((boxes, found[sure]))
    doubtful = found[~sure]
    doubtful = doubtful[iou(expand(doubtful, 0.3), known).max(axis=1, initial=0.0) == 0]
    frame = frame.copy()
    hw = (frame.shape[0], frame.shape[1])
    for x1, y1, x2, y2 in clip(expand(doubtful, 0.3), hw).round().astype(int).tolist():
        frame[y1:y2, x1:x2] = GREY
    return frame, known
