"""Another version of the package: where to get it, and its processes, which run in turn with those of this one."""

import json
import os
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.callers import version_worker
from benchmarks.server.processes import ServerProcesses
from plate_nets.common.errors import InputError, ServerStartError

CHECKOUT = Path(__file__).resolve().parents[2]


@contextmanager
def version_folder(base: str) -> Iterator[Path]:
    """Resolve a folder, a wheel or a commit -> the folder to import that version from, with converted networks.

    A wheel is unpacked; a commit is checked out beside this one and converted; both are temporary.

    Raises:
        InputError: none of the three, or its networks cannot be converted.
    """
    path = Path(base)
    if path.is_dir():
        yield path.resolve()
        return
    with tempfile.TemporaryDirectory(prefix="plates-version-") as name, ExitStack() as stack:
        folder = Path(name) / "version"
        if path.suffix == ".whl":
            with zipfile.ZipFile(path) as wheel:
                wheel.extractall(folder)
        else:
            _run(f"--against {base}: no folder, wheel or commit", "git", "worktree", "add", "--detach", folder, base)
            stack.callback(_run, "its worktree could not be removed", "git", "worktree", "remove", "--force", folder)
            _run(f"--against {base}: not converted", sys.executable, "-m", "converters", version=folder)
        yield folder


@dataclass(frozen=True)
class VersionProcess:
    """A process of a version: it reads pictures itself, or serves at ``http_url``."""

    process: "subprocess.Popen[str]"
    http_url: str | None
    start_seconds: float
    """Seconds until it was ready."""

    def read(self, picture: Path, seconds: float) -> list[float]:
        """Read an encoded picture for this long, at least once -> milliseconds of each time."""
        assert self.process.stdin is not None
        print(json.dumps({"picture": str(picture), "seconds": seconds}), file=self.process.stdin, flush=True)
        times: list[float] = _answer(self.process)
        return times

    def megabytes(self) -> float:
        """Memory of it and all processes below it (PSS)."""
        return ServerProcesses(self.process.pid).pss() / 1e6


@contextmanager
def version_process(folder: Path, serve: bool) -> Iterator[VersionProcess]:
    """Run a process of a version for the duration of the block.

    Raises:
        ServerStartError: it ended before it was ready; standard error says why.
    """
    started = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-P", version_worker.__file__, "serve" if serve else "read"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=folder,
        env=_environment(folder),
    )
    try:
        http_url = _answer(process)
        yield VersionProcess(process, http_url, time.perf_counter() - started)
    finally:
        process.communicate()


def _answer(process: "subprocess.Popen[str]") -> Any:
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        raise ServerStartError(f"the process of a version ended with {process.wait()}")
    return json.loads(line)


def _environment(folder: Path) -> dict[str, str]:
    """This environment, changed so that the package in that folder is imported."""
    left_out = ("PLATES_MODEL_REPOSITORY", "PYTHONPATH")
    return {**{name: value for name, value in os.environ.items() if name not in left_out}, "PYTHONPATH": str(folder)}


def _run(fault: str, *command: str | Path, version: Path | None = None) -> None:
    environment = None if version is None else _environment(version)
    done = subprocess.run(
        command, cwd=version or CHECKOUT, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise InputError(f"{fault}: {done.stderr.strip().splitlines()[-1:]}")
