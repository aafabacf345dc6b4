"""Context managers that call `close` at their end."""

from types import TracebackType
from typing import Self


class Closing:
    """``with`` gives the object itself and closes it at the end."""

    def close(self) -> None:
        """Release what was opened; by default nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
