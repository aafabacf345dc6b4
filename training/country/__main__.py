"""`python -m training.country`: trains CountryNet."""

import logging
from pathlib import Path
from typing import Annotated

import typer

from plate_nets.common.errors import InputError
from plate_nets.countries import load_schemes
from plate_nets.networks.country import CountryNet
from training import loop
from training.checkpoint import TrainingState
from training.command import errors_in_one_line
from training.country.samples import Samples, load_real
from training.country.trainer import ARCHITECTURE, CountryTrainer, held_out, known_crops


@errors_in_one_line()
def main(
    out: loop.Out,
    data: Annotated[list[Path], typer.Option(help="Labelled folder with a column country. Repeatable.")] = [],  # noqa: B006
    validate: Annotated[
        list[Path],
        typer.Option(help="Labelled folder to validate on, besides drawn plates. Repeatable; the mean decides."),
    ] = [],  # noqa: B006
    country: Annotated[
        list[str], typer.Option(help="FOLDER=CODE: country of a folder without that column. Repeatable.")
    ] = [],  # noqa: B006
    scheme: Annotated[str, typer.Option(help="Countries to draw (built-in name, group or TOML file).")] = "world",
    steps: loop.Steps = 12_000,
    minutes: loop.Minutes = None,
    batch: Annotated[int, typer.Option(min=2, help="Plates per step.")] = 64,
    start: loop.Start = None,
    rate: loop.Rate = 2e-3,
    seed: loop.Seed = 0,
    threads: loop.Threads = 1,
    workers: loop.Workers = 1,
    every: loop.Every = 500,
    resume: loop.Resume = False,
) -> None:
    """Train CountryNet; the averaged weights are written to OUT/best and, at the end, OUT/last."""
    device = loop.prepare(out, threads, seed)
    schemes = load_schemes(scheme)
    countries = dict(_pair(each) for each in country)
    real = load_real(schemes, data, countries)
    logging.info("%d real plates of %d designs; %s", sum(map(len, real.values())), len(real), device)
    network: CountryNet = CountryNet().to(device)
    state = TrainingState(ARCHITECTURE, network, -1.0)
    if start is not None:
        state.take_over(start)
    if resume:
        loop.continue_from(state, out)
    CountryTrainer(
        state,
        Samples(schemes, real, batch=batch, seed=seed),
        {folder.name: known_crops(folder.name, load_real(schemes, [folder], countries)) for folder in validate}
        | {"drawn": held_out(schemes)},
        loop.Budget(steps, minutes),
        out,
        device=device,
        workers=workers,
        rate=rate,
        every=every,
        metadata={"seed": str(seed), "data": ", ".join(folder.name for folder in data)},
    ).run()


def _pair(written: str) -> tuple[str, str]:
    folder, sign, code = written.rpartition("=")
    if not sign or not folder:
        raise InputError(f"--country: expected FOLDER=CODE, such as ru_train=ru, got {written!r}")
    return folder, code


if __name__ == "__main__":
    typer.run(main)
