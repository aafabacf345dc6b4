"""``python -m training.detector``: trains the plate detector from labelled folders."""

import json
import logging
import os
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import numpy as np
import torch
import typer
from rich.console import Console

from plate_nets.recognition.detection import DetectionSettings, PlateDetector
from plate_nets.types import Boxes, Frame
from training.command import errors_in_one_line
from training.detector.background import DOUBTFUL, complete
from training.detector.job import Job
from training.detector.measure import network
from training.detector.pictures import (
    Picture,
    Preparation,
    around,
    split_photos,
    write_close_ups,
    write_drawn,
    write_pictures,
    write_replaced,
    write_scenes,
)
from training.detector.signs import with_signs
from training.detector.trainer import train

HYPERPARAMETERS = {
    "lrf": 0.02,
    "momentum": 0.9,
    "warmup_epochs": 0.5,
    "warmup_bias_lr": 0.01,
    "hsv_h": 0.05,
    "degrees": 3.0,
    "shear": 2.0,
}
"""What differs from the package's `hyp.scratch-low.yaml`, beside the learning rate: a shorter warm-up, more change of
hue (for photos with a colour cast), and slight rotation and shear (for plates seen from the side)."""

console = Console(stderr=True)


class Background(StrEnum):
    """How to treat the background of photos in which only the main plate is labelled."""

    AROUND = "around"
    """Cut it away: use the part around the labelled plates."""
    WHOLE = "whole"
    """Keep it: plates in it count as background."""
    PROPOSED = "proposed"
    """Label a first detector's sure proposals, and paint over doubtful ones."""


@errors_in_one_line()
def main(
    data: Annotated[list[Path], typer.Option(help="Labelled folder. Repeatable.")],
    weights: Annotated[Path, typer.Option(help="Weights to start from: those of the yolov5 package (COCO), or ours.")],
    out: Annotated[Path, typer.Option(help="Folder of the run.")],
    minutes: Annotated[float, typer.Option(min=0.1, help="Training time (minutes).")] = 60.0,
    long_side: Annotated[int, typer.Option(help="Long side of the training pictures (px).")] = 640,
    synthetic: Annotated[int, typer.Option(min=0, help="How many rendered street scenes to add.")] = 0,
    close_ups: Annotated[int, typer.Option(min=0, help="How many close-ups of one plate to add.")] = 0,
    replaced: Annotated[
        int, typer.Option(min=0, help="How many photos with another plate drawn over theirs to add.")
    ] = 0,
    drawn: Annotated[
        int, typer.Option(min=0, help="How many drawn pictures without a car to add, some without a plate.")
    ] = 0,
    holdout: Annotated[float, typer.Option(min=0.0, max=0.9, help="Share of plates and scenes to hold out.")] = 0.12,
    batch: Annotated[int, typer.Option(help="Pictures per step.")] = 16,
    background: Annotated[Background, typer.Option(help="How to treat unlabelled plates.")] = Background.AROUND,
    signs: Annotated[float, typer.Option(min=0.0, max=1.0, help="Share of pictures with painted-in signs.")] = 0.35,
    learning_rate: Annotated[float, typer.Option(help="Highest learning rate.")] = 0.001,
    freeze: Annotated[int, typer.Option(help="Number of backbone layers to freeze.")] = 0,
    seed: Annotated[int, typer.Option()] = 0,
    threads: Annotated[int, typer.Option(help="CPU threads of torch.")] = os.cpu_count() or 1,
    bfloat16: Annotated[bool, typer.Option(help="Train in bfloat16, twice as fast on CPUs that support it.")] = True,
    resume: Annotated[bool, typer.Option("--resume", help="Continue the run in --out.")] = False,
) -> None:
    """Fine-tune YOLOv5n to find plates; the weights are written to OUT/best.safetensors and OUT/last.safetensors."""
    out = out.resolve()
    pictures = out / "pictures"
    if not resume:
        chosen, held = split_photos(data, holdout)
        console.print(f"{len(chosen)} photos to train on, {len(held)} held out")
        with console.status("writing the training pictures"):
            rng = np.random.default_rng(seed)
            prepare = preparation(background, weights, threads)
            write_pictures(chosen, pictures / "train", long_side, signed(prepare, rng, signs))
            write_close_ups(rng, chosen, close_ups, pictures / "train", long_side)
            write_replaced(rng, chosen, replaced, pictures / "train", long_side)
            write_drawn(rng, drawn, pictures / "train", long_side)
            write_scenes(rng, synthetic, pictures / "train", long_side)
            write_pictures(held, pictures / "val", long_side, preparation(Background.AROUND, weights, threads))
        sets = {"train": str(pictures / "train" / "images"), "val": str(pictures / "val" / "images")}
        (out / "data.yaml").write_text(json.dumps(sets | {"names": ["plate"]}), encoding="utf-8")
    job = Job(
        folder=str(out),
        data=str(out / "data.yaml"),
        weights=str(weights),
        long_side=long_side,
        batch=batch,
        minutes=minutes,
        seed=seed,
        threads=threads,
        freeze=freeze,
        resume=resume,
        bfloat16=bfloat16,
        hyperparameters=HYPERPARAMETERS | {"lr0": learning_rate},
    )
    console.print(f"weights: {train(job)}")


def preparation(background: Background, weights: Path, threads: int) -> Preparation:
    """The function that makes a training picture from a frame and its labels, for this treatment of the background."""
    if background is Background.AROUND:
        return lambda frame, picture: (frame, picture.boxes) if picture.complete else around(frame, picture.boxes)
    if background is Background.WHOLE:
        return lambda frame, picture: (frame, picture.boxes)
    torch.set_num_threads(threads)
    detector = PlateDetector(network(weights), DetectionSettings(proposal=DOUBTFUL))
    return lambda frame, picture: complete(frame, picture, detector)


def signed(prepare: Preparation, rng: np.random.Generator, share: float) -> Preparation:
    """The same preparation, with signs painted into a share of the pictures."""

    def prepared(frame: Frame, picture: Picture) -> tuple[Frame, Boxes]:
        frame, boxes = prepare(frame, picture)
        return (with_signs(rng, frame, boxes), boxes) if rng.random() < share else (frame, boxes)

    return prepared


if __name__ == "__main__":
    logging.basicConfig(format="%(message)s")
    typer.run(main)
