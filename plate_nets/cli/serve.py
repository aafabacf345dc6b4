"""`plates serve`: runs a supervised server until Ctrl-C or SIGTERM."""

import os
import signal
from contextlib import ExitStack
from pathlib import Path
from types import FrameType
from typing import Annotated, BinaryIO, Literal

import typer

from plate_nets.cli.options import Details, Log, ModelRepository, Schemes, use_detail, use_schemes
from plate_nets.cli.readers import started
from plate_nets.common.control_key import KEY_VARIABLE
from plate_nets.common.errors import MissingExtra, ServerStartError
from plate_nets.triton.server import EmbeddedTriton
from plate_nets.triton.server.deployment import warnings
from plate_nets.triton.server.installation import default_kind
from plate_nets.triton.supervision.events import Status
from plate_nets.triton.supervision.health_endpoint import HealthEndpoint
from plate_nets.triton.supervision.metrics import StatusCollector
from plate_nets.triton.supervision.policy import Limits
from plate_nets.triton.supervision.supervisor import (
    DEADLINE,
    EXIT_TIMEOUT,
    GRACE,
    GROWTH,
    INTERVAL,
    SERVER_GROWTH,
    Supervisor,
)

TUNING = "Tuning"
"""The group of options that docs/reference/stability.md does not promise for 2.x."""
EMBEDDED = "This embedded server is for trying and for tests; for use, run the container, or read with --local."
_STDERR = 2


def serve(
    http_port: Annotated[int, typer.Option(min=0, max=65535, help="Port for HTTP; 0 picks a free one.")] = 8000,
    grpc_port: Annotated[int, typer.Option(min=0, max=65535, help="Port for gRPC; 0 picks a free one.")] = 8001,
    metrics_port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port for Triton's metrics; 0 picks a free one.")
    ] = 8002,
    health_port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port for /health, /live and /metrics; 0 picks a free one.")
    ] = 8003,
    address: Annotated[
        str, typer.Option(help="Address to listen on (the embedded server only listens on loopback).")
    ] = "127.0.0.1",
    server: Annotated[
        Literal["embedded", "system"] | None,
        typer.Option(
            help="Which tritonserver to run: the embedded one, or the system's on PATH. Default: the system's, "
            "if there is one."
        ),
    ] = None,
    model_repository: ModelRepository = None,
    scheme: Schemes = None,
    detail: Details = None,
    control_key_file: Annotated[
        Path | None, typer.Option(help="Write the control key to this new file, readable only by you.", dir_okay=False)
    ] = None,
    events: Annotated[
        Path | None,
        typer.Option(
            help="File for restarts, reloads and warnings, as lines of JSON. Default: standard error.", dir_okay=False
        ),
    ] = None,
    log: Log = None,
    growth: Annotated[
        int,
        typer.Option(
            help="How much a model process may grow before its model is reloaded (MB); 0: no limit.",
            min=0,
            rich_help_panel=TUNING,
        ),
    ] = GROWTH >> 20,
    server_growth: Annotated[
        int,
        typer.Option(
            help="How much the server may grow before it is restarted (MB); 0: no limit.",
            min=0,
            rich_help_panel=TUNING,
        ),
    ] = SERVER_GROWTH >> 20,
    probe_interval: Annotated[
        float, typer.Option(help="Time between two probes (seconds).", min=0.1, rich_help_panel=TUNING)
    ] = INTERVAL,
    probe_deadline: Annotated[
        float,
        typer.Option(
            help="How long a probe may take (seconds); set it higher than a request may wait.",
            min=0.1,
            rich_help_panel=TUNING,
        ),
    ] = DEADLINE,
    grace: Annotated[
        float,
        typer.Option(
            help="How long old model processes may take to exit after a reload (seconds).",
            min=0,
            rich_help_panel=TUNING,
        ),
    ] = GRACE,
    drain: Annotated[
        float,
        typer.Option(
            help="How long to keep serving after SIGTERM, with /health at 503, so that others take over (seconds).",
            min=0,
        ),
    ] = 0.0,
    exit_timeout: Annotated[
        float, typer.Option(help="How long the requests in progress may take to finish after --drain (seconds).", min=0)
    ] = EXIT_TIMEOUT,
    grpc_max_connection_age: Annotated[
        float,
        typer.Option(
            help="How long a gRPC connection may live before the client must reconnect (seconds); 0: forever.", min=0
        ),
    ] = 0.0,
    restart_pause: Annotated[
        float,
        typer.Option(
            help="Pause before the second restart in a row (seconds); it doubles before each further one.",
            min=0,
            rich_help_panel=TUNING,
        ),
    ] = Limits.pause,
) -> None:
    """Run a Triton server until Ctrl-C or SIGTERM. Reloads a model that fails, and restarts a server that fails.

    Ctrl-C stops it at once. SIGTERM drains it: it keeps serving for --drain seconds, then takes no new requests,
    finishes those that it has, and exits with 0, or with 1 if some took longer than --exit-timeout. A second SIGTERM
    stops it at once.

    On the health port, /health answers 200 as long as the server reads a known picture, and /live as long as the
    supervisor works.
    The control key, which opens Triton's model control and statistics, is random unless you set PLATES_CONTROL_KEY.
    """
    with ExitStack() as stack:
        use_schemes(scheme)
        use_detail(detail)
        status = Status(stack.enter_context(open_events(events)))
        kind = server or default_kind()
        triton = EmbeddedTriton(
            model_repository,
            model_control="explicit",
            control_key=os.environ.get(KEY_VARIABLE),
            server=kind,
            address=address,
            http_port=http_port,
            grpc_port=grpc_port,
            metrics_port=metrics_port,
            log=log,
            options=[f"--grpc-max-connection-age={round(1000 * age)}"] if (age := grpc_max_connection_age) else [],
            exit_timeout=0,  # the supervisor waits for requests in flight, nested ones included
        )
        for fault in warnings(triton.model_repository, address, kind):
            status.report("warning", fault=fault)
        endpoint = stack.enter_context(HealthEndpoint(status, address, health_port, StatusCollector(status)))
        if control_key_file:
            write_key(control_key_file, triton.control_key)
            stack.callback(control_key_file.unlink, missing_ok=True)
        try:
            stack.enter_context(started(triton))
        except MissingExtra as error:
            raise ServerStartError(f"{error}; or use --local or --url with plates read, watch or web") from error
        supervisor = Supervisor(
            triton,
            status,
            interval=probe_interval,
            deadline=probe_deadline,
            growth=growth << 20,
            server_growth=server_growth << 20,
            grace=grace,
            drain=drain,
            exit_timeout=exit_timeout,
            restart_pause=restart_pause,
        )
        drain_on_term(supervisor)
        tell_ready(triton, endpoint.url)
        if kind == "embedded":
            typer.echo(EMBEDDED)
        supervisor.run()


def tell_ready(triton: EmbeddedTriton, health: str) -> None:
    typer.echo(f"http     http://{triton.http_url}")
    typer.echo(f"grpc     grpc://{triton.grpc_url}")
    typer.echo(f"metrics  {triton.metrics_url}")
    typer.echo(f"health   {health}")
    typer.echo("Ready. Ctrl-C stops it.")


def drain_on_term(supervisor: Supervisor) -> None:
    """Make the first SIGTERM drain the server; the next one does what SIGTERM did before."""
    before = signal.getsignal(signal.SIGTERM)

    def drain(number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGTERM, before)
        supervisor.end()

    signal.signal(signal.SIGTERM, drain)


def open_events(path: Path | None) -> BinaryIO:
    """Open the file for the events, or standard error, unbuffered.

    Raises:
        ServerStartError: it cannot be written.
    """
    try:
        return path.open("ab", buffering=0) if path else os.fdopen(os.dup(_STDERR), "wb", buffering=0)
    except OSError as error:
        raise ServerStartError(f"{path}: {error.strerror}") from error


def write_key(path: Path, key: str) -> None:
    """Write the key to a new file that only its owner can read.

    Raises:
        ServerStartError: it cannot be written.
    """
    try:
        path.unlink(missing_ok=True)
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii") as file:
            file.write(key + "\n")
    except OSError as error:
        raise ServerStartError(f"{path}: the control key cannot be written: {error.strerror}") from error
