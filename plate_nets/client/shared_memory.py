"""Pictures handed to a server on the same machine in shared memory: their bytes cross no socket.

`PlateClient(url, shared_memory=True)` puts `SharedMemoryTransport` before its own transport. The server maps a region
once it is registered, which is for holders of its control key alone.
"""

import contextlib
import os
import secrets
import threading
import time
import weakref
from collections.abc import Collection, Sequence
from multiprocessing.shared_memory import SharedMemory
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from plate_nets.contract import TensorSpec
from plate_nets.control_key import KEY_VARIABLE
from plate_nets.errors import DeadlineExceeded, PlateError, ServerError, ServerUnavailable

RELEASE_TIMEOUT = 2.0
"""Seconds that the server has to let go of a region that a request of ours still holds."""


class SharingTransport(Protocol):
    """How questions reach a server, by HTTP or gRPC, with what shared memory needs; each ends within ``seconds``."""

    def infer(
        self,
        spec: TensorSpec,
        array: NDArray[np.uint8],
        outputs: Sequence[TensorSpec],
        seconds: float,
        region: str | None = None,
    ) -> dict[str, NDArray[Any]]:
        """A picture -> these outputs of the model; with ``region`` the picture's bytes lie there already."""
        ...

    def is_ready(self, seconds: float) -> bool:
        """Whether the server says that it is ready."""
        ...

    def register(self, region: str, size: int, seconds: float) -> None:
        """Have the server map a region of /dev/shm."""
        ...

    def unregister(self, region: str, seconds: float) -> None:
        """Have the server unmap it."""
        ...

    def registered(self, seconds: float) -> Collection[str]:
        """The regions that the server knows."""
        ...

    def close(self) -> None:
        """Close the connections."""
        ...


class SharedMemoryTransport:
    """A transport whose pictures lie in regions of shared memory.

    A region serves one question at a time; there are as many as there were questions at once. They are unregistered
    and removed by `close`, with the object, or when the interpreter ends. Python's own resource tracker removes those
    of a process that was killed.
    """

    def __init__(self, transport: SharingTransport, url: str) -> None:
        self._transport = transport
        self._url = url
        self._lock = threading.Lock()
        self._regions: list[SharedMemory] = []
        self._free: list[SharedMemory] = []
        self._release = weakref.finalize(self, _release_all, transport, self._regions)

    def infer(
        self, spec: TensorSpec, array: NDArray[np.uint8], outputs: Sequence[TensorSpec], seconds: float
    ) -> dict[str, NDArray[Any]]:
        """A picture -> these outputs of the model, within ``seconds``.

        Raises:
            ServerError: the server does not map the region; the message says what it needs.
        """
        deadline = time.monotonic() + seconds
        memory = self._take(array.nbytes, deadline)
        try:
            np.ndarray(array.shape, array.dtype, memory.buf)[...] = array
            try:
                return self._transport.infer(spec, array, outputs, _left(deadline), memory.name)
            except (ServerUnavailable, DeadlineExceeded):
                raise
            except PlateError:
                # A server that was started again does not know the region.
                if memory.name in self._transport.registered(_left(deadline)):
                    raise
                self._register(memory, deadline)
                return self._transport.infer(spec, array, outputs, _left(deadline), memory.name)
        finally:
            with self._lock:
                self._free.append(memory)

    def is_ready(self, seconds: float) -> bool:
        """Whether the server says that it is ready."""
        return self._transport.is_ready(seconds)

    def close(self) -> None:
        """Unregister and remove all regions, then close the connections."""
        with self._lock:
            self._free.clear()
        self._release()
        self._transport.close()

    def _take(self, size: int, deadline: float) -> SharedMemory:
        """A region of at least ``size`` bytes that no other question uses; a free one that is too small is replaced."""
        with self._lock:
            if not self._release.alive:
                raise ServerError(f"{self._url}: the client is closed")
            self._free.sort(key=lambda memory: memory.size)
            memory = self._free.pop() if self._free else None
            if memory is not None and memory.size >= size:
                return memory
            if memory is not None:
                self._regions.remove(memory)
        if memory is not None:
            _release_one(self._transport, memory)
        # Powers of two, so that pictures of slightly different sizes share one; pages never written take no memory.
        size = 1 << (size - 1).bit_length()
        made = SharedMemory(f"plates-{os.getpid()}-{secrets.token_hex(8)}", create=True, size=size)
        try:
            self._register(made, deadline)
        except BaseException:
            _release_one(self._transport, made)  # perhaps only the answer was lost
            raise
        with self._lock:
            self._regions.append(made)
        return made

    def _register(self, memory: SharedMemory, deadline: float) -> None:
        try:
            self._transport.register(memory.name, memory.size, _left(deadline))
        except PlateError as error:
            kind = type(error) if isinstance(error, ServerError) else ServerError
            raise kind(
                f"{error}; shared memory needs a server on this machine and its control key "
                f"(control_key, or {KEY_VARIABLE} in the environment)"
            ) from error


def _left(deadline: float) -> float:
    """Seconds until a time of `time.monotonic`."""
    return max(0.0, deadline - time.monotonic())


def _release_all(transport: SharingTransport, regions: list[SharedMemory]) -> None:
    while regions:
        _release_one(transport, regions.pop())


def _release_one(transport: SharingTransport, memory: SharedMemory) -> None:
    """Unregister and remove a region; a server that is gone has none of it."""
    deadline = time.monotonic() + RELEASE_TIMEOUT
    with contextlib.suppress(PlateError):
        # The server refuses (24.10) or defers while a request whose answer we no longer await reads it.
        while memory.name in transport.registered(_left(deadline)) and time.monotonic() < deadline:
            try:
                transport.unregister(memory.name, _left(deadline))
            except PlateError:
                time.sleep(0.02)
    _remove(memory)


def _remove(memory: SharedMemory) -> None:
    memory.close()
    memory.unlink()
