"""`python -m training.corners`: trains CornerNet."""

import logging
from pathlib import Path
from typing import Annotated

import typer

from training import loop
from training.command import errors_in_one_line
from training.corners.samples import Samples
from training.corners.sources import load_sources
from training.corners.trainer import CornerTrainer, corner_state
from training.corners.validation import load_corners


@errors_in_one_line()
def main(
    data: Annotated[list[Path], typer.Option(help="Labelled folder with corner points. Repeatable.")],
    out: loop.Out,
    validate: Annotated[
        list[Path], typer.Option(help="Labelled folder to validate on. Repeatable; the first decides.")
    ] = [],  # noqa: B006
    steps: loop.Steps = 40_000,
    minutes: loop.Minutes = None,
    batch: Annotated[int, typer.Option(min=2, help="Windows per step, two per photo.")] = 64,
    start: loop.Start = None,
    rate: loop.Rate = 2e-3,
    seed: loop.Seed = 0,
    threads: loop.Threads = 1,
    workers: loop.Workers = 1,
    every: loop.Every = 1000,
    resume: loop.Resume = False,
) -> None:
    """Train CornerNet; the averaged weights are written to OUT/best and, at the end, OUT/last."""
    device = loop.prepare(out, threads, seed)
    sources, chances = load_sources(data)
    logging.info("%d plates with corners; %s", len(sources), device)
    state = corner_state(device)
    if start is not None:
        state.take_over(start)
    if resume:
        loop.continue_from(state, out)
    CornerTrainer(
        state,
        Samples(sources, chances, batch=batch, seed=seed),
        {folder.name: load_corners(folder) for folder in validate},
        loop.Budget(steps, minutes),
        out,
        device=device,
        workers=workers,
        rate=rate,
        every=every,
        metadata={"seed": str(seed), "data": ", ".join(folder.name for folder in data)},
    ).run()


if __name__ == "__main__":
    typer.run(main)
