"""Attacks on memory, each in its own process with a memory limit."""

import multiprocessing
import resource
from collections.abc import Callable
from typing import Any

MORE = 512 << 20
"""Bytes of address space beyond those in use at its start."""


def in_little_memory(work: Callable[..., None], *arguments: Any, more: int = MORE, seconds: float = 240) -> None:
    """Call ``work`` in a new process that gets ``more`` bytes. It must succeed within ``seconds``."""
    process = multiprocessing.get_context("spawn").Process(target=_limited, args=(work, arguments, more))
    process.start()
    process.join(seconds)
    ended = process.exitcode
    process.kill()
    process.join()
    assert ended == 0, f"{work.__name__}: {'did not end' if ended is None else f'ended with {ended}'}"


def _limited(work: Callable[..., None], arguments: tuple[Any, ...], more: int) -> None:
    with open("/proc/self/statm", encoding="ascii") as file:  # noqa: PTH123
        pages = int(file.read().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + more,) * 2)
    work(*arguments)
