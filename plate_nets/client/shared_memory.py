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
from plate_nets.control_key import KEY_VARIABLE
from plate_nets.errors import DeadlineExceeded, ModelDied, PlateError, ServerError, ServerUnavailable

RELEASE_TIMEOUT = 2.0
"""Seconds that the server has to let go of a region that a request of ours still holds."""

T = TypeVar("T")


class SharedMemoryTransport(Transport):
    """A transport whose pictures lie in regions of shared memory.

    A region serves one question at a time; there are as many as there were questions at once. They are unregistered
    and removed by `close`, with the object, or when the interpreter ends. Python's own resource tracker removes those
    of a process that was killed.
    """

    def __init__(self, transport: Transport) -> None:
        super().__init__(transport.address)
        self._transport = transport
        self._lock = threading.Lock()
        self._regions: list[SharedMemory] = []
        self._free: list[SharedMemory] = []
        self._release = weakref.finalize(self, _release_all, os.getpid(), transport, self._regions)

    def send(self, call: Call[T], seconds: float) -> T:
        """See `Transport.send`; the arrays of an `Infer` go into regions.

        Raises:
            ServerError: the server does not map a region; the message says what it needs.
        """
        if not isinstance(call, Infer):
            return self._transport.send(call, seconds)
        deadline = time.monotonic() + seconds
        taken: list[SharedMemory] = []
        inputs: list[Input] = []
        try:
            for each in call.inputs:
                memory = self._take(each.array.nbytes, deadline)
                taken.append(memory)
                np.ndarray(each.array.shape, each.array.dtype, memory.buf)[...] = each.array
                inputs.append(replace(each, region=memory.name))
            shared = cast(Call[T], replace(call, inputs=inputs))
            try:
                return self._transport.send(shared, _left(deadline))
            except (ServerUnavailable, ModelDied, DeadlineExceeded):
                raise
            except PlateError:
                # A server that was started again does not know the regions.
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
        """A region of at least ``size`` bytes that no other question uses; a free one that is too small is replaced."""
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
            self._transport.send(register_memory(memory.name, memory.size), _left(deadline))
        except ServerError as error:
            raise type(error)(
                f"{error}; shared memory needs a server on this machine and its control key "
                f"(control_key, or {KEY_VARIABLE} in the environment)"
            ) from error


def _left(deadline: float) -> float:
    """Seconds until a time of `time.monotonic`."""
    return max(0.0, deadline - time.monotonic())


def _release_all(process: int, transport: Transport, regions: list[SharedMemory]) -> None:
    while regions and process == os.getpid():  # a child of a fork leaves its parent's alone
        _release_one(transport, regions.pop())


def _release_one(transport: Transport, memory: SharedMemory) -> None:
    """Unregister and remove a region; a server that is gone has none of it."""
    deadline = time.monotonic() + RELEASE_TIMEOUT
    with contextlib.suppress(PlateError):
        # The server refuses (24.10) or defers while a request whose answer we no longer await reads it.
        while memory.name in transport.send(registered_memory(), _left(deadline)) and time.monotonic() < deadline:
            try:
                transport.send(unregister_memory(memory.name), _left(deadline))
            except PlateError:
                time.sleep(0.02)
    _remove(memory)


def _remove(memory: SharedMemory) -> None:
    memory.close()
    memory.unlink()
