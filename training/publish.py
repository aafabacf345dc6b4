"""`python -m training.publish FILE...`: makes trained weights those that the package ships."""

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


@errors_in_one_line()
def main(
    files: Annotated[list[Path], typer.Argument(help="Weights named after their network, such as yolo.safetensors.")],
) -> None:
    """Check each file against its network; put it, its hash and its reference output into plate_nets/weights."""
    for path in files:
        if path.stem not in NETWORKS:
            raise PlateError(f"{path}: expected a file named after one of {', '.join(NETWORKS)}")
        network = NETWORKS[path.stem].load(main_scheme(), path)
        metadata = read_metadata(path)
        committed = NETWORKS[path.stem].weights
        save_weights(network, committed, metadata)
        record(conversions(main_scheme())[path.stem])
        typer.echo(f"{path} -> {committed}")


if __name__ == "__main__":
    typer.run(main)
