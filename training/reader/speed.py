"""`python -m training.reader.speed`: times this reader and another one per plate, in one run."""

import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import torch
import typer
from rich.console import Console
from rich.table import Table
from torch import Tensor

from plate_nets.errors import PlateError
from plate_nets.runtimes.networks import TORCHSCRIPT, released
from plate_nets.runtimes.torchscript import load_torchscript

OWN = Path("model_repository")


def main(
    against: Annotated[Path, typer.Option(help="Folder with the other reader's stn.pt and lprnet.pt.")],
    own: Annotated[Path, typer.Option(help="Model repository with the converted networks.")] = OWN,
    batch: Annotated[int, typer.Option(min=1)] = 16,
    threads: Annotated[int, typer.Option(min=1)] = 2,
    rounds: Annotated[int, typer.Option(min=1, help="Timed calls of each, taken in turn.")] = 60,
) -> None:
    """Time STN + LPRNet of both readers in turn on the same batch; print medians and their ratio."""
    torch.set_num_threads(threads)
    try:
        readers = {
            "ours": _chain([released(own, name) / TORCHSCRIPT for name in ("stn", "lprnet")]),
            "other": _chain([against / f"{name}.pt" for name in ("stn", "lprnet")]),
        }
    except PlateError as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(1) from error
    crops = torch.rand(batch, 3, 24, 94, generator=torch.Generator().manual_seed(0)) * 2 - 1
    times: dict[str, list[float]] = {name: [] for name in readers}
    with torch.inference_mode():
        for turn in range(rounds + 10):
            for name, read in readers.items():
                started = time.perf_counter()
                read(crops)
                if turn >= 10:  # the first ten warm up
                    times[name].append((time.perf_counter() - started) * 1000 / batch)
    medians = {name: statistics.median(values) for name, values in times.items()}
    table = Table("reader", "ms a plate", title=f"STN + LPRNet, batch {batch}, {threads} threads, median of {rounds}")
    for name, value in medians.items():
        table.add_row(name, f"{value:.3f}")
    table.add_row("ours / other", f"{medians['ours'] / medians['other']:.3f}")
    Console().print(table)


def _chain(paths: list[Path]) -> Callable[[Tensor], Tensor]:
    stn, lprnet = (load_torchscript(path) for path in paths)
    return lambda crops: lprnet(stn(crops))


if __name__ == "__main__":
    typer.run(main)
