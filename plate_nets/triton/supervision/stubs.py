"""Watches the processes of the Python models directly, to notice at once that one died, and of which model.

`plate_recognition` has several processes. A dead one breaks only some requests, which a probe may miss.
"""

from collections import Counter
from collections.abc import Iterable
from contextlib import suppress

import psutil

from plate_nets.triton.server.stubs import stub_model


class StubWatch:
    """The stubs below one process, as they come and go."""

    def __init__(self) -> None:
        self._models: dict[int, str] = {}
        self._dead: set[int] = set()
        self._frozen: set[int] = set()
        self.still: frozenset[int] = frozenset()
        """The processes, stubs or not, that were stopped at the last two checks."""
        self._reported: set[int] = set()

    def check(self, root: int) -> Counter[str]:
        """The process above the server -> models, each with how many of its stubs died since the last check.

        The server waits for stubs that it unloads, so they vanish. A stub that died on its own stays a zombie, because
        the server does not know. It counts once two checks in a row find it. A stopped stub (SIGSTOP) would keep its
        requests forever: once two checks in a row find it, it is killed and counts as dead.
        """
        zombies = set()
        frozen = set()
        alive = {}
        for process in _descendants(root):
            try:
                state = process.status()
                if state == psutil.STATUS_STOPPED:
                    frozen.add(process.pid)
                if state == psutil.STATUS_ZOMBIE:
                    zombies.add(process.pid)
                elif process.pid in self._models:
                    alive[process.pid] = self._models[process.pid]
                elif (model := stub_model(process)) is not None:
                    alive[process.pid] = model
            except psutil.Error:
                continue
        known = zombies & self._models.keys()
        died = (known & self._dead) - self._reported
        models = Counter(self._models[pid] for pid in died)
        self._models = alive | {pid: self._models[pid] for pid in known}
        self._dead = known
        self._reported = (self._reported | died) & self._models.keys()
        self.still = frozenset(frozen & self._frozen)
        stuck = self.still & alive.keys()
        self._frozen = frozen
        self.kill(stuck)
        return models + Counter(self._models[pid] for pid in stuck)

    @property
    def living(self) -> dict[int, str]:
        """Process ids of the stubs that were alive at the last check, and their models."""
        return {pid: model for pid, model in self._models.items() if pid not in self._dead}

    def of(self, model: str) -> frozenset[int]:
        return frozenset(pid for pid, owner in self.living.items() if owner == model)

    def kill(self, pids: Iterable[int]) -> None:
        """End living stubs; their deaths will not be reported."""
        for pid in self.living.keys() & pids:
            with suppress(psutil.Error):
                process = psutil.Process(pid)
                if stub_model(process) == self._models[pid]:  # and not another process with the same id
                    process.kill()
                    self._reported.add(pid)


def _descendants(root: int) -> list[psutil.Process]:
    try:
        return psutil.Process(root).children(recursive=True)
    except psutil.NoSuchProcess:
        return []
