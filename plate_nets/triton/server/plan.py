"""One run of a server, as the guard executes it: command, environment, folder, names."""

import os
import secrets
import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from plate_nets.common.control_key import KEY_VARIABLE
from plate_nets.common.errors import ServerStartError
from plate_nets.networks.runtimes.choices import CHOICES_VARIABLE
from plate_nets.triton.server.guard import SHARED_MEMORY
from plate_nets.triton.server.installation import PACKAGE, Installation, library_path
from plate_nets.triton.server.plain_folder import plain_temporary_folder, python_environment, python_links, python_texts
from plate_nets.triton.server.ports import LOOPBACK

_MEGABYTE = 1 << 20
LEAST_SHARED = 16 * _MEGABYTE
"""About eight stubs with a region of 1 MB each, plus room for frames."""

LEAST_FILES = 256
"""File descriptors: the server's own are about 100 while it starts, and each connection takes one more."""


@dataclass(frozen=True)
class Plan:
    """What `guard.py` needs to run one server and to clean up after it."""

    command: list[str]
    environment: dict[str, str]
    folder: str
    """The server's own folder; removed at the end."""
    files: dict[str, str]
    """Path inside `folder` -> the file to copy there; Triton refuses links that lead out of a backend."""
    links: dict[str, str]
    """Path inside `folder` -> the target of the link there."""
    texts: dict[str, str]
    """Path inside `folder` -> the text of the file there."""
    region_prefix: str
    """Prefix of the server's regions in /dev/shm; removed at the end."""
    exit_timeout: float
    planned: float
    """Unix time in seconds."""

    def without_links(self, text: str) -> str:
        """A text of the server -> the same with the paths that its links lead to, which the user knows."""
        for link, target in self.links.items():
            text = text.replace(f"{self.folder}/{link}/", f"{target}/")
        return text


def plan_server(
    installation: Installation,
    repositories: Sequence[Path],
    ports: Mapping[str, int],
    exit_timeout: float,
    options: Sequence[str] = (),
    address: str = LOOPBACK,
    packages: Sequence[Path] = (),
    control_key: str = "",
    choices: str = os.devnull,
) -> Plan:
    """Plan one run of a server, with extra ``options``; its models can import this package and ``packages``.

    ``choices``: file in which its processes store the precision of each network, see `runtimes.choices`.

    Raises:
        ServerStartError: too little space for its files or its shared memory.
    """
    identity = f"plates_{os.getpid()}_{secrets.token_hex(4)}_"
    enough_files()
    shared = free_space(SHARED_MEMORY, LEAST_SHARED, "shared memory of the models; start the container with --shm-size")
    region = region_size(shared)
    temporary = plain_temporary_folder()
    free_space(temporary, sum(Path(file).stat().st_size for file in installation.files.values()), "the server's files")
    folder = temporary / identity.rstrip("_")
    models = {f"repositories/{number}": str(each) for number, each in enumerate(repositories)}
    libraries = {f"libraries/{number}": each for number, each in enumerate(installation.libraries) if each}
    command = [
        installation.program,
        *(f"--model-repository={folder / link}" for link in models),
        *((f"--backend-directory={folder / 'backends'}",) if installation.files else ()),
        "--disable-auto-complete-config",
        *(f"--{service}-address={address}" for service in ("http", "grpc", "metrics")),
        *(f"--{service}-port={port}" for service, port in ports.items()),
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
        *installation.options,
        *options,
    ]
    return Plan(
        command=command,
        environment=python_environment(folder)
        | library_path([folder / link for link in libraries])
        | {KEY_VARIABLE: control_key, CHOICES_VARIABLE: choices},
        folder=str(folder),
        files=installation.files,
        links={package.name: str(package) for package in (PACKAGE, *packages)} | models | libraries | python_links(),
        texts=python_texts(folder),
        region_prefix=identity,
        # A clean unload of the models takes 7 s, nearly all of it waiting for stubs that hold nothing.
        exit_timeout=exit_timeout,
        planned=time.time(),
    )


def enough_files() -> None:
    """Raise ServerStartError if the server may open too few files; Triton then waits forever, or names a free port."""
    import resource  # as in guard.py

    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if most != resource.RLIM_INFINITY and most < LEAST_FILES:
        raise ServerStartError(
            f"the server may have {most} file descriptors, expected {LEAST_FILES} or more; raise the limit of open "
            "files (`ulimit -Hn`, LimitNOFILE of systemd, --ulimit nofile of a container)"
        )


def free_space(folder: Path, needed: int, purpose: str) -> int:
    """The free bytes in a folder.

    Raises:
        ServerStartError: there are fewer than ``needed``, or this user may not write there.
    """
    if not os.access(folder, os.W_OK):
        raise ServerStartError(f"{folder}: user {os.geteuid()} may not write there, which is needed for {purpose}")
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise ServerStartError(
            f"{folder}: {free / _MEGABYTE:.1f} MB free, expected {needed / _MEGABYTE:.1f} or more for {purpose}"
        )
    return free


def region_size(free: int) -> int:
    """Bytes free in /dev/shm -> bytes of one stub's initial region, whole megabytes.

    About eight stubs take their regions at once, and the regions grow with the frames. So this is a quarter of the free
    space, at most enough for a raw 10-megapixel frame. A container's 64 MB give 2 MB each.
    """
    return max(1, min(32, free // 4 // 8 // _MEGABYTE)) * _MEGABYTE
