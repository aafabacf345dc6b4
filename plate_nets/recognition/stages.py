"""How the time of a stage is taken: the pipeline enters ``with stages("read"):``, its caller says what that does."""

from collections.abc import Callable
from contextlib import AbstractContextManager

Stages = Callable[[str], AbstractContextManager[object]]
"""The name of a stage -> what is entered while it runs; `contextlib.nullcontext` where nobody wants to know."""
