"""`python -m training RECIPE`: makes weights as a recipe says."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from training.command import errors_in_one_line
from training.recipe.load import load_recipe
from training.recipe.run import WEIGHTS, run


@errors_in_one_line()
def main(
    recipe: Annotated[str, typer.Argument(help="A recipe of training/recipes, such as reader_world, or a TOML file.")],
    data: Annotated[Path, typer.Option(help="Folder with the labelled folders that the recipe names.")],
    out: Annotated[Path, typer.Option(help="Folder of the run. The same command continues an interrupted run.")],
    settings: Annotated[
        list[str], typer.Option("--set", help="KEY=VALUE: another value of the recipe. Repeatable.")
    ] = [],  # noqa: B006
    beside: Annotated[
        list[Path], typer.Option(help="Folder of another run, such as one with another seed, to compare. Repeatable.")
    ] = [],  # noqa: B006
    threads: Annotated[int, typer.Option(min=1, help="CPU threads of the network.")] = 1,
    workers: Annotated[int, typer.Option(min=0, help="How many processes make the samples.")] = 1,
) -> None:
    """Prepare data, train, calibrate, quantize, check and report; OUT/weights is ready for `training.publish`."""
    found = run(Path(recipe).stem, load_recipe(recipe, settings), data, out, threads, workers, beside)
    for fault in found.faults:
        typer.echo(f"check: {fault}", err=True)
    typer.echo(f"weights: {out / WEIGHTS}")
    if found.faults:
        sys.exit(1)


if __name__ == "__main__":
    typer.run(main)
