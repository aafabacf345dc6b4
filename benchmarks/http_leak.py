"""``python -m benchmarks.http_leak``: how much Triton grows with each picture without a plate, over HTTP."""

from typing import Annotated

import numpy as np
import typer

from benchmarks.server.processes import find_server
from plate_nets import PlateClient
from plate_nets.client import parse_url
from plate_nets.triton.server.installation import PROGRAM
from training.command import errors_in_one_line


@errors_in_one_line()
def main(
    url: Annotated[str, typer.Argument(help="HTTP address of a server that nobody else asks.")] = "127.0.0.1:8000",
    pictures: Annotated[int, typer.Option(min=1, help="How many pictures to send.")] = 10_000,
) -> None:
    """Print the bytes of growth per picture."""
    address = parse_url(url)
    server = find_server(str(address))
    if server is None:
        raise typer.BadParameter(f"no {PROGRAM} of this machine listens on port {address.port}", param_hint="URL")
    empty = np.zeros((48, 96, 3), np.uint8)

    def memory_after(count: int) -> int:
        for _ in range(count):
            client.read(empty)
        return server.own()

    with PlateClient(url) as client:
        before = memory_after(max(1, pictures // 5))
        typer.echo(f"{(memory_after(pictures) - before) / pictures:.0f} bytes a picture")


if __name__ == "__main__":
    typer.run(main)
