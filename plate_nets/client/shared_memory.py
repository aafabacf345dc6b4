"""Passes pictures to a server on the same machine in shared memory, so that their bytes cross no socket.

`PlateClient(url, shared_memory=True)` wraps its transport in a `SharedMemoryTransport`. The server maps a region once
it is registered, which requires the server's control key.
"""

import contextlib
import os
import secrets
import threading
import time
import weakref
from dataclasses import replace
from multiprocessing.shared_memory import SharedMemory
from typing import TypeVar, cast

import numpy as np

from plate_nets.client.transports import Transport
from plate_nets.client.transports.calls import (
    Call,
    Infer,
    Input,
    register_memory,
    registered_memory,
    unregister_memory,
)
from plate_nets.common.control_key import KEY_VARIABLE
from plate_nets.common.errors import DeadlineExceeded, ModelDied, PlateError, ServerError, ServerUnavailable

RELEASE_TIMEOUT = 2.0
"""Seconds that the server may take to release a region that one of our requests still holds."""

T = TypeVar("T")


class SharedMemoryTransport(Transport):
    """A transport that puts pictures into regions of shared memory.

    A region serves one call at a time, so there are as many regions as concurrent calls. They are unregistered and
    removed by `close`, with the object, or when the interpreter ends. If a process is killed, Python's resource tracker
    removes its regions.
    """

    def __init__(self, transport: Transport) -> None:
        super().__init__(transport.address)
        self._transport = transport
        self._lock = threading.Lock()
        self._regions: list[SharedMemory] = []
        self._free: list[SharedMemory] = []
        self._release = weakref.finalize(self, _release_all, os.getpid(), transport, self._regions)

    def send(self, call: Call[T], seconds: float) -> T:
        """See `Transport.send`; the arrays of an `Infer` are put into regions.

        Raises:
            ServerError: the server does not map a region; the message says what it needs.
        """
        if not isinstance(call, Infer):
            return self._transport.send(call, seconds)
        deadline = time.monotonic() + seconds
        taken: list[SharedMemory] = []
        inputs: list[Input] = []
        try:
            for given in call.inputs:
                memory = self._take(given.array.nbytes, deadline)
                taken.append(memory)
                np.ndarray(given.array.shape, given.array.dtype, memory.buf)[...] = given.array
                inputs.append(replace(given, region=memory.name))
            shared = cast(Call[T], replace(call, inputs=inputs))
            try:
                return self._transport.send(shared, _left(deadline))
            except (ServerUnavailable, ModelDied, DeadlineExceeded):
                raise
            except PlateError:
                # A server that was restarted does not know the regions
                mapped = self._transport.send(registered_memory(), _left(deadline))
                unmapped = [memory for memory in taken if memory.name not in mapped]
                if not unmapped:
                    raise
                for memory in unmapped:
                    self._register(memory, deadline)
                return self._transport.send(shared, _left(deadline))
        finally:
            with self._lock:
                self._free.extend(taken)

    def close(self) -> None:
        """Unregister and remove all regions, then close the connections."""
        with self._lock:
            self._free.clear()
        self._release()
        self._transport.close()

    def _take(self, size: int, deadline: float) -> SharedMemory:
        """A region of at least ``size`` bytes that no other call uses; a free one that is too small is replaced."""
        with self._lock:
            if not self._release.alive:
                raise ServerError(f"{self.address}: the client is closed")
            self._free.sort(key=lambda memory: memory.size)
            memory = self._free.pop() if self._free else None
            if memory is not None and memory.size >= size:
                return memory
            if memory is not None:
                self._regions.remove(memory)
        if memory is not None:
            _release_one(self._transport, memory)
        # Powers of two, so that pictures of similar sizes can reuse one; pages that are not written take no memory
        size = 1 << (size - 1).bit_length()
        made = SharedMemory(f"plates-{os.getpid()}-{secrets.token_hex(8)}", create=True, size=size)
        try:
            self._register(made, deadline)
        except BaseException:
            _release_one(self._transport, made)  # it may be registered if only the answer was lost
            raise
        with self._lock:
            self._regions.append(made)
        return made

    def _register(self, memory: SharedMemory, deadline: float) -> None:
        try:
            self._transport.send(register_memory(memory.name, memory.size), _left(deadline))
        except ServerError as error:
            raise type(error)(
                f"{error}; shared memory needs a server on this machine and its control key "
                f"(control_key, or {KEY_VARIABLE} in the environment)"
            ) from error


def _left(deadline: float) -> float:
    return max(0.0, deadline - time.monotonic())


def _release_all(process: int, transport: Transport, regions: list[SharedMemory]) -> None:
    while regions and process == os.getpid():  # a forked child must not release its parent's
        _release_one(transport, regions.pop())


def _release_one(transport: Transport, memory: SharedMemory) -> None:
    """Unregister and remove a region; a server that is gone no longer has it."""
    deadline = time.monotonic() + RELEASE_TIMEOUT
    with contextlib.suppress(PlateError):
        # The server refuses (24.10) or defers this while it still reads the region for a request that we gave up
        while memory.name in transport.send(registered_memory(), _left(deadline)) and time.monotonic() < deadline:
            try:
                transport.send(unregister_memory(memory.name), _left(deadline))
            except PlateError:
                time.sleep(0.02)
    memory.close()
    memory.unlink()
