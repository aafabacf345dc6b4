"""Watches the memory of the server's processes for growth, so that they can run for months."""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field

import psutil

LOOKS = 6
"""So many in a row make a judgement, so that what one large picture takes for a moment is none."""
_AT_START = 3
"""So many times what it may grow by a process may take while it is new: what was done to it in its first half minute
does not become its usual size."""


class GrowthWatch:
    """What processes take for themselves now against what they took when they were new.

    Args:
        allowed: bytes that a process may grow by; 0: any number.
    """

    def __init__(self, allowed: int) -> None:
        self._allowed = allowed
        self._processes: dict[int, _Memory] = {}

    def look(self, processes: Mapping[int, str]) -> dict[str, int]:
        """Process numbers and whose they are -> those whose processes grew by more than is allowed, and by how much the
        largest did, bytes.

        A process is held against the most of its first `LOOKS` looks, by the least of the last as many. Once it is
        named it begins anew: it may take a while to end, or may not be replaced.
        """
        found: dict[int, _Memory] = {}
        grown: dict[str, int] = {}
        for pid, owner in processes.items() if self._allowed else ():
            try:
                own = psutil.Process(pid).memory_full_info().uss
            except psutil.Error:
                continue
            found[pid] = self._processes.get(pid, _Memory())
            by = found[pid].add(own, _AT_START * self._allowed)
            if by > self._allowed:
                found[pid] = _Memory()
                grown[owner] = max(by, grown.get(owner, 0))
        self._processes = found
        return grown


@dataclass
class _Memory:
    """One process over time."""

    first: list[int] = field(default_factory=list)
    last: deque[int] = field(default_factory=lambda: deque(maxlen=LOOKS))

    def add(self, own: int, at_start: int) -> int:
        """Its own memory now, bytes -> how many bytes it grew by; 0 while it is new.

        ``at_start``: bytes that it may take within its first looks; more is growth too.
        """
        if len(self.first) < LOOKS:
            self.first.append(own)
            return 0
        self.last.append(own)
        return min(self.last) - min(max(self.first), min(self.first) + at_start) if len(self.last) == LOOKS else 0
