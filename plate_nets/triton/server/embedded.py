"""A server as a context manager: start it, wait until it is ready, know when it ends, stop it."""

import json
import os
import signal
import subprocess
import sys
import time
import weakref
from collections.abc import Callable, Collection, Sequence
from dataclasses import asdict
from functools import cached_property
from itertools import chain
from pathlib import Path
from types import TracebackType
from typing import Literal

from plate_nets.common.control_key import check_key, new_key, restrictions
from plate_nets.common.errors import ServerStartError
from plate_nets.networks.runtimes.choices import choices_file
from plate_nets.networks.runtimes.networks import default_repository
from plate_nets.triton.server.faults import last_words, loaded, reason, refused
from plate_nets.triton.server.guard import clean
from plate_nets.triton.server.installation import PACKAGE, Installation, ServerKind, find_installation
from plate_nets.triton.server.leftovers import kill_named, remove_abandoned_environments
from plate_nets.triton.server.log import ServerLog
from plate_nets.triton.server.plan import Plan, plan_server
from plate_nets.triton.server.ports import LOOPBACK, accepts, choose_ports, is_free, is_ready
from plate_nets.triton.server.repository import check_converted, needed_models
from plate_nets.triton.server.start_watch import StartWatch, server_of

ModelControl = Literal["none", "explicit"]

_GUARD = PACKAGE / "triton" / "server" / "guard.py"
_START_ATTEMPTS = 5
_PATIENCE = 3.0
"""Seconds after which a start says what it waits for."""
_LOOPBACK_NETWORK = "127."
_ALL = "0.0.0.0"
_PASSING = ("already in use", "is not healthy")
_ABORTED = 128 + signal.SIGABRT


class _OwnFault(ServerStartError):
    """The server aborted or hangs because of a fault of its own; another start may succeed."""


class EmbeddedTriton:
    """A real Triton server in a process of its own, as a context manager.

    Entering the block starts the server and waits until every model is ready; leaving it stops the server. No process,
    shared memory or temporary folder is left behind, however it ends. A guard process cleans up even if the parent is
    killed.

    Args:
        model_repository: folder with the models; by default `default_repository()`.
        model_repositories: more folders with models.
        packages: folders of Python packages that these models import, beside this package.
        model_control: "explicit" lets you load and unload models while the server runs, with the key; "none" does not.
        load: the models to load at the start; by default those that the repository's schemes need, and all models of
            the other repositories.
        control_key: the key of the restricted endpoints (`control_key.RESTRICTED`); by default a new random one.
        options: more options for tritonserver.
        server: "embedded" runs the wheel's tritonserver, "system" the one on PATH.
        address: the address to listen on. The embedded server only listens on loopback (127.0.0.0/8), because that
            release (24.10) lacks the security fixes of 2025 and 2026, one for remote code execution among them.
        http_port: port for HTTP; 0 picks a free one.
        grpc_port: port for gRPC; 0 picks a free one.
        metrics_port: port for the metrics; 0 picks a free one.
        log: file to append the server's log to, or "-" for standard error. By default the newest part is kept in
            memory until the server ends.
        start_timeout: how long the models may take to be ready, seconds.
        exit_timeout: how long requests in flight may take to finish before everything is killed, seconds; 0 kills at
            once.
    """

    def __init__(
        self,
        model_repository: Path | None = None,
        *,
        model_repositories: Sequence[Path] = (),
        packages: Sequence[Path] = (),
        model_control: ModelControl = "none",
        load: Sequence[str] = (),
        control_key: str | None = None,
        options: Sequence[str] = (),
        server: ServerKind = "embedded",
        address: str = LOOPBACK,
        http_port: int = 0,
        grpc_port: int = 0,
        metrics_port: int = 0,
        log: Path | None = None,
        start_timeout: float = 180.0,
        exit_timeout: float = 3.0,
    ) -> None:
        self.model_repository = Path(model_repository or default_repository()).resolve()
        if server == "embedded" and not address.startswith(_LOOPBACK_NETWORK):
            raise ServerStartError(f"the embedded server only listens on {LOOPBACK}, got {address}; use the container")
        self._server = server
        self._address = address
        self._host = LOOPBACK if address == _ALL else address
        self.control_key = control_key or new_key()
        check_key(self.control_key)
        self._repositories = [self.model_repository, *(Path(each).resolve() for each in model_repositories)]
        self._packages = [Path(each).resolve() for each in packages]
        self._load = tuple(load)
        self._control: ModelControl = model_control
        self._options = [*restrictions(self.control_key), *options]
        self._requested_ports = {"http": http_port, "grpc": grpc_port, "metrics": metrics_port}
        self._ports = dict(self._requested_ports)
        self._log_path = log
        self._start_timeout = start_timeout
        self._exit_timeout = exit_timeout
        self._slow: Callable[[str], None] | None = None
        self._guard: subprocess.Popen[bytes] | None = None
        self._plan: Plan | None = None
        self._log: ServerLog | None = None

    @cached_property
    def models(self) -> tuple[str, ...]:
        """The names of the models that read plates: those that the repository's schemes need.

        Raises:
            ServerStartError: it names an unknown scheme.
        """
        return needed_models(self.model_repository)

    @property
    def http_url(self) -> str:
        """``host:port`` for HTTP."""
        return f"{self._host}:{self._ports['http']}"

    @property
    def grpc_url(self) -> str:
        """``host:port`` for gRPC."""
        return f"{self._host}:{self._ports['grpc']}"

    @property
    def metrics_url(self) -> str:
        """Address of the Prometheus metrics."""
        return f"http://{self._host}:{self._ports['metrics']}/metrics"

    @property
    def guard_pid(self) -> int | None:
        """The process whose descendants are the server and its stubs; None if it is not running."""
        return self._guard.pid if self._guard else None

    @property
    def server_pid(self) -> int | None:
        """The server itself; None if it is not running."""
        server = server_of(self._guard.pid) if self._guard else None
        return server.pid if server else None

    @property
    def region_prefix(self) -> str:
        """Prefix of the server's regions in /dev/shm; empty if it is not running."""
        return self._plan.region_prefix if self._plan else ""

    def __enter__(self) -> "EmbeddedTriton":
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self, slow: Callable[[str], None] = lambda awaited: None) -> None:
        """Start the server and wait until every model is ready.

        ``slow`` is called once if that takes more than 3 s, with the names of the models that are not loaded yet.

        Raises:
            ServerStartError: it cannot run here, a port is taken, a model is not converted or fails to load, or it
                was not ready in time; the message holds the server's own error.
        """
        if self._guard is not None:
            raise ServerStartError("the embedded server is already running")
        check_converted(self.model_repository, self.models)
        remove_abandoned_environments()
        installation = find_installation(self._server)
        for name, port in self._requested_ports.items():
            if port and not is_free(port, self._address):
                raise ServerStartError(
                    f"{name} port {port} on {self._address} is already in use; choose another, or 0 for a free one"
                )
        self._slow = slow
        for attempt in range(_START_ATTEMPTS):
            self._ports = choose_ports(self._requested_ports)
            try:
                self._launch(installation)
                self._wait_until_ready()
                return
            except ServerStartError as error:
                self.stop()
                # Another program may take a free port between its choice and the server's bind. On a heavily overloaded
                # machine, Triton (24.10) sometimes aborts while it waits for its stubs to start, hangs, or takes a stub
                # that has no time to report its health for dead.
                passing = isinstance(error, _OwnFault) or any(each in str(error) for each in _PASSING)
                if not passing or attempt == _START_ATTEMPTS - 1:
                    raise
            except BaseException:
                self.stop()
                raise

    def stop(self) -> None:
        """Stop the server and wait until nothing of it is left; does nothing if it is not running."""
        guard, self._guard = self._guard, None
        if guard is None:
            return
        assert guard.stdin is not None and self._plan is not None and self._log is not None
        guard.stdin.close()
        guard.send_signal(signal.SIGCONT)  # a stopped process would not see the closed pipe
        if guard.wait() < 0:  # killed, which took the server with it, but not the server's stubs
            kill_named(self._plan.region_prefix)
        clean(Path(self._plan.folder), self._plan.region_prefix, self._plan.planned)
        self._log.close()
        self._plan = self._log = None

    def restart(self) -> None:
        """Stop what is left of the server and start it again on the same ports, with the same key.

        Raises:
            ServerStartError: as `start`.
        """
        self.stop()
        self._requested_ports = dict(self._ports)
        self.start()

    def wait(self, timeout: float | None = None) -> int | None:
        """Wait until the server exits on its own -> its exit code, or None after ``timeout`` seconds."""
        if self._guard is None:
            raise ServerStartError("the embedded server is not running; start it first")
        try:
            return self._guard.wait(timeout)
        except subprocess.TimeoutExpired:
            return None

    def log_text(self) -> str:
        """The server's log so far, or its newest part if it goes to standard error; empty if it is not running."""
        if self._log is not None:
            self._log.drain()
        return self._log_so_far()

    def _log_so_far(self) -> str:
        return self._log.text() if self._log is not None else ""

    def _named_log(self) -> str:
        assert self._plan is not None
        return self._plan.without_links(self._log_so_far())

    def trim_log(self) -> None:
        """Truncate a long log that has no name, because no logrotate can handle it."""
        if self._log is not None:
            self._log.trim()

    def _model_control(self) -> list[str]:
        found = [[each.parent.name for each in repository.glob("*/config.pbtxt")] for repository in self._repositories]
        load = self._load or (*self.models, *chain.from_iterable(found[1:]))
        return model_control_options(self._control, load, set(chain.from_iterable(found)))

    @cached_property
    def _choices(self) -> str:
        """The file of `runtimes.choices`, in memory if it cannot be written: then it ends with this process."""
        if file := choices_file():
            return str(file)
        number = os.memfd_create("plates_precision")
        weakref.finalize(self, os.close, number)
        return f"/proc/{os.getpid()}/fd/{number}"

    def _launch(self, installation: Installation) -> None:
        self._plan = plan_server(
            installation,
            self._repositories,
            self._ports,
            self._exit_timeout,
            [*self._model_control(), *self._options],
            self._address,
            self._packages,
            self.control_key,
            self._choices,
        )
        self._log = ServerLog(self._log_path)
        self._guard = subprocess.Popen(
            [sys.executable, "-I", "-S", str(_GUARD)],
            stdin=subprocess.PIPE,
            stdout=self._log.file,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        self._log.handed_over()
        assert self._guard.stdin is not None
        self._guard.stdin.write(json.dumps(asdict(self._plan)).encode() + b"\n")
        self._guard.stdin.flush()

    def _wait_until_ready(self) -> None:
        assert self._guard is not None
        begun = time.monotonic()
        deadline = begun + self._start_timeout
        watch = StartWatch(self._guard.pid, self._log_so_far)
        # The metrics' listener is opened last
        while not (is_ready(self.http_url) and accepts(self._host, self._ports["metrics"])):
            death, code = watch.death(), self._guard.poll()
            if death:
                log = self._named_log()
                # A stub that Triton took for dead too early exits with code 1 and says nothing
                fault = ServerStartError if death.code != 1 or last_words(log) else _OwnFault
                raise fault(death.described(log))
            if code is not None:
                self.log_text()  # waits for its last lines
                log = self._named_log()
                fault = _OwnFault if code == _ABORTED and not refused(log) else ServerStartError
                raise fault(f"the server exited with code {code} before it was ready: {reason(log)}")
            if watch.load_failed():
                raise ServerStartError(f"the server did not become ready: {reason(self._named_log())}")
            if watch.hangs():
                raise _OwnFault(f"the server hung before it was ready: {reason(self._named_log())}")
            if time.monotonic() > deadline:
                raise ServerStartError(
                    f"the server was not ready within {self._start_timeout:g} s: {reason(self._named_log())}"
                )
            if self._slow and time.monotonic() - begun > _PATIENCE:
                done = loaded(self._log_so_far())
                self._slow(", ".join(model for model in self._load or self.models if model not in done))
                self._slow = None
            time.sleep(0.1)


def model_control_options(control: ModelControl, load: Collection[str], existing: Collection[str]) -> list[str]:
    """Build tritonserver's options from the control mode, the models to load at the start, and the existing models.

    Without model control, Triton loads all existing models. To leave some out, control is enabled with a random key
    that nobody knows.
    """
    if control == "none" and set(load) == set(existing):
        return ["--model-control-mode=none"]
    return ["--model-control-mode=explicit", *(f"--load-model={name}" for name in load)]
