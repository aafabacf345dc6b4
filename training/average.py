"""`python -m training.average FILE FILE... --out FILE`: the mean of weights of one network.

Stages of one training lie in one basin, and their mean is often better than either (Wortsman et al., "Model soups",
2022).
"""

from pathlib import Path
from typing import Annotated

import torch
import typer

from plate_nets.errors import PlateError
from plate_nets.nets.checkpoint import save_weights
from plate_nets.nets.registry import NETWORKS
from plate_nets.plates import DEFAULT_SCHEME, load_scheme


def main(
    files: Annotated[list[Path], typer.Argument(help="Weights of one network.")],
    out: Annotated[Path, typer.Option(help="File for their mean, named after the network, such as yolo.safetensors.")],
    scheme: Annotated[
        str, typer.Option(help="Scheme that the reader is trained for (built-in name or TOML file).")
    ] = DEFAULT_SCHEME,
) -> None:
    """Averages weights, each with the same share."""
    try:
        if out.stem not in NETWORKS:
            raise PlateError(f"{out}: expected a file named after one of {', '.join(NETWORKS)}")
        registered, country = NETWORKS[out.stem], load_scheme(scheme)
        networks = [registered.load(country, path) for path in files]
    except PlateError as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(1) from error
    mean = networks[0]
    states = [network.state_dict() for network in networks]
    with torch.no_grad():
        for name, value in mean.state_dict().items():
            if value.is_floating_point():
                value.copy_(torch.stack([state[name] for state in states]).mean(0))
    metadata = {"mean of": ", ".join(path.parent.name for path in files)}
    save_weights(mean, out, metadata, registered.scheme_of_weights(country))
    typer.echo(f"mean of {len(files)} -> {out}")


if __name__ == "__main__":
    typer.run(main)
