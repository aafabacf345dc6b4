"""`python -m training.corners.plate_head`: teaches CornerNet to tell plates from what the detector takes for plates.

All else of the network stays as it is: the head is trained on what the network makes of each window. Plates are the
labelled and rendered ones; what is none are boxes beside them that the detector finds, even with little confidence, in
photos whose plates are all labelled, and in rendered streets and pictures.
"""

import logging
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated

import numpy as np
import torch
import typer
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import track
from torch import Tensor, nn
from torch.nn import functional

from plate_nets.errors import DatasetError, PlateError
from plate_nets.evaluation.dataset import read_photo
from plate_nets.nets.checkpoint import load_weights, read_metadata, save_weights, weights_path
from plate_nets.nets.corners import CornerNet, pooled
from plate_nets.plates import default_scheme
from plate_nets.recognition.corners import cut_window, first_window
from plate_nets.recognition.detection import DetectionSettings, PlateDetector
from plate_nets.recognition.overlap import iou
from plate_nets.types import Boxes, Frame
from training.detector.drawn import draw_picture
from training.detector.measure import network
from training.detector.pictures import Picture, split_photos
from training.detector.signs import with_signs
from training.synthesis.scene import render_scene

LEAST_SCORE = 0.03
"""Boxes of the detector from this score on are looked at."""
UNLABELLED = 0.5
"""From this score on a box beside the labels of a photo may well be a plate that nobody labelled: it is left out."""
NARROWEST = 6.0
"""Narrower boxes, px, show nothing."""
SHARE, SHIFT = 0.5, -1.3
"""How much the head counts beside the detector, and by how much the odds fall for all. Among shares of 0.5 to 1 it
hardly matters; the shift is such that with the default threshold 0.2 of the photos without plates have a box."""
_SIDE = 640
"""Long side of rendered pictures, px."""

Windows = list[tuple[NDArray[np.float16], bool]]
"""What the network takes, (3, 64, 128), and whether it shows a plate."""


def mine(frame: Frame, labelled: Boxes, sure: float, detector: PlateDetector, rng: np.random.Generator) -> Windows:
    """A frame and its plates (N, 4) -> windows around these, as they are and moved, and around what the detector finds.

    A box that overlaps a plate by half (IoU) shows it; one that hardly meets any shows none, but from the score
    ``sure`` on it is left out.
    """
    found, scores = detector.detect(frame)
    overlap = iou(found, labelled).max(axis=1, initial=0.0)
    plates = np.concatenate((labelled, moved(labelled, rng), found[overlap >= 0.5]))
    others = found[(overlap < 0.05) & (scores < sure)]
    return [
        (cut_window(frame, first_window(box)).astype(np.float16), shows)
        for boxes, shows in ((plates, True), (others, False))
        for box in boxes
        if box[2] - box[0] > NARROWEST
    ]


def moved(boxes: Boxes, rng: np.random.Generator) -> Boxes:
    """Boxes (N, 4) xyxy, off by as much as a detector's are."""
    size = np.tile(boxes[:, 2:] - boxes[:, :2], 2)
    return np.asarray(boxes + rng.standard_t(4, boxes.shape) * np.array([0.025, 0.08, 0.025, 0.08]) * size, np.float32)


def photographed(pictures: Iterable[Picture]) -> Iterator[tuple[Frame, Boxes, float]]:
    """Labelled photos -> frame, plates, and the score from which on a box beside them is not to be judged."""
    for picture in pictures:
        try:
            frame = read_photo(picture.photo)
        except DatasetError as error:
            logging.warning("left out %s", error)
            continue
        yield frame, picture.boxes, UNLABELLED if picture.complete else 0.0


def rendered(count: int, seed: int) -> Iterator[tuple[Frame, Boxes, float]]:
    """Streets and pictures without a car, by turns, with none to three plates -> frame, plates, 1: all are known."""
    for index in range(count):
        rng = np.random.default_rng((seed, index))
        size, plates = (_SIDE, int(_SIDE * rng.uniform(0.55, 0.8))), int(rng.integers(0, 4))
        if index % 2:
            yield *draw_picture(rng, size, plates), 1.0
            continue
        scene = render_scene(default_scheme(), rng, size, plates, foreign=0.2)
        boxes = [p.box.sides for p in scene.plates]
        known = np.array(boxes, np.float32).reshape(-1, 4)
        yield with_signs(rng, scene.frame, known), known, 1.0


@torch.inference_mode()
def features(corner_net: CornerNet, windows: Windows) -> Tensor:
    """Windows -> what the head sees of each, (N, 352)."""
    chunks = [windows[start : start + 128] for start in range(0, len(windows), 128)]
    stacked = (torch.from_numpy(np.stack([window for window, _ in chunk]).astype(np.float32)) for chunk in chunks)
    return torch.cat([pooled(list(corner_net.features(chunk))) for chunk in stacked])


def fit(head: nn.Sequential, seen: Tensor, plates: Tensor, epochs: int, rate: float = 3e-3) -> float:
    """Trains the head on features (N, 352) and whether each is a plate (N,), both kinds with the same weight -> loss.

    It answers the log-odds of a plate times `SHARE`, and `SHIFT`: what is added to those of the detector.
    """
    mean, spread = seen.mean(0), seen.std(0) + 1e-3
    seen = (seen - mean) / spread
    balance = torch.where(plates, 1 / plates.float().mean(), 1 / (~plates).float().mean()) / 2
    first, relu, last = head
    assert isinstance(first, nn.Linear) and isinstance(last, nn.Linear)
    learner = nn.Sequential(first, relu, nn.Dropout(0.3), last)
    optimizer = torch.optim.AdamW(learner.parameters(), lr=rate, weight_decay=0.1)
    losses: list[float] = []
    for epoch in range(epochs):
        optimizer.param_groups[0]["lr"] = rate * (1 - epoch / epochs)
        losses = []
        for rows in torch.split(torch.randperm(len(seen)), 256):
            loss = functional.binary_cross_entropy_with_logits(
                learner(seen[rows])[:, 0], plates[rows].float(), weight=balance[rows]
            )
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            losses.append(loss.item())
    with torch.no_grad():
        first.weight /= spread  # from here on it takes the features as they are
        first.bias.sub_(first.weight @ mean)
        last.weight *= SHARE
        last.bias.mul_(SHARE).add_(SHIFT)
    return float(np.mean(losses))


def main(
    data: Annotated[list[Path], typer.Option(help="Labelled folder. Repeatable.")],
    out: Annotated[Path, typer.Option(help="File for the weights, corners.safetensors.")],
    start: Annotated[Path, typer.Option(help="Weights of CornerNet.")] = weights_path("corners"),
    detector: Annotated[Path, typer.Option(help="Weights of the detector.")] = weights_path("yolo"),
    holdout: Annotated[
        float, typer.Option(help="Share of plates and scenes to hold out, as in training.detector.")
    ] = 0.12,
    rendered_count: Annotated[int, typer.Option("--rendered", help="Rendered pictures.")] = 400,
    epochs: Annotated[int, typer.Option(min=1)] = 12,
    seed: int = 0,
    threads: Annotated[int, typer.Option(min=1)] = 1,
) -> None:
    """Trains the head, and writes the network with it."""
    torch.set_num_threads(threads)
    torch.manual_seed(seed)
    try:
        corner_net = CornerNet()
        load_weights(corner_net.eval(), start)
        finder = PlateDetector(network(detector), DetectionSettings(proposal=LEAST_SCORE))
        chosen, _ = split_photos(data, holdout)
        rng = np.random.default_rng(seed)
        windows: Windows = []
        total = len(chosen) + rendered_count
        for source in (photographed(chosen), rendered(rendered_count, seed)):
            for frame, boxes, sure in track(source, "finding", total=total, console=Console(stderr=True)):
                windows += mine(frame, boxes, sure, finder, rng)
        plates = torch.tensor([shows for _, shows in windows])
        loss = fit(corner_net.plate, features(corner_net, windows), plates, epochs)
        facts = read_metadata(start) | {
            "plate head": f"{int(plates.sum())} windows with a plate, {int((~plates).sum())} without"
        }
        save_weights(corner_net, out, facts)
        typer.echo(f"{facts['plate head']}, loss {loss:.4f}: {out}")
    except (PlateError, OSError) as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(1) from error


if __name__ == "__main__":
    typer.run(main)
