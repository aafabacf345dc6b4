"""The image as it is deployed: a container that the tests use and kill as they do `plates serve`."""

import contextlib
import json
import os
import secrets
import shlex
import signal
import subprocess
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import psutil

from plate_nets.common.control_key import KEY_VARIABLE
from plate_nets.networks.runtimes.precision import PRECISION_VARIABLE
from tests.serve import Serve, Served

IMAGE = "PLATES_IMAGE"
"""The variable with the name of the image under test, see `make test-image`."""
HARDENED = ("--read-only", "--tmpfs", "/tmp", "--cap-drop", "ALL", "--security-opt", "no-new-privileges")
"""The restrictions of the container, as in deploy/compose.yaml."""
ENOUGH_MEMORY = ("--shm-size", "1g")
PORTS = {"http": 8000, "grpc": 8001, "metrics": 8002, "health": 8003}
GRACE = 40
"""Seconds that a stop may take; deploy/compose.yaml has the same value."""
QUIET = ("--probe-interval", "86400")
"""For tests that count the runs of a model: the supervisor's own probes would count too."""
_READY = 180.0
"""Seconds until it must be healthy, on a busy machine."""


def engine(*arguments: str, check: bool = True) -> "subprocess.CompletedProcess[str]":
    """Run a command of the container engine that tools/engine.sh found."""
    command = [os.environ["ENGINE"], *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert not check or done.returncode == 0, f"{shlex.join(command)}: {done.stderr}"
    return done


class Container(Serve):
    """A healthy container of an image with `plates serve`.

    Args:
        image: its name.
        arguments: further arguments for the image's own command.
        options: for the engine, besides its security options and ports.
        environment: variables of the container.
    """

    def __init__(
        self,
        image: str,
        arguments: Sequence[str] = (),
        options: Sequence[str] = ENOUGH_MEMORY,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.name = f"plate-nets-test-{secrets.token_hex(4)}"
        self.control_key = secrets.token_urlsafe(32)
        self._forgotten = 0
        command = json.loads(engine("image", "inspect", "--format", "{{json .Config.Cmd}}", image).stdout)
        engine(
            *("run", "--detach", "--no-healthcheck", "--name", self.name, *HARDENED, *options),
            *(word for port in PORTS.values() for word in ("--publish", f"127.0.0.1::{port}")),
            *("--env", f"{KEY_VARIABLE}={self.control_key}"),
            *(
                "--env",
                f"{PRECISION_VARIABLE}={os.environ[PRECISION_VARIABLE]}",
            ),  # that of the tests, tests/conftest.py
            *(word for name, value in (environment or {}).items() for word in ("--env", f"{name}={value}")),
            *(image, *command, *arguments),
        )
        try:
            self.look()
            self.wait_until_healthy()
        except BaseException:
            self.close()
            raise
        self.family = self.members()

    def look(self) -> None:
        """Find its process and its ports, which change with a restart."""
        self.root = int(self.inspect("{{.State.Pid}}"))
        assert self.root, self.logs()
        self._main = psutil.Process(self.root)
        inside = Path(f"/proc/{self.root}/root")
        self.folder, self.shared_memory = inside / "tmp", inside / "dev" / "shm"
        listening = {name: engine("port", self.name, str(port)).stdout.strip() for name, port in PORTS.items()}
        self.addresses = {
            "http": f"http://{listening['http']}",
            "grpc": f"grpc://{listening['grpc']}",
            "metrics": f"http://{listening['metrics']}/metrics",
            "health": f"http://{listening['health']}/health",
        }

    def wait_until_healthy(self) -> None:
        """Wait until the supervisor reports that it reads the known picture."""
        deadline = time.monotonic() + _READY
        while True:
            with contextlib.suppress(OSError), urllib.request.urlopen(self.addresses["health"], timeout=10):
                return
            assert self.inspect("{{.State.Running}}") == "true", self.logs()
            assert time.monotonic() < deadline, self.logs()[-5000:]
            time.sleep(0.2)

    def served(self) -> Served:
        """The addresses that it listens on."""
        return Served(self.http_url, self.addresses["grpc"].removeprefix("grpc://"), self.control_key)

    def inspect(self, template: str) -> str:
        """What the engine knows about it, by a Go template."""
        return engine("inspect", "--format", template, self.name).stdout.strip()

    def run(self, *command: str, user: str = "") -> "subprocess.CompletedProcess[str]":
        """Run a command inside it."""
        return engine("exec", *(("--user", user) if user else ()), self.name, *command, check=False)

    def logs(self) -> str:
        """Its standard output and error."""
        done = engine("logs", self.name)
        return done.stdout + done.stderr

    def events(self, kind: str | None = None) -> list[dict[str, Any]]:
        lines = [line for line in self.errors().splitlines() if line.startswith('{"time"')]
        return [event for event in map(json.loads, lines[self._forgotten :]) if kind in (None, event["event"])]

    def errors(self) -> str:
        return engine("logs", self.name, check=False).stderr

    def log_text(self) -> str:
        return self.errors()

    def regions(self) -> list[Path]:
        return list(self.shared_memory.glob("plates_*")) if self._main.is_running() else []

    def environments(self) -> list[Path]:
        return list(self.folder.glob("python_env_*"))

    def left(self) -> list[object]:
        alive = [each for each in self.family if each.is_running() and each.status() != psutil.STATUS_ZOMBIE]
        return [*alive, *self.regions()]

    def send(self, number: signal.Signals) -> None:
        engine("kill", "--signal", number.name, self.name)

    def wait(self, seconds: float) -> int:
        done = subprocess.run(
            [os.environ["ENGINE"], "wait", self.name], capture_output=True, text=True, timeout=seconds, check=True
        )
        return int(done.stdout)

    def close(self) -> None:
        engine("rm", "--force", "--volumes", self.name)


@contextlib.contextmanager
def deployed(image: str, options: Sequence[str] = ENOUGH_MEMORY) -> Iterator[Container]:
    """A container that the engine stops in its usual way, and that must end cleanly within the engine's time limit."""
    container = Container(image, QUIET, options)
    try:
        yield container
        engine("stop", "--time", str(GRACE), container.name)
        assert container.inspect("{{.State.ExitCode}}") == "0", container.logs()[-5000:]
        assert container.left() == []
    finally:
        container.close()
