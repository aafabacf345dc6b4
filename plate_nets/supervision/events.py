"""What happened to a server: a line of JSON each, and how it stands now."""

import contextlib
import json
import threading
import time
from collections import deque
from datetime import UTC, datetime
from typing import Any, BinaryIO, Literal

State = Literal["starting", "serving", "failing", "healing", "restarting", "stopped"]

_KEPT = 20


class Status:
    """The state of a server since when, and what was done so far; threads may share it.

    Args:
        log: a file without a buffer that gets the events.
    """

    def __init__(self, log: BinaryIO) -> None:
        self._log = log
        self._lock = threading.Lock()
        self._state: State = "starting"
        self._since = time.time()
        self._counts = {"heals": 0, "restarts": 0}
        self._causes: deque[dict[str, Any]] = deque(maxlen=_KEPT)

    @property
    def state(self) -> State:
        """How the server stands."""
        return self._state

    def enter(self, state: State) -> None:
        """The server stands so from now on, if it did not already."""
        with self._lock:
            if state != self._state:
                self._state, self._since = state, time.time()

    def report(self, event: str, **facts: Any) -> None:
        """Write one line of JSON: when, what, and its facts; count it where it is a heal or a restart."""
        line = {"time": _iso(time.time()), "event": event, **facts}
        with self._lock:
            counted = {"heal": "heals", "restart": "restarts"}.get(event)
            if counted:
                self._counts[counted] += 1
                self._causes.append(line)
            with contextlib.suppress(OSError):  # a full disk ends no server
                self._log.write(json.dumps(line).encode() + b"\n")

    def summary(self) -> dict[str, Any]:
        """All of it as JSON would hold it; the last heals and restarts with their causes."""
        with self._lock:
            return {
                "state": self._state,
                "since": _iso(self._since),
                **self._counts,
                "causes": list(self._causes),
            }


def _iso(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")
