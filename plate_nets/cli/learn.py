"""`plates learn`: makes a reader better on your own plates."""

from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from plate_nets.cli.options import SCHEME_VARIABLE
from plate_nets.common.errors import PlateError

NO_BETTER = 1
_TRAINING = ("training", "nncf", "tensorboard")
"""What only a checkout has: drawing needs fonts and torch, and a wheel with them would be ten times as large."""


def learn(
    labels: Annotated[
        Path,
        typer.Argument(help="Labelled folder, images/ and labels.csv, such as of `plates events export`."),
    ],
    scheme: Annotated[
        str,
        typer.Option(
            help="Countries of the plates, comma-separated (built-in name, group or TOML file): russia, or any others. "
            "Their reader learns.",
            envvar=SCHEME_VARIABLE,
        ),
    ],
    out: Annotated[
        Path, typer.Option(help="Folder of the run. The same command continues an interrupted run.", file_okay=False)
    ] = Path("learnt"),
    minutes: Annotated[float, typer.Option(help="Training time (minutes).", min=0.01)] = 15.0,
) -> None:
    """Train the reader on plates that you labelled or corrected, from the shipped weights.

    One text in five is held back. The reader is measured on those plates before and after, and on drawings of all
    countries that it reads. `plates swap` puts the weights into service.

    Exit code: 0 if the reader got better, 1 if it did not, 2 if the usage is wrong or there are too few plates.
    """
    if missing := next((each for each in _TRAINING if find_spec(each) is None), None):
        raise PlateError(
            f"plates learn needs {missing}, which only a checkout of the project has: run `make convert` there, "
            "then .venv/bin/plates learn"
        )
    from training.learn import learn as train

    try:
        learnt = train(labels, scheme, minutes, out)
    except KeyboardInterrupt:
        typer.echo("plates: interrupted; the same command goes on", err=True)
        raise
    typer.echo(f"held back: {learnt.own}")
    typer.echo(f"drawn: {learnt.drawn}")
    if learnt.fault:
        typer.echo(f"plates: no better: {learnt.fault}; the weights are not kept", err=True)
        raise typer.Exit(NO_BETTER)
    typer.echo(f"better: plates swap {learnt.network} {learnt.weights}")
