"""`plates serve`: the embedded server until Ctrl-C."""

from typing import Annotated

import typer
from rich.console import Console

from plate_nets.cli.options import Log, ModelRepository
from plate_nets.embedded import EmbeddedTriton, response_cache_options
from plate_nets.embedded.faults import faults
from plate_nets.errors import ServerError

Port = Annotated[int, typer.Option(min=0, max=65535, help="0 takes a free one.")]


def serve(
    http_port: Port = 8000,
    grpc_port: Port = 8001,
    metrics_port: Port = 8002,
    model_repository: ModelRepository = None,
    log: Log = None,
    response_cache: Annotated[
        int, typer.Option(help="Megabytes for the answers to identical requests; see docs/performance.md first.", min=0)
    ] = 0,
) -> None:
    """Run the embedded Triton on 127.0.0.1 until Ctrl-C or SIGTERM."""
    console = Console(highlight=False)
    server = EmbeddedTriton(
        model_repository,
        http_port=http_port,
        grpc_port=grpc_port,
        metrics_port=metrics_port,
        options=response_cache_options(response_cache << 20) if response_cache else (),
        log=log,
    )
    with Console(stderr=True).status("Starting Triton and loading the models"):
        server.start()
    try:
        console.print(f"http     http://{server.http_url}")
        console.print(f"grpc     grpc://{server.grpc_url}")
        console.print(f"metrics  {server.metrics_url}")
        console.print("Ready. Ctrl-C stops it.")
        code = server.wait()
        raise ServerError(f"the embedded server ended by itself with code {code}\n{faults(server.log_text())}")
    finally:
        server.stop()
