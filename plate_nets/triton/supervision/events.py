"""What happened to a server, as lines of JSON, and its state now."""

import contextlib
import json
import math
import re
import threading
import time
from collections import Counter, deque
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, BinaryIO, Literal

from plate_nets.contract import MODELS

State = Literal["starting", "serving", "failing", "healing", "restarting", "draining", "stopped"]

_KEPT = 20
_FOLDERS = re.compile(r"(?<![\w.:/-])/(?:[^\s/:'\"]+/)*")


class Status:
    """The state of a server, since when, and what was done so far. Threads may share it.

    Args:
        log: an unbuffered file for the events.
    """

    def __init__(self, log: BinaryIO) -> None:
        self._log = log
        self._lock = threading.Lock()
        self.state: State = "starting"
        self._since = time.time()
        self.last_recognition: float | None = None
        """When the known picture was last read, in Unix seconds; None before the first time."""
        self._turns_until = math.inf
        # Plus other models in the repository
        self._reloads = {event: Counter(dict.fromkeys(MODELS, 0)) for event in ("heal", "renew")}
        self.restarts = 0
        """How often the server was restarted, failed attempts included."""
        self._causes: deque[dict[str, Any]] = deque(maxlen=_KEPT)

    @property
    def heals(self) -> Mapping[str, int]:
        """How often each model was reloaded because it failed."""
        with self._lock:
            return dict(self._reloads["heal"])

    @property
    def renewals(self) -> Mapping[str, int]:
        """How often each model was reloaded because its memory had grown."""
        with self._lock:
            return dict(self._reloads["renew"])

    def recognised(self) -> None:
        self.last_recognition = time.time()

    @property
    def is_live(self) -> bool:
        """Whether the supervisor is working, or has not waited longer than it may."""
        return time.monotonic() < self._turns_until

    def turns_within(self, seconds: float) -> None:
        """Note how many seconds the supervisor's next step may take; before the first call there is no limit."""
        self._turns_until = time.monotonic() + seconds

    def enter(self, state: State) -> bool:
        """Set the state of the server -> whether it changed. A draining server can only stop."""
        with self._lock:
            if state == self.state or (self.state == "draining" and state != "stopped"):
                return False
            self.state, self._since = state, time.time()
            return True

    def report(self, event: str, **facts: Any) -> None:
        """Write one line of JSON: time, event and facts. Count it if it is a heal, a renewal or a restart."""
        line = {"time": _iso(time.time()), "event": event, **facts}
        with self._lock:
            if event in self._reloads:
                self._reloads[event][facts["model"]] += 1
            if event == "restart":
                self.restarts += 1
            if event in (*self._reloads, "restart"):
                self._causes.append(line)
            with contextlib.suppress(OSError):  # a full disk must not stop the server
                self._log.write(json.dumps(line).encode() + b"\n")

    def summary(self) -> dict[str, Any]:
        """The whole state for JSON, with the latest actions and their causes, without folder names."""
        with self._lock:
            return {
                "state": self.state,
                "since": _iso(self._since),
                "heals": self._reloads["heal"].total(),
                "renewals": self._reloads["renew"].total(),
                "restarts": self.restarts,
                "causes": [{name: _without_folders(fact) for name, fact in line.items()} for line in self._causes],
            }


def _without_folders(fact: Any) -> Any:
    """A text -> the same with only the file name of each absolute path, because anyone may ask for the state."""
    return _FOLDERS.sub("", fact) if isinstance(fact, str) else fact


def _iso(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")
