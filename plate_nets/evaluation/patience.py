"""Asks a reader that may not answer: on a camera it is asked again for as long as it takes, otherwise not for long."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from plate_nets.common.errors import ServerError
from plate_nets.common.threads import FIRST_PAUSE, LONGEST_PAUSE
from plate_nets.types import Frame

Found = TypeVar("Found")


@dataclass
class Patient(Generic[Found]):
    """A reader, and what became of the last pictures that it was asked.

    ``patience``: pictures in a row that it may fail on. ``say`` gets a line when it is lost on a camera, and when it is
    back.
    """

    name: str
    ask: Callable[[Frame], Sequence[Found]]
    patience: int
    say: Callable[[str], None]
    _failed: int = 0
    _pause: float = 0.0
    _again: float = 0.0
    _error: ServerError | None = None

    def read(self, frame: Frame, *, lasting: bool) -> Sequence[Found] | None:
        """A frame (H, W, 3) BGR -> what the reader found, or None if it does not answer.

        ``lasting``: whether to ask again for ever, with growing pauses.

        Raises:
            ServerError: it failed as often in a row as it may, and this is not lasting.
        """
        if lasting and time.monotonic() < self._again:
            return None
        try:
            found = self.ask(frame)
        except ServerError as error:
            self._error = error
            self._failed += 1
            if lasting:
                if not self._pause:
                    self.say(f"lost: {error}; it is asked again and again")
                self._pause = min(2 * self._pause or FIRST_PAUSE, LONGEST_PAUSE)
                self._again = time.monotonic() + self._pause
            elif self._failed >= self.patience:
                raise
            return None
        if self._pause:
            self.say(f"{self.name}: answers again")
        self._failed, self._pause = 0, 0.0
        return found

    def complain(self) -> None:
        """Raise the last error, if there was one."""
        if self._error:
            raise self._error
