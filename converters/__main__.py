"""``python -m converters``: build or check the model files of the repository."""

from pathlib import Path
from typing import Annotated

import typer

from plate_nets.contract import models
from plate_nets.conversion.command import run
from plate_nets.conversion.config_check import scheme_of
from plate_nets.conversion.conversion import Mode
from plate_nets.conversion.table import conversions
from plate_nets.errors import SchemeError

REPOSITORY = Path(__file__).parent.parent / "model_repository"

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command()
def main(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME...]", help="Networks to convert. Default: all.")
    ] = None,
    mode: Annotated[Mode, typer.Option(help="How to make TorchScript.")] = Mode.TRACE,
    only_check: Annotated[
        bool,
        typer.Option("--check", help="Change nothing; compare the files that are there, and check every config.pbtxt."),
    ] = False,
    model_repository: Annotated[
        Path, typer.Option(help="Folder with the models. Default: the checkout's own.", show_default=False)
    ] = REPOSITORY,
    weights: Annotated[
        Path | None,
        typer.Option(
            help="Folder with weights of your own, as the training writes them. Missing files come from the package.",
            exists=True,
            file_okay=False,
        ),
    ] = None,
) -> None:
    """Networks with their weights -> model_repository/NAME/1/, compared with the network before it is moved there.

    The repository says whose plates it reads (`scheme` in plate_recognition/config.pbtxt); weights of another scheme
    are refused.

    Exits with 0 where all is well, 1 where a conversion or a check failed, 2 on a wrong argument.
    """
    try:
        scheme = scheme_of(model_repository)
    except SchemeError as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(1) from error
    run(conversions(scheme, weights), models(scheme), names or (), mode, only_check, model_repository)


if __name__ == "__main__":
    app(prog_name="python -m converters")
