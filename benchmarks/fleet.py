"""`python -m benchmarks.fleet`: several servers of this machine behind one client; they join, leave, die and freeze."""

import os
import re
import signal
import socket
import statistics
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import psutil
import typer
from rich.console import Console

from benchmarks.report.environment import environment
from benchmarks.server.processes import ServerProcesses
from plate_nets.cli import guarded
from plate_nets.cli.options import SCHEME_VARIABLE
from plate_nets.client import PlateClient
from plate_nets.common.contexts import Closing
from plate_nets.common.errors import PlateError
from plate_nets.countries import DEFAULT_SCHEMES
from plate_nets.recognition.health import known_picture
from plate_nets.triton.backend.quota import CORES_VARIABLE, usable_cores
from plate_nets.triton.server.ports import choose_ports
from plate_nets.triton.supervision.progress import read_metrics
from tests.serve import Serve

CALLERS = 8
SERVICES = ("http", "grpc", "metrics", "health")
NAME = "plates.benchmark"
"""A name resolved from a table in this process, instead of a name server."""
ROUNDS = 3
SECONDS = 20.0
"""Length of each load."""
FLEET = 3
"""Number of servers that share the cores of this machine."""
_LONGEST = 120.0
"""Maximum seconds to wait for anything."""


class Server:
    """`plates serve` on a fixed address and ports, over any number of starts; ``stack`` ends what still runs.

    ``cores``: limit, as ``PLATES_CORES``; None: all.
    """

    serve: Serve

    def __init__(
        self, stack: ExitStack, folder: Path, address: str, ports: Mapping[str, int], cores: int | None = None
    ) -> None:
        self._stack = stack
        self.address = address
        self.ports = ports
        self._folder = folder
        self._environment = {SCHEME_VARIABLE: os.environ.get(SCHEME_VARIABLE, DEFAULT_SCHEMES)}
        self._environment |= {CORES_VARIABLE: str(cores)} if cores else {}

    def url(self, service: str) -> str:
        """``http://host:port`` or ``grpc://host:port``."""
        return f"{'grpc' if service == 'grpc' else 'http'}://{self.address}:{self.ports[service]}"

    def start(self) -> None:
        """Start it and return once it is ready."""
        ports = [word for name, port in self.ports.items() for word in (f"--{name}-port", str(port))]
        folder = Path(tempfile.mkdtemp(dir=self._folder))
        self.serve = Serve(folder, ["--address", self.address, *ports], self._environment)
        self._stack.callback(self.serve.close)

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """Freeze server and supervisor, like a machine that hangs. Connections are still accepted."""
        stopped = [psutil.Process(self.serve.root), self.serve.server()]
        for each in stopped:
            each.suspend()
        try:
            yield
        finally:
            for each in stopped:
                each.resume()

    def frames(self) -> int:
        return frames_read(f"{self.url('metrics')}/metrics")


class Callers(Closing):
    """`CALLERS` threads that send during the block, every second one over gRPC; `pause`: seconds between two calls."""

    def __init__(self, urls: Mapping[str, Sequence[str] | str], pause: float = 0.0) -> None:
        self.answered = 0
        self.faults: list[str] = []
        self._since = [0.0] * CALLERS
        """Start of each call in flight."""
        self.longest: float = 0.0
        self._pause = pause
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._clients = [PlateClient(urls[wire], wire, timeout=60) for wire in ("http", "grpc")]
        self._threads = [threading.Thread(target=self._ask, args=(number,)) for number in range(CALLERS)]

    def __enter__(self) -> "Callers":
        for thread in self._threads:
            thread.start()
        self.all_answered()
        return self

    def close(self) -> None:
        self._ended.set()
        for thread in self._threads:
            thread.join()
        for client in self._clients:
            client.close()

    def all_answered(self) -> float:
        """Wait until every call now in flight has ended -> seconds."""
        began = time.monotonic()
        wait(lambda: min(self._since) > began)
        return time.monotonic() - began

    def _ask(self, number: int) -> None:
        known = known_picture()
        while not self._ended.is_set():
            began = self._since[number] = time.monotonic()
            fault = ""
            try:
                texts = {plate.reading.text for plate in self._clients[number % 2].read(known.image)}
                if texts != set(known.texts):
                    fault = f"read {sorted(texts)}"
            except PlateError as error:
                fault = f"{type(error).__name__}: {error}"
            with self._lock:
                self.longest = max(self.longest, time.monotonic() - began)
                if fault:
                    self.faults.append(fault)
                else:
                    self.answered += 1
            self._ended.wait(self._pause)
        self._since[number] = float("inf")


def wait(condition: Any) -> None:
    """Wait for a condition; raises TimeoutError if it does not come true."""
    deadline = time.monotonic() + _LONGEST
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"not within {_LONGEST:g} s")
        time.sleep(0.02)


def frames_read(metrics_url: str) -> int:
    """Pictures that a server read for others than its supervisor; 0 if it reports none."""
    try:
        found = re.search(r"^plates_frames_total (\d+)", read_metrics(metrics_url, 30), re.MULTILINE)
    except OSError:
        return 0
    return int(found[1]) if found else 0


def both(servers: Sequence[Server]) -> dict[str, Sequence[str] | str]:
    """Servers -> their addresses by protocol."""
    return {wire: [each.url(wire) for each in servers] for wire in ("http", "grpc")}


@contextmanager
def names(addresses: list[str]) -> Iterator[None]:
    """Let `NAME` resolve to these addresses, which may change, during the block."""
    known = socket.getaddrinfo

    def getaddrinfo(host: Any, port: Any, *arguments: Any, **options: Any) -> Any:
        if host != NAME:
            return known(host, port, *arguments, **options)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in addresses]

    socket.getaddrinfo = getaddrinfo
    try:
        yield
    finally:
        socket.getaddrinfo = known


def shares(servers: Sequence[Server]) -> list[str]:
    with Callers(both(servers)) as callers:
        before = [each.frames() for each in servers]
        time.sleep(SECONDS)
        own = [each.frames() - then for each, then in zip(servers, before, strict=True)]
    share = ", ".join(f"{100 * each / max(1, sum(own)):.0f} %" for each in own)
    return ["share of each of two", share, "45 to 55 %", _calls(callers)]


def restarts(servers: Sequence[Server]) -> list[str]:
    """Each server is ended by SIGTERM and started again, in turn."""
    with Callers(both(servers)) as callers:
        for _ in range(ROUNDS):
            for server in servers:
                server.serve.finish(signal.SIGTERM)
                server.start()
    return [f"rolling restart, {ROUNDS} times", f"{len(callers.faults)} failed", "0", _calls(callers)]


def killed(servers: Sequence[Server]) -> list[str]:
    """A tritonserver is killed by SIGKILL. Its supervisor starts it again."""
    with Callers(both(servers)) as callers:
        servers[0].serve.server().kill()
        callers.all_answered()
        wait(lambda: servers[0].frames() > 0)
    return ["one killed", f"{len(callers.faults)} failed", "0 with retries", _calls(callers)]


def frozen(servers: Sequence[Server]) -> list[str]:
    """A server and its supervisor are stopped by SIGSTOP."""
    with Callers(both(servers)) as callers, servers[1].frozen():
        seconds = callers.all_answered()
    result = f"left after {seconds:.1f} s, {len(callers.faults)} failed"
    return ["one frozen", result, "15 s, 0 failed", _calls(callers)]


def joins(servers: Sequence[Server]) -> list[str]:
    """A second server joins a name. Both have the same ports, on different addresses."""
    first, second = servers
    second.serve.finish(signal.SIGTERM)
    addresses = [first.address]
    url = {wire: f"dns:///{NAME}:{first.ports[wire]}" for wire in ("http", "grpc")}
    with names(addresses), Callers(url) as callers:
        second.start()
        addresses.append(second.address)
        began = time.monotonic()
        wait(lambda: second.frames() > 0)
        seconds = time.monotonic() - began
        addresses.remove(first.address)
        wait(lambda: not _grows(first))
    result = f"asked after {seconds:.1f} s"
    return ["a new one joins a name", result, "35 s", f"{_calls(callers)}, then the first leaves"]


def overhead(single: Server, fleet: Sequence[Server]) -> list[str]:
    """Compare several servers that share the cores with one that has all, in turn, under the same callers.

    CPU time per picture, and pictures per second.
    """
    found: list[tuple[Sequence[Server], list[tuple[float, float]]]] = [([single], []), (fleet, [])]
    for _ in range(ROUNDS):
        for own, rows in found:
            with Callers(both(own)) as callers:
                before, cpu, began = callers.answered, _cpu(own), time.monotonic()
                time.sleep(SECONDS)
                answered = callers.answered - before
                rows.append(((_cpu(own) - cpu) / answered, answered / (time.monotonic() - began)))
    alone, many = ([statistics.median(column) for column in zip(*rows, strict=True)] for _, rows in found)
    extra, faster = 100 * (many[0] / alone[0] - 1), many[1] / alone[1]
    result = f"{extra:+.0f} % processor time per picture, {faster:.2f} times the pictures/s"
    return [f"a fleet of {len(fleet)} against one", result, "+5 %", f"medians of {ROUNDS} rounds in turn"]


def _cpu(servers: Sequence[Server]) -> float:
    return sum(ServerProcesses(each.serve.root).cpu_seconds() for each in servers)


def _grows(server: Server) -> bool:
    before = server.frames()
    time.sleep(1.0)
    return server.frames() > before


def _calls(callers: Callers) -> str:
    summary = f"{callers.answered} answered, {len(callers.faults)} failed, the longest {callers.longest:.1f} s"
    return "; ".join([summary, *sorted(set(callers.faults))[:3]])


def fleet() -> None:
    """Measure several servers on this machine: 8 callers, half of them over HTTP and half over gRPC, with retries."""
    console = Console(highlight=False)

    def show(figure: str, measured: str, target: str, calls: str) -> None:
        console.print(f"{figure}: {measured}; target: {target}; {calls}", markup=False, soft_wrap=True)

    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        ports = choose_ports(dict.fromkeys(SERVICES, 0))
        share = max(1, usable_cores() // FLEET)
        pair = [Server(stack, folder, f"127.0.0.{number}", ports) for number in (1, 2)]
        sharing = [Server(stack, folder, f"127.0.0.{number}", ports, share) for number in range(3, 3 + FLEET)]
        with ThreadPoolExecutor(2) as threads:
            list(threads.map(Server.start, pair))
        show(*shares(pair))
        for measure in (restarts, killed, frozen, joins):
            show(*measure(pair))
        for server in pair:  # the experiments have changed them
            server.serve.finish(signal.SIGTERM)
        for server in (pair[0], *sharing):
            server.start()
        show(*overhead(pair[0], sharing))
    hardware = environment()["hardware"]
    console.print(
        f"{hardware['processor']}, {hardware['cores']} cores, load {hardware['load_average_at_start']} now",
        markup=False,
    )


if __name__ == "__main__":
    typer.run(guarded(fleet))
