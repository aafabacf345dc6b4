"""The embedded server: the `tritonserver` of the nvidia-pytriton wheel, run on loopback for as long as wanted.

It listens on 127.0.0.1 alone: that release (24.10) lacks the security fixes of 2025 and 2026, the Python backend's
remote code execution among them. The container serves the world.
"""

import http.client
import importlib.util
import json
import os
import platform
import re
import secrets
import shutil
import socket
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Literal

from plate_nets.contract import MODELS
from plate_nets.control import check_key, new_key, restrictions
from plate_nets.errors import ServerStartError
from plate_nets.serving.guard import SHARED_MEMORY, clean

ModelControl = Literal["none", "explicit"]

LOADER_FAILED = 127
LOOPBACK = "127.0.0.1"
_MEGABYTE = 1 << 20
REPOSITORY_VARIABLE = "PLATES_MODEL_REPOSITORY"
_PACKAGE = Path(__file__).resolve().parent
_GUARD = _PACKAGE / "serving" / "guard.py"
_START_ATTEMPTS = 3
_HARMLESS = "CudaDriverHelper has not been initialized."
"""An error line that every start without a GPU writes."""


@dataclass(frozen=True)
class Plan:
    """What `serving.guard` needs to know to run one server and to clean up after it."""

    command: list[str]
    environment: dict[str, str]
    folder: str
    """Of this server alone; removed in the end."""
    files: dict[str, str]
    """Path inside `folder` -> the file that is copied there; Triton refuses links that lead out of a backend."""
    links: dict[str, str]
    """Path inside `folder` -> what is linked there."""
    region_prefix: str
    """Of the server's regions in /dev/shm; removed in the end."""
    exit_timeout: float


class EmbeddedTriton:
    """A real Triton on loopback, as a context manager.

    Entering starts the server and waits until every model is ready; leaving stops it. No process, no region of
    shared memory and no temporary folder stay behind, however it ends; a guard process sees to that even where the
    parent is killed.

    Args:
        model_repository: the folder of the models; by default `default_repository()`.
        model_repositories: further ones, beside it.
        model_control: "none", or "explicit" where models shall be loaded and unloaded while it runs, with the key.
        load: the models that are loaded at the start; by default all. "none" as model control knows only all.
        control_key: of the endpoints that `control.RESTRICTED` names; by default a new random one.
        options: further options for tritonserver.
        http_port, grpc_port, metrics_port: 0 takes a free one.
        log: file that the server's log is appended to; without it the log is kept until the server ends.
        start_timeout: seconds until every model must be ready.
        exit_timeout: seconds that requests in flight have to end before everything is killed; 0 kills at once.
    """

    def __init__(
        self,
        model_repository: Path | None = None,
        *,
        model_repositories: Sequence[Path] = (),
        model_control: ModelControl = "none",
        load: Sequence[str] = ("*",),
        control_key: str | None = None,
        options: Sequence[str] = (),
        http_port: int = 0,
        grpc_port: int = 0,
        metrics_port: int = 0,
        log: Path | None = None,
        start_timeout: float = 180.0,
        exit_timeout: float = 3.0,
    ) -> None:
        self.model_repository = Path(model_repository or default_repository()).resolve()
        self.control_key = control_key or new_key()
        check_key(self.control_key)
        self._options = [
            *(f"--model-repository={Path(each).resolve()}" for each in model_repositories),
            *model_control_options(model_control, load),
            *restrictions(self.control_key),
            *options,
        ]
        self._wanted = {"http": http_port, "grpc": grpc_port, "metrics": metrics_port}
        self._ports = dict(self._wanted)
        self._log = log
        self._start_timeout = start_timeout
        self._exit_timeout = exit_timeout
        self._guard: subprocess.Popen[bytes] | None = None
        self._plan: Plan | None = None
        self._log_file: BinaryIO | None = None
        self._log_start = 0

    @property
    def http_url(self) -> str:
        """``host:port`` for HTTP."""
        return f"{LOOPBACK}:{self._ports['http']}"

    @property
    def grpc_url(self) -> str:
        """``host:port`` for gRPC."""
        return f"{LOOPBACK}:{self._ports['grpc']}"

    @property
    def metrics_url(self) -> str:
        """Address of the Prometheus metrics."""
        return f"http://{LOOPBACK}:{self._ports['metrics']}/metrics"

    @property
    def region_prefix(self) -> str:
        """How the names of the server's regions in /dev/shm begin; empty where it does not run."""
        return self._plan.region_prefix if self._plan else ""

    def __enter__(self) -> "EmbeddedTriton":
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Start the server and wait until every model is ready.

        Raises:
            ServerStartError: it cannot run here, a port is taken, a model is not converted or fails to load, or it
                was not ready in time; the message holds the server's own error.
        """
        if self._guard is not None:
            raise ServerStartError("the embedded server runs already")
        check_platform()
        check_converted(self.model_repository)
        for name, port in self._wanted.items():
            if port and not is_free(port):
                raise ServerStartError(
                    f"{name} port {port} on {LOOPBACK} is already in use; choose another, or 0 for a free one"
                )
        for attempt in range(_START_ATTEMPTS):
            self._ports = choose_ports(self._wanted)
            try:
                self._launch()
                self._wait_until_ready()
                return
            except ServerStartError as error:
                self.stop()
                # Another program may take a free port between its choice and the server's bind.
                if "already in use" not in str(error) or attempt == _START_ATTEMPTS - 1:
                    raise
            except BaseException:
                self.stop()
                raise

    def stop(self) -> None:
        """Stop the server and wait until nothing of it is left; nothing happens where it does not run."""
        guard, self._guard = self._guard, None
        if guard is None:
            return
        assert guard.stdin is not None and self._plan is not None and self._log_file is not None
        guard.stdin.close()
        guard.wait()
        clean(Path(self._plan.folder), self._plan.region_prefix)  # in case the guard was killed
        self._log_file.close()
        self._plan = self._log_file = None

    def wait(self, timeout: float | None = None) -> int | None:
        """Wait until the server ends by itself -> its exit code, or None after ``timeout`` seconds."""
        if self._guard is None:
            raise ServerStartError("the embedded server does not run")
        try:
            return self._guard.wait(timeout)
        except subprocess.TimeoutExpired:
            return None

    def log_text(self) -> str:
        """The server's log so far; empty where it does not run."""
        if self._log_file is None:
            return ""
        size = os.fstat(self._log_file.fileno()).st_size
        return os.pread(self._log_file.fileno(), size - self._log_start, self._log_start).decode("utf-8", "replace")

    def _launch(self) -> None:
        self._plan = plan_server(self.model_repository, self._ports, self._exit_timeout, self._options)
        # Without a name of its own the log is gone when the last process closes it.
        self._log_file = self._log.open("ab+") if self._log else tempfile.TemporaryFile("ab+")  # noqa: SIM115
        self._log_start = os.fstat(self._log_file.fileno()).st_size
        self._guard = subprocess.Popen(
            [sys.executable, "-I", "-S", str(_GUARD)],
            stdin=subprocess.PIPE,
            stdout=self._log_file,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        assert self._guard.stdin is not None
        self._guard.stdin.write(json.dumps(asdict(self._plan)).encode() + b"\n")
        self._guard.stdin.flush()

    def _wait_until_ready(self) -> None:
        assert self._guard is not None
        deadline = time.monotonic() + self._start_timeout
        while not is_ready(self.http_url):
            code = self._guard.poll()
            if code is not None:
                raise ServerStartError(
                    f"the embedded server ended with code {code} before it was ready\n{faults(self.log_text())}"
                )
            if time.monotonic() > deadline:
                raise ServerStartError(
                    f"the embedded server was not ready within {self._start_timeout:g} s\n{faults(self.log_text())}"
                )
            time.sleep(0.1)


def default_repository() -> Path:
    """The model repository: what PLATES_MODEL_REPOSITORY names, or the one beside the package."""
    named = os.environ.get(REPOSITORY_VARIABLE)
    return Path(named) if named else _PACKAGE.parent / "model_repository"


def check_platform() -> None:
    """Raises ServerStartError where the wheel's server cannot run."""
    system, machine = platform.system(), platform.machine()
    if (system, machine) != ("Linux", "x86_64"):
        raise ServerStartError(
            f"the embedded server needs Linux on x86_64, this is {system} on {machine}; use the container"
        )
    triton_folder()


_BUILT = {"yolo": "model.xml", "stn": "model.pt", "lprnet": "model.pt"}
"""Files of the repository that the converters write and the CPU needs."""


def check_converted(repository: Path) -> None:
    """Raises ServerStartError where a model's folder or its converted network is missing."""
    if not repository.is_dir():
        raise ServerStartError(
            f"{repository}: no such model repository; name one with --model-repository or {REPOSITORY_VARIABLE}"
        )
    for name in MODELS:
        folder = repository / name
        if not (folder / "config.pbtxt").is_file():
            raise ServerStartError(f"{folder}: no config.pbtxt; expected the models {', '.join(MODELS)}")
        built = _BUILT.get(name)
        if built and not list(folder.glob(f"[0-9]*/{built}")):
            raise ServerStartError(f"{folder}/1/{built}: not converted yet; run `python -m converters`")


def model_control_options(control: ModelControl, load: Sequence[str]) -> list[str]:
    """Who may load models, and which are loaded at the start ("*": all) -> options of tritonserver."""
    if control == "none":
        if list(load) != ["*"]:
            raise ServerStartError(f"model control none loads all models, not only {', '.join(load) or 'none'}")
        return ["--model-control-mode=none"]
    return ["--model-control-mode=explicit", *(f"--load-model={name}" for name in load)]


def response_cache_options(size: int) -> list[str]:
    """Bytes of Triton's local response cache -> options of tritonserver; `docs/performance.md` says where it lies."""
    return [f"--cache-directory={triton_folder() / 'caches'}", f"--cache-config=local,size={size}"]


def plan_server(repository: Path, ports: Mapping[str, int], exit_timeout: float, options: Sequence[str] = ()) -> Plan:
    """Everything about one run of the server: its command with ``options``, environment, folder and names."""
    triton = triton_folder()
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    stub = triton / "python_backend_stubs" / python / "triton_python_backend_stub"
    if not stub.is_file():
        found = ", ".join(sorted(path.name for path in stub.parent.parent.iterdir()))
        raise ServerStartError(f"the embedded server has no stub for Python {python}; it has {found}")
    environment = stub_environment(triton)
    # Without arguments a stub ends at once with 1; with 127 the loader misses a library.
    trial = subprocess.run([stub], env=environment, capture_output=True, text=True, check=False)
    if trial.returncode == LOADER_FAILED:
        raise ServerStartError(
            f"Triton's stub for Python {python} does not start: {trial.stderr.strip()}; "
            f"on Debian: apt-get install libpython{python}"
        )
    identity = f"plates_{os.getpid()}_{secrets.token_hex(4)}_"
    folder = Path(tempfile.gettempdir()) / identity.rstrip("_")
    backends = folder / "backends"
    region = region_size(shutil.disk_usage(SHARED_MEMORY).free)
    command = [
        str(triton / "bin" / "tritonserver"),
        f"--model-repository={repository}",
        f"--backend-directory={backends}",
        "--disable-auto-complete-config",
        f"--http-address={LOOPBACK}",
        f"--grpc-address={LOOPBACK}",
        f"--metrics-address={LOOPBACK}",
        *(f"--{name}-port={port}" for name, port in ports.items()),
        f"--exit-timeout-secs={max(1, round(exit_timeout))}",
        *(
            option
            for backend in ("python", "pytorch")
            for option in (
                f"--backend-config={backend},shm-default-byte-size={region}",
                f"--backend-config={backend},shm-growth-byte-size={region}",
                f"--backend-config={backend},shm-region-prefix-name={identity}{backend}",
            )
        ),
        *options,
    ]
    return Plan(
        command=command,
        environment=environment,
        folder=str(folder),
        files={
            "backends/python/libtriton_python.so": str(triton / "backends" / "python" / "libtriton_python.so"),
            "backends/python/triton_python_backend_utils.py": str(
                triton / "backends" / "python" / "triton_python_backend_utils.py"
            ),
            "backends/python/triton_python_backend_stub": str(stub),
            "backends/pytorch/model.py": str(_PACKAGE / "backends" / "pytorch" / "model.py"),
        },
        links={_PACKAGE.name: str(_PACKAGE)},
        region_prefix=identity,
        # A clean unloading of the models takes 7 s, nearly all of it waiting for stubs that hold nothing.
        exit_timeout=exit_timeout,
    )


def region_size(free: int) -> int:
    """Bytes free in /dev/shm -> bytes of one stub's region at the start, whole megabytes.

    They are taken at once, by some eight stubs, and grow with the frames: so a quarter of what is free, and no more
    than holds a raw 10-megapixel frame. A container's 64 MB give 2 MB each.
    """
    return max(1, min(32, free // 4 // 8 // _MEGABYTE)) * _MEGABYTE


def stub_environment(triton: Path, environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The environment in which Triton's stubs find this very Python, its packages and its library.

    A stub embeds Python and looks for it on PATH; its libpython is whatever the loader finds first. It ignores
    PYTHONPATH, but imports from its working directory, which is why `Plan.links` holds this package.
    """
    environment = dict(environ)
    environment.pop("PYTHONHOME", None)
    # The models take turns on the same cores: a thread that spins for its next work takes one from the next model.
    environment.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    if sys.prefix != sys.base_prefix:
        environment["VIRTUAL_ENV"] = sys.prefix
    else:
        environment.pop("VIRTUAL_ENV", None)
    environment["PATH"] = _join(str(Path(sys.executable).parent), environ.get("PATH", os.defpath))
    libraries = triton.parents[1] / "nvidia_pytriton.libs"
    environment["LD_LIBRARY_PATH"] = _join(
        sysconfig.get_config_var("LIBDIR") or "", str(libraries), environ.get("LD_LIBRARY_PATH", "")
    )
    return environment


def triton_folder() -> Path:
    """The folder of the wheel's server.

    Raises:
        ServerStartError: the wheel is not installed.
    """
    found = importlib.util.find_spec("pytriton")
    for location in (found.submodule_search_locations or ()) if found else ():
        folder = Path(location) / "tritonserver"
        if (folder / "bin" / "tritonserver").is_file():
            return folder
    raise ServerStartError("nvidia-pytriton, which holds the embedded server, is not installed in this Python")


def choose_ports(wanted: Mapping[str, int]) -> dict[str, int]:
    """Names to ports, 0 for any -> names to distinct ports, each free a moment ago where it was 0."""
    chosen = dict(wanted)
    held = []
    try:
        for name, port in wanted.items():
            if port == 0:
                held.append(socket.socket())
                held[-1].bind((LOOPBACK, 0))
                chosen[name] = held[-1].getsockname()[1]
    finally:
        for each in held:
            each.close()
    return chosen


def is_free(port: int) -> bool:
    """Whether a server can listen on this port of loopback."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return False
    return True


def is_ready(url: str) -> bool:
    """Whether a server at ``host:port`` says over HTTP that all its models are ready."""
    connection = http.client.HTTPConnection(url, timeout=5)
    try:
        connection.request("GET", "/v2/health/ready")
        return connection.getresponse().status == http.HTTPStatus.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def faults(log: str, limit: int = 12) -> str:
    """A server's log -> its error lines without time stamps, the last ``limit`` of them."""
    return "\n".join(list(_fault_lines(log))[-limit:]) or log[-2000:] or "(the log is empty)"


def _fault_lines(log: str) -> Iterator[str]:
    # E1121 02:30:00.123456 1234 model_lifecycle.cc:642] "failed to load ..."
    seen = set()
    for line in log.splitlines():
        match = re.match(r"(?:[EF]\d{4} \S+ \d+ \S+\]|\[libprotobuf ERROR .*?\]) (.*)", line)
        text = match.group(1).strip('"') if match else line.strip() if line.startswith("error:") else ""
        if text and text != _HARMLESS and text not in seen:
            seen.add(text)
            yield text


def _join(*parts: str) -> str:
    return os.pathsep.join(part for part in parts if part)
