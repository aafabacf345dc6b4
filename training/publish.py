"""`python -m training.publish FILE...`: makes trained weights those that the package ships."""

import shutil
from pathlib import Path
from typing import Annotated

import typer

from plate_nets.common.errors import PlateError
from plate_nets.countries import main_scheme
from plate_nets.networks.checkpoint import read_metadata, save_weights
from plate_nets.networks.conversion.conversion import record
from plate_nets.networks.conversion.table import conversions
from plate_nets.networks.registry import NETWORKS
from training.command import errors_in_one_line
from training.recipe.report import FIGURES


@errors_in_one_line()
def main(
    files: Annotated[list[Path], typer.Argument(help="Weights named after their network, such as yolo.safetensors.")],
) -> None:
    """Check each file against its network; put it, its hash, its reference output and, if it lies in the folder of a
    run, the run's figures into plate_nets/weights."""
    for path in files:
        if path.stem not in NETWORKS:
            raise PlateError(f"{path}: expected a file named after one of {', '.join(NETWORKS)}")
        network = NETWORKS[path.stem].load(main_scheme(), path)
        metadata = read_metadata(path)
        committed = NETWORKS[path.stem].weights
        save_weights(network, committed, metadata)
        record(conversions(main_scheme())[path.stem])
        figures, kept = path.parent.parent / FIGURES, committed.parent / "figures" / f"{path.stem}.json"
        if figures.is_file():
            kept.parent.mkdir(exist_ok=True)
            shutil.copyfile(figures, kept)
        elif not path.samefile(committed):
            kept.unlink(missing_ok=True)  # they are those of other weights
        typer.echo(f"{path} -> {committed}")


if __name__ == "__main__":
    typer.run(main)
