"""Context managers that end by their `close`."""

from types import TracebackType
from typing import Self


class Closing:
    """``with`` gives the object itself, and closes it in the end."""

    def close(self) -> None:
        """End what was begun; by default nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
