"""Raises an exception in the middle of another thread's turn."""

import ctypes
import threading
from collections.abc import Callable, Collection

from plate_nets.common.threads import LastingThread
from tests.waiting import eventually


class Killed(Exception):
    """An exception that none of our code expects."""


def lasting_thread(name: str, others: Collection[threading.Thread] = ()) -> LastingThread:
    """The only thread of this name besides ``others``, as soon as it exists."""
    found: list[LastingThread] = []

    def look() -> bool:
        new = (each for each in threading.enumerate() if each not in others)
        found[:] = [each for each in new if isinstance(each, LastingThread) and each.name == name]
        return bool(found)

    assert eventually(look, 60), [each.name for each in threading.enumerate()]
    (thread,) = found
    return thread


def kill(
    name: str, meanwhile: Callable[[], object] = lambda: None, others: Collection[threading.Thread] = ()
) -> LastingThread:
    """End a thread's turn by an exception -> the thread, after that.

    ``meanwhile``: makes the thread work, if it waits in C and would only see the exception later.
    """
    thread = lasting_thread(name, others)
    before = thread.faults
    assert thread.ident is not None
    assert ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident), ctypes.py_object(Killed)) == 1
    meanwhile()
    assert eventually(lambda: thread.faults > before, 60)
    return thread
