"""How to time the stages: the pipeline enters ``with stages("read"):``, and its caller decides what that does."""

from collections.abc import Callable
from contextlib import AbstractContextManager

Stages = Callable[[str], AbstractContextManager[object]]
"""The name of a stage -> a context manager to enter while it runs; `contextlib.nullcontext` does nothing."""
