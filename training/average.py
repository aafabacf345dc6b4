"""`python -m training.average FILE FILE... --out FILE`: the mean of weights of one network.

The stages of one training lie in one basin, and their mean is often better than either (Wortsman et al., "Model soups",
2022).
"""

from pathlib import Path
from typing import Annotated

import torch
import typer

from plate_nets.common.errors import PlateError
from plate_nets.countries import MAIN_SCHEME, load_scheme
from plate_nets.networks.checkpoint import save_weights
from plate_nets.networks.registry import NETWORKS
from training.command import errors_in_one_line


@errors_in_one_line()
def main(
    files: Annotated[list[Path], typer.Argument(help="Weights of one network.")],
    out: Annotated[Path, typer.Option(help="File for their mean, named after the network, such as yolo.safetensors.")],
    share: Annotated[
        list[float] | None, typer.Option(help="Share of each file, in the same order. Default: equal shares.")
    ] = None,
    scheme: Annotated[
        str, typer.Option(help="Scheme that the reader is trained for (built-in name or TOML file).")
    ] = MAIN_SCHEME,
) -> None:
    """Average weights. An optional part, such as the head for vehicles, is averaged over the files that have it."""
    shares = share or [1.0] * len(files)
    if len(shares) != len(files) or min(shares) <= 0:
        raise PlateError(f"{len(files)} files and {len(shares)} shares; give one above 0 for each file, or none")
    if out.stem not in NETWORKS:
        raise PlateError(f"{out}: expected a file named after one of {', '.join(NETWORKS)}")
    registered, country = NETWORKS[out.stem], load_scheme(scheme)
    networks = [registered.load(country, path) for path in files]
    states = [network.state_dict() for network in networks]
    mean = max(networks, key=lambda network: len(network.state_dict()))
    with torch.no_grad():
        for name, value in mean.state_dict().items():
            having = [(state[name], part) for state, part in zip(states, shares, strict=True) if name in state]
            if value.is_floating_point():
                value.copy_(sum(part * tensor for tensor, part in having) / sum(part for _, part in having))
    names = (f"{part:g} x {path.parent.name}" for part, path in zip(shares, files, strict=True))
    metadata = {"mean of": ", ".join(names)}
    save_weights(mean, out, metadata, registered.scheme_of_weights(country))
    typer.echo(f"mean of {len(files)} -> {out}")


if __name__ == "__main__":
    typer.run(main)
