"""Goes through a page: runs its commands and snippets as written, in an installed environment.

A page's blocks run one after another in the same folder, so that one may use the results of another. What a page
invents (cameras, brokers, other servers, photographs) is replaced by a real one on loopback; `STANDINS` lists every
change to a command. A block that is not run has a comment `not run: REASON`.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import tomllib
import urllib.request
from collections.abc import Callable
from contextlib import ExitStack, chdir, suppress
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest
import yaml

from plate_nets.countries import load_scheme
from plate_nets.recognition.health import known_picture
from plate_nets.triton.server import choose_ports
from tests.broker import USER, Broker
from tests.nginx import nginx
from tests.object_store import VARIABLES, object_store
from tests.packaging.conftest import SERVICES, inherited, shell
from tests.packaging.kubernetes import schema_faults
from tests.packaging.pages import CAMERAS, Block, Page
from tests.paths import ROOT
from tests.receiver import Receiver
from tests.rtsp import RtspCamera
from tests.serve import Served
from tests.waiting import eventually
from training.recipe.load import load_recipe

UNTIL_STOPPED = "runs until stopped"
OUTPUT = "output"
"""The output of the commands in the block before it; figures may differ."""
NOT_RUN = "not run: "
SIGN = re.compile(r"^Ready|\b(provisional|final)\b")
"""The message by which a command that runs until stopped shows that it works."""
SECONDS = 600
LIVE = re.compile(r"plates (web|serve)|rtsp://|cameras\.yaml")
ENDED = (0, -signal.SIGTERM, 128 + signal.SIGTERM)

PASSWORD, SECRET = "cameras-password", "an-invented-secret"


class World:
    """The things that pages invent, on loopback. Each starts when a page first names it."""

    def __init__(self, folder: Path, stack: ExitStack, request: pytest.FixtureRequest) -> None:
        self._folder = folder
        self._stack = stack
        self._request = request
        self.ports = choose_ports(dict.fromkeys(("8000", "8001", "8002", "8003", "8004", "8080"), 0))

    def camera(self, *credentials: str) -> str:
        """An RTSP camera with a passing car -> its address."""
        camera = RtspCamera(self._request.getfixturevalue("clips") / "camera.mkv", *credentials)
        self._stack.callback(camera.kill)
        return camera.url("".join((":".join(credentials), "@")) if credentials else "")

    @cached_property
    def served(self) -> Served:
        """A server that runs elsewhere."""
        return self._request.getfixturevalue("served")

    @cached_property
    def broker(self) -> int:
        """The port of an MQTT broker."""
        broker = Broker(self._folder)
        self._stack.callback(broker.stop)
        return broker.port

    @cached_property
    def receiver(self) -> str:
        """The address of a server that takes webhooks."""
        receiver = Receiver()
        self._stack.callback(receiver.close)
        return receiver.url

    @cached_property
    def demo(self) -> Path:
        """A file with the output of `make demo`, which runs once for all pages."""
        path = self._folder / "demo.txt"
        path.write_text(self._request.getfixturevalue("demo"), encoding="utf-8")
        return path

    @cached_property
    def store(self) -> str:
        """The query part of the bucket's addresses."""
        photos = {"photos/a.jpg": known_picture().image}
        return self._stack.enter_context(object_store("bucket", photos))

    @cached_property
    def proxy(self) -> str:
        """The address of an nginx in front of the other server. Its certificate and a token are in the folder."""
        proxy = self._stack.enter_context(nginx(self.served.http, self.served.grpc, self._folder / "nginx"))
        shutil.copy(proxy.ca, self._folder / "certificate.pem")
        return f"https://localhost:{proxy.https}"


STANDINS: tuple[tuple[str, Callable[[World], str]], ...] = (
    (r"rtsp://user:password@192\.168\.1\.20/ch1", lambda world: world.camera("user", "password")),
    (
        r"rtsp://watcher:\$\{GATE_PASSWORD\}@192\.168\.1\.20/ch1",
        lambda world: world.camera("watcher", PASSWORD).replace(PASSWORD, "${GATE_PASSWORD}"),
    ),
    (r"rtsp://192\.168\.1\.20/ch1|/dev/video0", lambda world: world.camera()),
    (r"https://example\.org/plates", lambda world: world.receiver),
    (r"mqtt://broker/plates", lambda world: f"mqtt://127.0.0.1:{world.broker}/plates"),
    (
        r"mqtt://plates:\$\{MQTT_PASSWORD\}@broker/plates",
        lambda world: f"mqtt://{USER}:${{MQTT_PASSWORD}}@127.0.0.1:{world.broker}/plates",
    ),
    (r"\b(s3://bucket/\w+)", lambda world: rf"'\1{world.store}'"),
    (r"\b[ab]:8001\b", lambda world: world.served.grpc),
    (r"dns:///plates:8001", lambda world: f"dns:///{world.served.grpc}"),
    (r"https://plates\.example:8443", lambda world: world.proxy),
    (r"\b(plates web)\b", lambda world: rf"\1 --local --port {world.ports['8080']}"),  # tests/web starts a server
    (
        r"\b(plates serve)\b",
        lambda world: (
            rf"\1 --http-port {world.ports['8000']} --grpc-port {world.ports['8001']} "
            f"--metrics-port {world.ports['8002']} --health-port {world.ports['8003']}"
        ),
    ),
    *(
        (rf"(?<=[:\s\"]){port}\b", lambda world, port=port: str(world.ports[port]))
        for port in ("8000", "8001", "8002", "8003", "8004", "8080")
    ),
    (r"^make demo$", lambda world: f"cat {world.demo}"),
    (r"--cars 8\b", lambda world: "--cars 1"),  # a minute of rendering
    (r"(plates evaluate --video \S+) ", lambda world: r"\1 --rates 5 "),  # not all frames too
    (r"^(plates read car\.jpg --scheme \w+)$", lambda world: r"\1 --local"),  # `make demo` starts a server
    (r"--workers 8\b", lambda world: "--workers 2"),
    (r"\bplates batch (?!.*--(workers|verify))", lambda world: "plates batch --workers 1 "),  # each loads the networks
    (r"^pip install .*", lambda world: ":"),  # it is checked: the extras that it names are looked up in pyproject.toml
)
"""Text on a page, as a pattern, and its replacement."""


class Walk:
    """Goes through a page: its folder, and the processes that run beside it until its end."""

    def __init__(self, world: World, folder: Path, stack: ExitStack) -> None:
        self._world = world
        self.folder = folder
        self._stack = stack
        self._printed = ""
        environment = {
            **inherited(),
            **VARIABLES,
            "PYTHONPATH": str(folder),
            "PATH": f"{ROOT / '.venv' / 'bin'}{os.pathsep}{os.environ['PATH']}",
            "GATE_PASSWORD": PASSWORD,
            "MQTT_PASSWORD": "s%40crt",
            "WEBHOOK_SECRET": SECRET,
        }
        self._beside: dict[str, Any] = {"cwd": folder, "env": environment, "stdin": subprocess.DEVNULL, "text": True}

    def fit(self, code: str) -> str:
        """Replace names on the page by those of this machine."""
        for pattern, standin in STANDINS:
            if re.search(pattern, code, re.M):
                code = re.sub(pattern, standin(self._world), code, flags=re.M)
        return code

    def run(self, block: Block) -> None:
        """Run a block, or check its content."""
        if block.language == "text":
            shapes = set(map(shape, self._printed.splitlines()))
            assert [line for line in block.lines if shape(line) not in shapes] == [], self._printed
        elif block.language == "bash":
            self._printed = ""
            for line in block.lines:
                if block.mark == UNTIL_STOPPED and LIVE.search(line):
                    self._run_until_sign(["bash", "-euo", "pipefail", "-c", self.fit(line)])
                else:
                    self._run_line(line)
        elif block.language == "python" and block.mark == UNTIL_STOPPED:
            self._run_until_sign([sys.executable, "-u", "-c", self.fit(block.code)])
        elif block.language == "python":
            self._run([sys.executable, "-W", "error", "-c", self.fit(block.code)])
        elif block.language == "toml":
            name = tomllib.loads(block.code).get("name")
            path = self.folder / f"{name or 'recipe'}.toml"
            path.write_text(block.code, encoding="utf-8")
            with chdir(self.folder):  # where a recipe names its scheme
                _ = load_scheme(str(path)) if name else load_recipe(str(path))
        else:
            self._run_yaml(block.code)

    def _run_line(self, line: str) -> None:
        if "--out plates" in line and "--verify" not in line:  # from another source than the previous line
            shutil.rmtree(self.folder / "plates", ignore_errors=True)
        self._run(["bash", "-euo", "pipefail", "-c", self.fit(line)])

    def _run(self, command: list[str]) -> None:
        result = subprocess.run(command, **self._beside, capture_output=True, timeout=SECONDS)
        self._printed += result.stdout + result.stderr
        assert result.returncode == 0, f"{command[-1]}\n{result.stdout}{result.stderr}"

    def _run_until_sign(self, command: list[str]) -> None:
        """Run it until it does its work. A server keeps running until the page's end."""
        output: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        process = subprocess.Popen(command, **self._beside, **output, start_new_session=True)
        watchdog = threading.Timer(SECONDS, os.killpg, (process.pid, signal.SIGKILL))
        watchdog.start()
        assert process.stdout is not None
        said: list[str] = []
        for line in process.stdout:
            said.append(line)
            if SIGN.search(line):
                break
        self._printed += "".join(said)
        watchdog.cancel()
        if process.poll() is None and said[-1].startswith("Ready"):
            self._stack.callback(end, process)
            # The supervisor only knows after its first check; nobody types fast enough to notice
            assert "--health-port" not in command[-1] or eventually(self._is_healthy, SECONDS), said
        else:
            assert end(process) in ENDED and SIGN.search(said[-1]), f"{command[-1]}\n{''.join(said)}"

    def _is_healthy(self) -> bool:
        url = f"http://127.0.0.1:{self._world.ports['8003']}/health"
        with suppress(OSError), urllib.request.urlopen(url, timeout=10):
            return True
        return False

    def _run_yaml(self, code: str) -> None:
        document = yaml.safe_load(code)
        if "cameras" in document:
            self.run(Block("bash", "plates watch cameras.yaml --local", UNTIL_STOPPED))
        elif "services" in document:
            assert document["services"].keys() <= SERVICES.keys()
        elif "triggers" in document:  # an automation of Home Assistant, which is not installed here
            assert document.keys() == {"triggers", "conditions", "actions"}
        else:
            assert list(schema_faults([document])) == []


def shape(line: str) -> str:
    """A line of output without what differs between runs: words with a digit, and the direction of a car."""
    words = (word for word in line.split() if word not in ("towards", "away"))
    return " ".join("#" if re.search(r"\d", word) else word for word in words)


def end(process: "subprocess.Popen[str]") -> int:
    """End a process and its children with SIGTERM -> its exit code."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGTERM)
    try:
        process.communicate(timeout=120)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
    return process.returncode


def is_run(block: Block) -> bool:
    return (block.language != "text" or block.mark == OUTPUT) and not block.mark.startswith(NOT_RUN)


def is_walked(page: Page) -> bool:
    """Whether a page has a block that is run."""
    return any(map(is_run, page.blocks))


def walk_through(page: Page, folder: Path, request: pytest.FixtureRequest) -> None:
    """Run the blocks of a page in a folder."""
    if "out/scene.jpg" in page.text:
        shell("make out/scene.jpg", check=True)
        shutil.copy2(ROOT / "out" / "scene.jpg", folder / "out")
    with ExitStack() as stack:
        walk = Walk(World(folder, stack, request), folder, stack)
        if "cameras.yaml" in page.text:
            (shown,) = [block.code for block in CAMERAS.blocks if block.language == "yaml"]
            (folder / "cameras.yaml").write_text(walk.fit(shown), encoding="utf-8")
        for block in page.blocks:
            if is_run(block):
                walk.run(block)
