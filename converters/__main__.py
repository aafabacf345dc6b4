"""``python -m converters``: builds or checks the model files of the repository."""

from pathlib import Path
from typing import Annotated

import typer

from converters.command import run
from plate_nets.common.errors import SchemeError
from plate_nets.contract import models
from plate_nets.networks.conversion.formats import Format
from plate_nets.networks.conversion.table import conversions
from plate_nets.triton.config_check import scheme_of

REPOSITORY = Path(__file__).parent.parent / "model_repository"

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command()
def main(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME...]", help="Networks to convert. Default: all.")
    ] = None,
    formats: Annotated[
        list[Format] | None,
        typer.Option(
            "--format", help="What to make instead of OpenVINO's and TorchScript's files; repeat it for several."
        ),
    ] = None,
    only_check: Annotated[
        bool,
        typer.Option("--check", help="Change nothing: compare the existing files, and check every config.pbtxt."),
    ] = False,
    model_repository: Annotated[
        Path, typer.Option(help="Folder with the models. Default: that of the checkout.", show_default=False)
    ] = REPOSITORY,
    weights: Annotated[
        Path | None,
        typer.Option(
            help="Folder with your own weights, as written by a training. Missing files come from the package.",
            exists=True,
            file_okay=False,
        ),
    ] = None,
) -> None:
    """Convert networks into model_repository/NAME/1/; each is compared with its network before it is moved there.

    The setting `scheme` in plate_recognition/config.pbtxt names the country; weights for another scheme are refused.

    Exit code: 0 done, 1 a conversion or a check failed, 2 wrong usage.
    """
    try:
        scheme = scheme_of(model_repository)
    except SchemeError as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(1) from error
    run(conversions(scheme, weights), models(scheme), names or (), only_check, model_repository, formats or ())


if __name__ == "__main__":
    app(prog_name="python -m converters")
