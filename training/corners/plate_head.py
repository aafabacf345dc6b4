"""Teaches CornerNet to reject what the detector wrongly takes for plates.

The rest of the network stays as it is: the head is trained on the network's features of each window. Positives are
labelled and rendered plates. Negatives are boxes elsewhere that the detector finds, even with low confidence, in photos
whose plates are all labelled, and in rendered streets and pictures.
"""

from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import track
from torch import Tensor, nn
from torch.nn import functional

from plate_nets.countries import main_scheme
from plate_nets.evaluation.dataset import read_photo
from plate_nets.networks.checkpoint import load_weights, read_metadata, save_weights, weights_path
from plate_nets.networks.corners import CornerNet, pooled
from plate_nets.recognition.corners import cut_windows, first_window
from plate_nets.recognition.detection import DetectionSettings, PlateDetector
from plate_nets.recognition.overlap import iou
from plate_nets.types import Boxes, Frame
from training.corners.samples import moved
from training.detector.drawn import draw_picture
from training.detector.measure import network
from training.detector.pictures import Picture
from training.detector.signs import with_signs
from training.synthesis.scene import render_scene

LEAST_SCORE = 0.03
"""Minimum score of the detector's boxes."""
UNLABELLED = 0.5
"""From this score on, a box without a label in a photo may be an unlabelled plate, and is skipped."""
NARROWEST = 6.0
"""Minimum width of a box, px; narrower ones show nothing."""
SHARE, SHIFT = 0.5, -1.3
"""Weight of the head beside the detector, and a shift of the odds of all boxes. Shares between 0.5 and 1 hardly differ;
with this shift and the default threshold, 0.2 of the photos without plates have a box."""
_RATE = 3e-3
"""Learning rate at the start."""
_SIDE = 640
"""Long side of rendered pictures, px."""

Windows = list[tuple[NDArray[np.float16], bool]]
"""Network inputs (3, 64, 128), each with whether it shows a plate."""


def mine(frame: Frame, labelled: Boxes, sure: float, detector: PlateDetector, rng: np.random.Generator) -> Windows:
    """Cut windows around the plates (N, 4) of a frame, as they are and shifted, and around the detector's boxes.

    A box that overlaps a plate by half (IoU) counts as a plate; one that hardly touches any does not, but is skipped
    if its score is ``sure`` or more.
    """
    found, scores = detector.detect(frame)
    overlap = iou(found, labelled).max(axis=1, initial=0.0)
    plates = np.concatenate((labelled, moved(labelled, rng), found[overlap >= 0.5]))
    others = found[(overlap < 0.05) & (scores < sure)]
    return [
        (cut_windows(frame, [first_window(box)])[0].astype(np.float16), shows)
        for boxes, shows in ((plates, True), (others, False))
        for box in boxes
        if box[2] - box[0] > NARROWEST
    ]


def rendered(count: int, seed: int) -> Iterator[tuple[Frame, Boxes, float]]:
    """Alternate streets and pictures without a car, with none to three plates -> frame, plates, 1 (all are known)."""
    for index in range(count):
        rng = np.random.default_rng((seed, index))
        size, plates = (_SIDE, int(_SIDE * rng.uniform(0.55, 0.8))), int(rng.integers(0, 4))
        if index % 2:
            yield *draw_picture(rng, size, plates), 1.0
            continue
        scene = render_scene(main_scheme(), rng, size, plates, foreign=0.2)
        yield with_signs(rng, scene.frame, scene.boxes), scene.boxes, 1.0


@torch.inference_mode()
def features(corner_net: CornerNet, windows: Windows) -> Tensor:
    """Windows -> the head's input for each, (N, 352)."""
    chunks = [windows[start : start + 128] for start in range(0, len(windows), 128)]
    stacked = (torch.from_numpy(np.stack([window for window, _ in chunk]).astype(np.float32)) for chunk in chunks)
    return torch.cat([pooled(list(corner_net.features(chunk))) for chunk in stacked])


def fit(head: nn.Sequential, inputs: Tensor, plates: Tensor, epochs: int) -> float:
    """Train the head on features (N, 352) and labels (N,), weighting both classes equally -> loss.

    It returns the log-odds of a plate times `SHARE`, plus `SHIFT`: what is added to the detector's log-odds.
    """
    mean, spread = inputs.mean(0), inputs.std(0) + 1e-3
    inputs = (inputs - mean) / spread
    balance = torch.where(plates, 1 / plates.float().mean(), 1 / (~plates).float().mean()) / 2
    first, relu, last = head
    assert isinstance(first, nn.Linear) and isinstance(last, nn.Linear)
    learner = nn.Sequential(first, relu, nn.Dropout(0.3), last)
    optimizer = torch.optim.AdamW(learner.parameters(), lr=_RATE, weight_decay=0.1)
    losses: list[float] = []
    for epoch in range(epochs):
        optimizer.param_groups[0]["lr"] = _RATE * (1 - epoch / epochs)
        losses = []
        for rows in torch.split(torch.randperm(len(inputs)), 256):
            loss = functional.binary_cross_entropy_with_logits(
                learner(inputs[rows])[:, 0], plates[rows].float(), weight=balance[rows]
            )
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            losses.append(loss.item())
    with torch.no_grad():
        first.weight /= spread  # folds the normalisation of the features into the layer
        first.bias.sub_(first.weight @ mean)
        last.weight *= SHARE
        last.bias.mul_(SHARE).add_(SHIFT)
    return float(np.mean(losses))


def teach_head(photos: Sequence[Picture], weights: Path, count: int, epochs: int) -> str:
    """Train the head of CornerNet that rejects boxes without a plate, in its weights' file -> what it learnt from.

    ``count``: rendered pictures, besides the photos.

    Raises:
        DatasetError: a photo does not open.
    """
    torch.manual_seed(0)
    corner_net = CornerNet()
    load_weights(corner_net.eval(), weights)
    detector = PlateDetector(network(weights_path("yolo")), DetectionSettings(proposal=LEAST_SCORE))
    photographed = ((read_photo(each.photo), each.boxes, UNLABELLED if each.complete else 0.0) for each in photos)
    frames, total = chain(photographed, rendered(count, seed=0)), len(photos) + count
    rng = np.random.default_rng(0)
    windows: Windows = []
    for frame, boxes, sure in track(frames, "finding", total=total, console=Console(stderr=True)):
        windows += mine(frame, boxes, sure, detector, rng)
    plates = torch.tensor([shows for _, shows in windows])
    fit(corner_net.plate, features(corner_net, windows), plates, epochs)
    learnt = f"{int(plates.sum())} windows with a plate, {int((~plates).sum())} without"
    save_weights(corner_net, weights, read_metadata(weights) | {"plate head": learnt})
    return learnt
