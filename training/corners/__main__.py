"""`python -m training.corners`: trains CornerNet."""

import logging
from pathlib import Path
from typing import Annotated

import typer

from training.command import errors_in_one_line
from training.corners.samples import Samples
from training.corners.sources import load_sources
from training.corners.state import CornerState
from training.corners.trainer import CornerTrainer
from training.corners.validation import load_corners
from training.loop import (
    Budget,
    Every,
    Minutes,
    Out,
    Resume,
    Threads,
    Workers,
    continue_from,
    prepare,
)

app = typer.Typer(add_completion=False)


@app.command()
@errors_in_one_line()
def train(
    data: Annotated[list[Path], typer.Option(help="Labelled folder with corner points. Repeatable.")],
    out: Out,
    validate: Annotated[
        list[Path], typer.Option(help="Labelled folder to validate on. Repeatable; the first decides.")
    ] = [],  # noqa: B006
    steps: Annotated[int, typer.Option(min=1, help="How many steps to train.")] = 40_000,
    minutes: Minutes = None,
    batch: Annotated[int, typer.Option(min=2, help="Windows per step, two per photo.")] = 64,
    start: Annotated[Path | None, typer.Option(help="Weights to start from.")] = None,
    rate: Annotated[float, typer.Option(min=0, help="Highest learning rate; less when starting from weights.")] = 2e-3,
    seed: int = 0,
    threads: Threads = 1,
    workers: Workers = 1,
    every: Every = 1000,
    resume: Resume = False,
) -> None:
    """Train CornerNet; the averaged weights are written to OUT/best and, at the end, OUT/last."""
    device = prepare(out, threads, seed)
    sources, chances = load_sources(data)
    logging.info("%d plates with corners; %s", len(sources), device)
    state = CornerState(device)
    if start is not None:
        state.start_from(start)
    if resume:
        continue_from(state, out)
    trainer = CornerTrainer(
        state,
        Samples(sources, chances, batch=batch, seed=seed),
        {folder.name: load_corners(folder) for folder in validate},
        Budget(steps, minutes),
        out,
        device=device,
        workers=workers,
        rate=rate,
        every=every,
        metadata={"seed": str(seed), "data": ", ".join(folder.name for folder in data)},
    )
    trainer.run()


if __name__ == "__main__":
    app()
