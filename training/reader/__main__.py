"""`python -m training.reader`: trains STN and LPRNet jointly."""

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from plate_nets.common.errors import InputError
from plate_nets.countries import DEFAULT_SCHEME, load_scheme, load_schemes
from training import loop
from training.command import errors_in_one_line
from training.reader.real import load_foreign, load_real
from training.reader.samples import Mixture, Samples
from training.reader.state import ReaderState
from training.reader.trainer import ReaderTrainer
from training.reader.validation import validation_crops

FOREIGN = 0.08
"""Share of foreign plates among the samples, if there are any."""


@errors_in_one_line()
def main(
    out: loop.Out,
    data: Annotated[list[Path], typer.Option(help="Labelled folder with real plates. Repeatable.")] = [],  # noqa: B006
    foreign: Annotated[
        list[Path],
        typer.Option(help="Labelled folder with plates of other countries, to be read as empty. Repeatable."),
    ] = [],  # noqa: B006
    scheme: Annotated[str, typer.Option(help="Country to learn (built-in name or TOML file).")] = DEFAULT_SCHEME,
    draw: Annotated[
        list[str], typer.Option(help="Schemes of the same reader to draw too, comma-separated. Repeatable.")
    ] = [],  # noqa: B006
    weight: Annotated[
        list[str],
        typer.Option(help="NAME=FACTOR: how often to use a folder, or the drawn plates of a scheme. Repeatable."),
    ] = [],  # noqa: B006
    largest_source: Annotated[
        float, typer.Option(min=0, max=1, help="Largest share of the real plates that one folder may have.")
    ] = 1.0,
    validate: Annotated[
        list[Path], typer.Option(help="Labelled folder to validate on. Repeatable; the mean decides.")
    ] = [],  # noqa: B006
    steps: loop.Steps = 20_000,
    minutes: loop.Minutes = None,
    batch: Annotated[int, typer.Option(min=1, help="Plates per step.")] = 64,
    real: Annotated[float, typer.Option(min=0, max=1, help="Share of real plates; the rest is rendered.")] = 0.5,
    straightened: Annotated[
        float, typer.Option(min=0, max=1, help="Share of the plates that are cut along their corners instead of a box.")
    ] = 0.0,
    two_lines: Annotated[
        float, typer.Option(min=0, max=1, help="Share of rendered plates of two lines, laid side by side.")
    ] = 0.0,
    hard: Annotated[
        float,
        typer.Option(min=1, help="How often to use turned, dim or blurred real plates, compared with the others."),
    ] = 1.0,
    covered: Annotated[
        float, typer.Option(min=0, max=1, help="Share of the real plates that something partly hides.")
    ] = 0.0,
    far: Annotated[
        float,
        typer.Option(min=0, max=1, help="Share of the straightened plates that a cheap camera sees from a distance."),
    ] = 0.0,
    moving: Annotated[
        float,
        typer.Option(min=0, max=1, help="Share of the straightened plates that their own movement smears in a video."),
    ] = 0.0,
    start: Annotated[Path | None, typer.Option(help="Folder with the weights of this reader to start from.")] = None,
    beside: Annotated[
        Path | None,
        typer.Option(
            help="Folder with the weights of another reader: its STN is used for this one too and stays as it is. "
            "Without --start, its LPRNet is the starting point."
        ),
    ] = None,
    rate: loop.Rate = 1.5e-3,
    seed: loop.Seed = 0,
    threads: loop.Threads = 2,
    workers: loop.Workers = 1,
    every: loop.Every = 500,
    resume: loop.Resume = False,
) -> None:
    """Train the reader; the averaged weights are written to OUT/best and, at the end, OUT/last."""
    device = loop.prepare(out, threads, seed)
    country = load_scheme(scheme)
    plates, empty = load_real(country, data)
    others = load_foreign(foreign)
    logging.info(
        "%d real plates, %d of other countries, %d regions without a plate; %s",
        len(plates),
        len(others),
        len(empty),
        device,
    )
    state = ReaderState(country, device)
    if start is not None:
        state.start_from(start, beside)
    elif beside is not None:
        state.start_beside(beside)
    if resume:
        loop.continue_from(state, out)
    ReaderTrainer(
        state,
        Samples(
            country,
            plates,
            empty,
            batch=batch,
            seed=seed,
            mixture=Mixture(
                real=real,
                straightened=straightened,
                two_lines=two_lines,
                foreign=FOREIGN if others else 0.0,
                hard=hard,
                covered=covered,
                far=far,
                moving=moving,
                largest_source=largest_source,
            ),
            foreign=others,
            drawn=tuple(dict.fromkeys([country, *(each for names in draw for each in load_schemes(names))])),
            weights=factors(weight),
        ),
        validation_crops(country, validate, straightened > 0),
        loop.Budget(steps, minutes),
        out,
        device=device,
        workers=workers,
        rate=rate,
        every=every,
        metadata={"seed": str(seed), "data": ", ".join(folder.name for folder in data)},
    ).run()


def factors(written: Sequence[str]) -> dict[str, float]:
    """["brazil=3", "uz_crops=0.5"] -> {"brazil": 3, "uz_crops": 0.5}.

    Raises:
        InputError: another form.
    """
    found = {}
    for each in written:
        name, sign, factor = each.rpartition("=")
        try:
            found[name] = float(factor)
        except ValueError:
            sign = ""
        if not sign or not 0 <= found[name] < float("inf"):
            raise InputError(f"--weight: expected NAME=FACTOR, such as brazil=3, got {each!r}")
    return found


if __name__ == "__main__":
    typer.run(main)
