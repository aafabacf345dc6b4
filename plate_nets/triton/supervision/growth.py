"""Watches the memory of the server's processes for growth, so that they can run for months."""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field

import psutil

CHECKS = 6
"""Checks in a row that are compared, so that a short peak for one large picture does not count."""
_AT_START = 3
"""A new process may grow by this many times the limit: its first half minute does not count as its usual size."""


class GrowthWatch:
    """Compares the memory of processes now with that of their beginning.

    Args:
        allowed: bytes that a process may grow by; 0: no limit.
    """

    def __init__(self, allowed: int) -> None:
        self._allowed = allowed
        self._processes: dict[int, _Memory] = {}

    def check(self, processes: Mapping[int, str]) -> dict[str, int]:
        """Process ids and their models -> the models whose processes grew by more than is allowed, and by how many
        bytes the largest did.

        Compares the maximum of a process's first `CHECKS` checks with the minimum of the last ones. A reported process
        starts over, because it may take a while to exit or may not be replaced.
        """
        found: dict[int, _Memory] = {}
        grown: dict[str, int] = {}
        for pid, owner in processes.items() if self._allowed else ():
            try:
                used = psutil.Process(pid).memory_full_info().uss
            except psutil.Error:
                continue
            found[pid] = self._processes.get(pid, _Memory())
            by = found[pid].add(used, _AT_START * self._allowed)
            if by > self._allowed:
                found[pid] = _Memory()
                grown[owner] = max(by, grown.get(owner, 0))
        self._processes = found
        return grown


@dataclass
class _Memory:
    first: list[int] = field(default_factory=list)
    last: deque[int] = field(default_factory=lambda: deque(maxlen=CHECKS))

    def add(self, used: int, at_start: int) -> int:
        """Add the present memory in bytes -> how many bytes it grew by; 0 while it is new.

        ``at_start``: the bytes that it may use during its first checks. More counts as growth too.
        """
        if len(self.first) < CHECKS:
            self.first.append(used)
            return 0
        self.last.append(used)
        return min(self.last) - min(max(self.first), min(self.first) + at_start) if len(self.last) == CHECKS else 0
