"""`python -m training.average FILE FILE... --out FILE`: the mean of weights of one network.

Stages of one training lie in one basin, and their mean is often better than either (Wortsman et al., "Model soups",
2022).
"""

from pathlib import Path
from typing import Annotated

import torch
import typer

from plate_nets.errors import PlateError
from plate_nets.nets.checkpoint import load_weights, save_weights
from training.publish import NETWORKS


def main(
    files: Annotated[list[Path], typer.Argument(help="Weights of one network.")],
    out: Annotated[Path, typer.Option(help="File for their mean, named after the network, such as yolo.safetensors.")],
) -> None:
    """Averages weights, each with the same share."""
    try:
        if out.stem not in NETWORKS:
            raise PlateError(f"{out}: expected a file named after one of {', '.join(NETWORKS)}")
        networks = [NETWORKS[out.stem]() for _ in files]
        for network, path in zip(networks, files, strict=True):
            load_weights(network, path)
    except PlateError as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(1) from error
    mean = networks[0]
    states = [network.state_dict() for network in networks]
    with torch.no_grad():
        for name, value in mean.state_dict().items():
            if value.is_floating_point():
                value.copy_(torch.stack([state[name] for state in states]).mean(0))
    save_weights(mean, out, {"mean of": ", ".join(path.parent.name for path in files)})
    typer.echo(f"mean of {len(files)} -> {out}")


if __name__ == "__main__":
    typer.run(main)
