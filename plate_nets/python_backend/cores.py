"""The cores that a server may use (`quota`), shared by the instances of a model: one that works alone uses all of them.

Instances are processes that know nothing of each other. Each holds one of the model's places while it works: a name of
Linux's abstract sockets (unix(7)), which needs no file and is free again when its process ends, however it ends.
"""

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from plate_nets.python_backend.settings import ModelArgs, NetworkSettings, thread_count


class Cores:
    """The cores for one instance of a model on the CPU, from what the others do when it begins to work.

    Of n cores, with k instances at work, each new one takes n / k, at least one. So a burst may run a few more threads
    than there are cores until the one that began alone has ended; after that it never does.
    """

    def __init__(self, model: ModelArgs, settings: NetworkSettings) -> None:
        # Of this server alone, though other containers may share the network's names
        server = f"{Path('/proc/self/ns/pid').stat().st_ino}-{os.getppid()}"
        self._places = [f"\0plates-{server}-{model.name}-{place}" for place in range(model.instances)]
        self._threads = [thread_count(settings, working) for working in range(1, model.instances + 1)]

    @property
    def choices(self) -> frozenset[int]:
        """All numbers of threads that `taken` may give."""
        return frozenset(self._threads)

    @contextmanager
    def taken(self) -> Iterator[int]:
        """While it is entered, this instance counts as working -> the threads that it may use."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as own:
            others = sum(_taken(place) for place in self._places)
            for place in self._places:
                try:
                    own.bind(place)
                    break
                except OSError:  # another's
                    continue
            yield self._threads[min(others, len(self._threads) - 1)]


def _taken(place: str) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as asking:
        try:
            asking.connect(place)
        except ConnectionRefusedError:
            return False
        return True
