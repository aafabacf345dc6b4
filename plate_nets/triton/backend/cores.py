"""Shares the server's cores (`quota`) between the instances of a model; one that works alone uses all.

Instances are separate processes. Each holds one of the model's places while it works: a name among Linux's abstract
sockets (unix(7)), which needs no file and is released when its process ends, for whatever reason.
"""

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from plate_nets.triton.backend.settings import ModelArgs, NetworkSettings, thread_count


class Cores:
    """The cores for one instance of a model on the CPU, depending on how many others work when it begins.

    If n cores are shared by k working instances, a new one takes n / k, at least one. So if the first
    instance began alone, a burst may run a few more threads than there are cores until that instance finishes.
    """

    def __init__(self, model: ModelArgs, settings: NetworkSettings) -> None:
        # For this server alone: other containers may share the network's namespace
        server = f"{Path('/proc/self/ns/pid').stat().st_ino}-{os.getppid()}"
        self._places = [f"\0plates-{server}-{model.name}-{place}" for place in range(model.instances)]
        self._threads = [thread_count(settings, working) for working in range(1, model.instances + 1)]

    @property
    def choices(self) -> frozenset[int]:
        """All numbers of threads that `taken` may return."""
        return frozenset(self._threads)

    @contextmanager
    def taken(self) -> Iterator[int]:
        """Count this instance as working inside the context -> the number of threads that it may use."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as own:
            others = sum(_taken(place) for place in self._places)
            for place in self._places:
                try:
                    own.bind(place)
                    break
                except OSError:  # taken by another instance
                    continue
            yield self._threads[min(others, len(self._threads) - 1)]


def _taken(place: str) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as asking:
        try:
            asking.connect(place)
        except ConnectionRefusedError:
            return False
        return True
