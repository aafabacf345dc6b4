"""Which `tritonserver` to run: the one in the nvidia-pytriton wheel, or the one on PATH, as in NVIDIA's image."""

import importlib.util
import os
import platform
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np

from plate_nets.common.errors import MissingExtra, ServerStartError

LOADER_FAILED = 127
PROGRAM = "tritonserver"
STUB = "triton_python_backend_stub"
REQUEST_BYTES = 200 << 20
"""Enough for a raw frame of the models' own limit, 50 megapixels, so that the models answer about larger ones. By
default a newer server accepts 64 MiB, and an older one has no limit."""
_NEWER = (f"--http-max-input-size={REQUEST_BYTES}", "--allow-client-shm=true")
"""Options that an older server does not have. A newer one disables clients' shared memory by default; here it is
enabled behind the control key."""
PACKAGE = Path(__file__).resolve().parents[2]

NEXT_PYTHON = (3, 13)
"""The first version without a stub in the wheel; pyproject.toml has the same limit for nvidia-pytriton."""
NEXT_NUMPY = 2
"""The first version that the wheel's Python backend, built for NumPy 1, cannot live with."""

ServerKind = Literal["embedded", "system"]


_LIBRARY_PATH = "LD_LIBRARY_PATH"
_NO_GPU_METRICS = "--allow-gpu-metrics=false"
"""Without it NVIDIA's DCGM is loaded, even without a GPU, and opens its own log in /var/log."""


@dataclass(frozen=True)
class Installation:
    """One `tritonserver` on this machine."""

    program: str
    libraries: tuple[str, ...] = ()
    """Folders in which its stubs find their libraries, before those of the system."""
    files: dict[str, str] = field(default_factory=dict)
    """Path inside the server's own folder -> the file to copy there; its backends are below ``backends``."""
    options: tuple[str, ...] = ()
    """Options for this release of the server only."""


def find_installation(kind: ServerKind) -> Installation:
    """Find the server of this kind.

    Raises:
        MissingExtra, ServerStartError: it is missing, or cannot run here.
    """
    return wheel() if kind == "embedded" else system()


def default_kind() -> ServerKind:
    return "system" if shutil.which(PROGRAM) else "embedded"


def system() -> Installation:
    program = shutil.which(PROGRAM)
    if program is None:
        raise ServerStartError(f"no {PROGRAM} on PATH; install it, or use the embedded server")
    known = subprocess.run([program, "--help"], capture_output=True, text=True, check=False)
    options = (each for each in _NEWER if each.partition("=")[0] in known.stdout + known.stderr)
    return Installation(program, options=tuple(options))


def wheel() -> Installation:
    """The server in the wheel; the backend directory is ours, because the wheel lacks libtorch."""
    check_platform()
    triton = triton_folder()
    check_numpy()
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    stub = triton / "python_backend_stubs" / python / STUB
    if not stub.is_file():
        found = ", ".join(sorted(path.name for path in stub.parent.parent.iterdir()))
        raise ServerStartError(f"the embedded server has no stub for Python {python}; it has {found}")
    # libpython is the first that the loader finds
    libraries = (sysconfig.get_config_var("LIBDIR") or "", str(triton.parents[1] / "nvidia_pytriton.libs"))
    # Without arguments a stub exits at once with 1; with 127 the loader misses a library.
    trial = subprocess.run(
        [stub], env=os.environ | library_path(libraries), capture_output=True, text=True, check=False
    )
    if trial.returncode == LOADER_FAILED:
        raise ServerStartError(
            f"Triton's stub for Python {python} does not start: {trial.stderr.strip()}; "
            f"on Debian: apt-get install libpython{python}"
        )
    backend = triton / "backends" / "python"
    return Installation(
        str(triton / "bin" / PROGRAM),
        libraries,
        {
            "backends/python/libtriton_python.so": str(backend / "libtriton_python.so"),
            "backends/python/triton_python_backend_utils.py": str(backend / "triton_python_backend_utils.py"),
            f"backends/python/{STUB}": str(stub),
            "backends/pytorch/model.py": str(PACKAGE / "triton" / "backend" / "backends" / "pytorch" / "model.py"),
        },
        (_NO_GPU_METRICS,),
    )


def check_platform() -> None:
    system, machine = platform.system(), platform.machine()
    if (system, machine) != ("Linux", "x86_64"):
        raise ServerStartError(
            f"the embedded server needs Linux on x86_64, this is {system} on {machine}; use the container"
        )
    if sys.version_info >= NEXT_PYTHON:
        newest = f"{NEXT_PYTHON[0]}.{NEXT_PYTHON[1] - 1}"
        this = f"{sys.version_info.major}.{sys.version_info.minor}"
        raise ServerStartError(f"the embedded server needs Python up to {newest}, this is {this}; use the container")


def check_numpy() -> None:
    """Raise ServerStartError beside NumPy 2, whose arrays the wheel's Python backend fills with other bytes."""
    if int(np.__version__.partition(".")[0]) >= NEXT_NUMPY:
        raise ServerStartError(
            f"the embedded server needs NumPy below {NEXT_NUMPY}, this is {np.__version__}: its models would get "
            'other bytes than you send; install all extras at once: pip install "plate-nets[embedded,evaluate]"'
        )


def triton_folder() -> Path:
    """The folder of the wheel's server.

    Raises:
        MissingExtra: the wheel is not installed.
    """
    found = importlib.util.find_spec("pytriton")
    for location in (found.submodule_search_locations or ()) if found else ():
        folder = Path(location) / "tritonserver"
        if (folder / "bin" / "tritonserver").is_file():
            return folder
    raise MissingExtra("embedded", "the embedded server", "nvidia-pytriton")


def library_path(folders: Sequence[str | Path]) -> dict[str, str]:
    """The variable with which the loader finds libraries in these folders first; nothing without folders."""
    return {_LIBRARY_PATH: joined(*map(str, folders), os.environ.get(_LIBRARY_PATH, ""))} if folders else {}


def joined(*folders: str) -> str:
    """Folders, of which some may be empty -> the value of a variable like PATH."""
    return os.pathsep.join(folder for folder in folders if folder)
