"""CPU time and memory of a server on this machine: the process that listens at its address, and its children."""

from collections.abc import Sequence
from pathlib import Path

import psutil

_LOCAL = ("127.0.0.1", "localhost", "[::1]")


def find_server(address: str) -> "ServerProcesses | None":
    """``host:port`` -> the processes of the server there, or None if it runs elsewhere or is not visible."""
    host, _, port = address.rpartition(":")
    if host not in _LOCAL:
        return None
    try:
        connections = psutil.net_connections("tcp")
    except psutil.AccessDenied:
        return None
    for each in connections:
        if each.status == psutil.CONN_LISTEN and each.pid is not None and each.laddr and each.laddr.port == int(port):
            return ServerProcesses(each.pid)
    return None


class ServerProcesses:
    """A server's process and its descendants: Triton and the stubs of its Python models."""

    def __init__(self, pid: int) -> None:
        self._root = psutil.Process(pid)

    def cpu_seconds(self) -> float:
        """CPU time of all of them so far."""
        return sum(times.user + times.system for times in (each.cpu_times() for each in self._all()))

    def pss(self) -> int:
        """Memory in bytes, where shared pages count in parts (PSS); 0 if it is not readable."""
        return sum(_memory(each.pid, "Pss:") for each in self._all())

    def without_files(self) -> int:
        """The same without mapped files, whose share shrinks when other processes map them too."""
        return sum(_memory(each.pid, "Pss_Anon:", "Pss_Shmem:") for each in self._all())

    def own(self) -> int:
        """Memory of Triton alone in bytes, without what it shares with its stubs (USS)."""
        return int(self._root.memory_full_info().uss)

    def _all(self) -> Sequence[psutil.Process]:
        try:
            return [self._root, *self._root.children(recursive=True)]
        except psutil.NoSuchProcess:
            return []


def _memory(pid: int, *fields: str) -> int:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith(fields))
