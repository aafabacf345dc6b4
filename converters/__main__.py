"""``python -m converters``: build or check the model files of the repository."""

from pathlib import Path
from typing import Annotated

import typer

from plate_nets.contract import MODELS
from plate_nets.conversion.command import run
from plate_nets.conversion.conversion import Mode
from plate_nets.conversion.table import CONVERSIONS

REPOSITORY = Path(__file__).parent.parent / "model_repository"

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command()
def main(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME...]", help="Which networks; all by default.")
    ] = None,
    mode: Annotated[Mode, typer.Option(help="How TorchScript is made.")] = Mode.TRACE,
    only_check: Annotated[
        bool, typer.Option("--check", help="Change nothing: compare what is there, and prove every config.pbtxt.")
    ] = False,
    model_repository: Annotated[
        Path, typer.Option(help="Folder of the models; by default the checkout's own.", show_default=False)
    ] = REPOSITORY,
) -> None:
    """Networks with their weights -> model_repository/NAME/1/, compared with the network before it is moved there.

    Exits with 0 where all is well, 1 where a conversion or a check failed, 2 on a wrong argument.
    """
    run(CONVERSIONS, MODELS, names or (), mode, only_check, model_repository)


if __name__ == "__main__":
    app(prog_name="python -m converters")
