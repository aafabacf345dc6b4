"""`python -m training.publish FILE...`: trained weights become those the package ships."""

from pathlib import Path
from typing import Annotated

import typer
from safetensors import safe_open

from plate_nets.conversion.conversion import record
from plate_nets.conversion.table import CONVERSIONS
from plate_nets.errors import PlateError
from plate_nets.nets.checkpoint import load_weights, save_weights, weights_path
from plate_nets.nets.lprnet import LPRNet
from plate_nets.nets.stn import STN
from plate_nets.nets.yolov5 import YOLOv5n

NETWORKS = {"stn": STN, "lprnet": LPRNet, "yolo": YOLOv5n}


def main(
    files: Annotated[list[Path], typer.Argument(help="stn.safetensors, lprnet.safetensors, yolo.safetensors")],
) -> None:
    """Checks each file against its network and puts it, with its hash and its numbers, into plate_nets/weights."""
    for path in files:
        try:
            if path.stem not in NETWORKS:
                raise PlateError(f"{path}: expected a file named after one of {', '.join(NETWORKS)}")
            network = NETWORKS[path.stem]()
            load_weights(network, path)
        except PlateError as error:
            typer.echo(f"error: {error}", err=True)
            raise typer.Exit(1) from error
        with safe_open(path, framework="pt") as stored:
            metadata = stored.metadata() or {}
        save_weights(network, weights_path(path.stem), metadata)
        record(CONVERSIONS[path.stem])
        typer.echo(f"{path} -> {weights_path(path.stem)}")


if __name__ == "__main__":
    typer.run(main)
