"""A good caller that must not notice attacks; `make attacks` uses it."""

import os
import sys
import threading
import time
from collections.abc import Callable

import psutil
import pytest

from tests.waiting import eventually

TIMES = int(os.environ.get("PLATES_SOAK_TIMES", "30"))
"""How often each attack is repeated in full length."""
ONCE_OR_OFTEN = (1, pytest.param(TIMES, id="over_and_over", marks=[pytest.mark.soak, pytest.mark.timeout(3600)]))
"""How often an attack is made in its short and in its full form."""
GROWTH = 100 << 20
"""Bytes that the attacked process may have grown by at the end."""
LONGEST_CONTROL = 30.0
"""Maximum seconds to observe the good caller without the attack."""


def say(capsys: pytest.CaptureFixture[str], text: str) -> None:
    """Show a row even if the test passes."""
    with capsys.disabled():
        sys.stdout.write(f"\n{text}\n")


class GoodCaller:
    """Sends requests one after another in its own thread, and records how long each took; a context manager.

    Args:
        process: its memory must not grow by the attacks.
        ask: waits for one answer; raises if it does not come or is wrong.
    """

    def __init__(self, process: psutil.Process, ask: Callable[[], object]) -> None:
        self.faults: list[str] = []
        self._process = process
        self._ask = ask
        self._waits: list[tuple[float, float]] = []
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._be_good)

    def __enter__(self) -> "GoodCaller":
        self._thread.start()
        while len(self._waits) < 20 and not self.faults:
            time.sleep(0.05)
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def memory(self) -> int:
        """Bytes that the process uses now."""
        return int(self._process.memory_info().rss)

    def settled(self, most: int) -> int:
        """The bytes in use, as soon as they are at most ``most``, and after a minute in any case."""
        eventually(lambda: self.memory() <= most, 60)
        return self.memory()

    def waits(self, since: float) -> list[float]:
        """The waits, in seconds, of the requests that ended after a moment of `time.monotonic`."""
        return [wait for began, wait in self._waits if began + wait >= since]

    def longest(self, since: float) -> float:
        """The longest of these waits."""
        return max(self.waits(since), default=0.0)

    def beside(self, name: str, attack: Callable[[], object], times: int) -> str:
        """Repeat an attack -> a row of the table. If ``times`` exceeds one, it then waits as long without one."""
        self._wait_for_answer()
        before, began = self.memory(), time.monotonic()
        for _ in range(times):
            attack()
        self._wait_for_answer()
        longest, lasted = self.longest(began), time.monotonic() - began
        after = self.settled(before + GROWTH)
        began = time.monotonic()
        time.sleep(min(lasted, LONGEST_CONTROL) if times > 1 else 0)
        self._wait_for_answer()
        assert not self.faults, self.faults[:3]
        assert after < before + GROWTH, (after - before) >> 20
        return (
            f"{name}, {times} times in {lasted:.0f} s: a good caller's longest wait {longest:.2f} s, "
            f"{self.longest(began):.2f} s without the attack; memory {(after - before) / 1e6:+.0f} MB"
        )

    def _wait_for_answer(self) -> None:
        """Wait for the answer in progress, because a request counts at the time of its answer."""
        known = len(self._waits)
        while len(self._waits) == known and self._thread.is_alive():
            time.sleep(0.01)

    def _be_good(self) -> None:
        while not self._stop.is_set():
            began = time.monotonic()
            try:
                self._ask()
            except Exception as error:
                self.faults.append(repr(error))
            self._waits.append((began, time.monotonic() - began))
            self._stop.wait(0.05)
