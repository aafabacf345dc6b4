"""What happened to a server: a line of JSON each, and how it stands now."""

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
    """The state of a server since when, and what was done so far; threads may share it.

    Args:
        log: a file without a buffer that gets the events.
    """

    def __init__(self, log: BinaryIO) -> None:
        self._log = log
        self._lock = threading.Lock()
        self._state: State = "starting"
        self._since = time.time()
        self._recognised: float | None = None
        self._turns_until = math.inf
        self._heals = Counter(dict.fromkeys(MODELS, 0))  # and of what else the repository may hold
        self._renewals = Counter(dict.fromkeys(MODELS, 0))
        self._restarts = 0
        self._causes: deque[dict[str, Any]] = deque(maxlen=_KEPT)

    @property
    def state(self) -> State:
        """How the server stands."""
        return self._state

    @property
    def last_recognition(self) -> float | None:
        """When the known picture was recognised last, in Unix seconds; None before the first time."""
        return self._recognised

    @property
    def heals(self) -> Mapping[str, int]:
        """How often each model was loaded anew as it failed."""
        with self._lock:
            return dict(self._heals)

    @property
    def renewals(self) -> Mapping[str, int]:
        """How often each model was loaded anew as its memory had grown."""
        with self._lock:
            return dict(self._renewals)

    @property
    def restarts(self) -> int:
        """How often the server was started anew, or that was tried."""
        return self._restarts

    def recognised(self) -> None:
        """The known picture was recognised, just now."""
        self._recognised = time.time()

    @property
    def is_live(self) -> bool:
        """Whether the supervisor does something, or waits for no longer than it may."""
        return time.monotonic() < self._turns_until

    def turns_within(self, seconds: float) -> None:
        """What the supervisor begins now takes so many seconds at most; until the first time it has any."""
        self._turns_until = time.monotonic() + seconds

    def enter(self, state: State) -> bool:
        """The server stands so from now on -> whether it did not before. One that is drained only stops."""
        with self._lock:
            if state == self._state or (self._state == "draining" and state != "stopped"):
                return False
            self._state, self._since = state, time.time()
            return True

    def report(self, event: str, **facts: Any) -> None:
        """Write one line of JSON: when, what, and its facts; count it where it is a heal, a renewal or a restart."""
        line = {"time": _iso(time.time()), "event": event, **facts}
        with self._lock:
            if event == "heal":
                self._heals[facts["model"]] += 1
            elif event == "renew":
                self._renewals[facts["model"]] += 1
            elif event == "restart":
                self._restarts += 1
            if event in ("heal", "renew", "restart"):
                self._causes.append(line)
            with contextlib.suppress(OSError):  # a full disk ends no server
                self._log.write(json.dumps(line).encode() + b"\n")

    def summary(self) -> dict[str, Any]:
        """All of it as JSON would hold it; what was done last with its causes, no folder named in them."""
        with self._lock:
            return {
                "state": self._state,
                "since": _iso(self._since),
                "heals": sum(self._heals.values()),
                "renewals": sum(self._renewals.values()),
                "restarts": self._restarts,
                "causes": [{name: _without_folders(fact) for name, fact in line.items()} for line in self._causes],
            }


def _without_folders(fact: Any) -> Any:
    """A text -> the same, of each absolute path the file's name alone: whoever may ask for the state may read it."""
    return _FOLDERS.sub("", fact) if isinstance(fact, str) else fact


def _iso(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")
