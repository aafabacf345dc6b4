"""Real servers: the address of one, and `plates serve` in its own process with everything it leaves behind."""

import contextlib
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import psutil

from plate_nets.cli.options import SCHEME_VARIABLE
from plate_nets.client import WireProtocol, parse_url
from plate_nets.client.transports import ServerAccess, open_transport
from plate_nets.client.transports.calls import statistics
from plate_nets.common.control_key import KEY_VARIABLE
from plate_nets.triton.server.guard import ENVIRONMENTS
from plate_nets.triton.server.installation import wheel
from plate_nets.triton.server.stubs import stub_model

SHARED_MEMORY = Path("/dev/shm")
NAMESPACE = ("unshare",) if os.geteuid() == 0 else ("unshare", "--user", "--map-root-user")
"""A prefix that gives a command its own mounts or process ids."""
ANY_PORTS = ("--http-port", "0", "--grpc-port", "0", "--metrics-port", "0", "--health-port", "0")


@dataclass(frozen=True)
class Served:
    """Where the server listens, as ``host:port``."""

    http: str
    grpc: str
    control_key: str

    def url(self, protocol: WireProtocol) -> str:
        return self.http if protocol == "http" else self.grpc

    def executions(self, *models: str) -> list[int]:
        """How often each model ran, from Triton's own statistics."""
        with open_transport(ServerAccess(parse_url(self.http), control_key=self.control_key)) as transport:
            found = [transport.send(statistics(model), 60) for model in models]
        return [int(versions[0].get("execution_count", 0)) for versions in found]


class Serve:
    """`plates serve` on free ports, started and ready; a context manager. ``prefix`` comes before the command, such as
    ``unshare``.

    Unless told otherwise it reads Russian plates only: two models fewer start, and start again after each fault.
    """

    def __init__(
        self,
        tmp_path: Path,
        arguments: Sequence[str] = (),
        environment: Mapping[str, str] | None = None,
        prefix: Sequence[str] = (),
        log_option: bool = True,
    ) -> None:
        self.folder = tmp_path / "tmp"
        self.folder.mkdir()
        self.log = tmp_path / "server.log"
        self._events = tmp_path / "events.jsonl"
        self._forgotten = 0
        self._errors = tmp_path / "stderr"
        self.environment = (
            os.environ | {SCHEME_VARIABLE: "russia", "TMPDIR": str(self.folder)} | dict(environment or {})
        )
        self.control_key = self.environment.get(KEY_VARIABLE, "")
        command = [*prefix, sys.executable, "-m", "plate_nets", "serve", *ANY_PORTS]
        with self._errors.open("w", encoding="utf-8") as errors:
            self.process = subprocess.Popen(
                [
                    *command,
                    *(("--log", str(self.log)) if log_option else ()),
                    *("--events", str(self._events)),
                    *arguments,
                ],
                stdout=subprocess.PIPE,
                stderr=errors,
                env=self.environment,
                text=True,
            )
        self.root = self.process.pid
        assert self.process.stdout is not None
        said = [self.process.stdout.readline() for _ in range(5)]
        assert said[-1].startswith("Ready"), self.errors() + self.log_text()
        self.addresses = dict(line.split() for line in said[:4])
        self.family = self.members()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def http_url(self) -> str:
        """``host:port``."""
        return self.addresses["http"].removeprefix("http://")

    def health(self) -> tuple[int, dict[str, Any]]:
        """GET /health -> status and body."""
        try:
            with urllib.request.urlopen(self.addresses["health"], timeout=10) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            return error.code, json.load(error)

    def is_healthy(self) -> bool:
        """Whether it recognises plates."""
        return self.health()[0] == 200

    def members(self) -> list[psutil.Process]:
        """The guard, the server and its stubs that exist now."""
        return psutil.Process(self.root).children(recursive=True)

    def server(self) -> psutil.Process:
        """The tritonserver."""
        (found,) = [each for each in self.members() if each.name() == "tritonserver"]
        return found

    def stubs(self, model: str) -> list[psutil.Process]:
        """The living processes of a model."""
        return stubs_below(self.root, model)

    def regions(self) -> list[Path]:
        """Its regions of shared memory."""
        return list(SHARED_MEMORY.glob(f"plates_{self.root}_*"))

    def environments(self) -> list[Path]:
        """Folders of Triton's Python backend, also those of other servers on this machine."""
        return list(ENVIRONMENTS.glob("python_env_*"))

    def left(self) -> list[object]:
        """What is left of its processes, regions and files."""
        alive = [each for each in self.family if each.is_running() and each.status() != psutil.STATUS_ZOMBIE]
        return [*alive, *self.regions(), *self.folder.iterdir()]

    def events(self, kind: str | None = None) -> list[dict[str, Any]]:
        """The supervisor's events, or those of one kind."""
        lines = self._events.read_text(encoding="utf-8").splitlines()[self._forgotten :]
        return [event for event in map(json.loads, lines) if kind in (None, event["event"])]

    def forget_events(self) -> None:
        """From now on, `events` only gives new ones, for a test that is not the server's first."""
        self._forgotten += len(self.events())

    def errors(self) -> str:
        """Its standard error, without the line that tells what a start of over 3 s waits for."""
        return without_waiting(self._errors.read_text(encoding="utf-8"))

    def log_text(self) -> str:
        """The server's log."""
        return self.log.read_text(encoding="utf-8") if self.log.exists() else ""

    def send(self, number: signal.Signals) -> None:
        """Send `plates serve` a signal."""
        self.process.send_signal(number)

    def wait(self, seconds: float) -> int:
        """Wait for its end -> the exit code."""
        return self.process.wait(seconds)

    def finish(self, number: signal.Signals) -> int:
        """Send a signal and wait for the end -> the exit code."""
        self.send(number)
        return self.wait(60)

    def close(self) -> None:
        """End it, whatever its state."""
        self.process.kill()
        self.process.communicate()


Start = Callable[[Path, Sequence[str]], Serve]
"""A folder and arguments of `plates serve` -> a supervised server, ready."""


def stubs_below(root: int, model: str) -> list[psutil.Process]:
    """The living processes of a model below a process."""
    found = []
    for each in psutil.Process(root).children(recursive=True):
        with contextlib.suppress(psutil.Error):  # it just ended
            if each.status() != psutil.STATUS_ZOMBIE and stub_model(each) == model:
                found.append(each)
    return found


def system_server(folder: Path) -> dict[str, str]:
    """The wheel's server as if on PATH with its own backends, as in NVIDIA's image -> the environment for it."""
    installation = wheel()
    system = folder / "system"
    for name, source in installation.files.items():
        copy = system / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, copy)
    program = system / "bin" / "tritonserver"
    program.parent.mkdir()
    libraries = shlex.quote(os.pathsep.join(installation.libraries))
    program.write_text(
        f"#!/bin/sh\nexport LD_LIBRARY_PATH={libraries}\n"
        f'exec {installation.program} --backend-directory={system / "backends"} "$@"\n',
        encoding="utf-8",
    )
    program.chmod(0o755)
    return {"PATH": f"{program.parent}{os.pathsep}{os.environ['PATH']}"}


def without_waiting(errors: str) -> str:
    """Standard error without the line of a start that takes over 3 s."""
    lines = errors.splitlines(keepends=True)
    return "".join(line for line in lines if not line.startswith("Starting Triton and loading the models"))
