"""A process whose work hangs is ended, and no other. Each test runs in its own process."""

import subprocess
import sys

import pytest

PROGRAM = """
import ctypes, time
from plate_nets.triton.backend.watchdog import Watchdog, WatchdogSettings

watchdog = Watchdog(WatchdogSettings(stalled_after={stalled_after}), beat=0.05)
{work}
print("alive", flush=True)
"""
HANGS = """
with watchdog.working():
    time.sleep(0.5)
    {call}
"""
IDLE = """
time.sleep(1)
try:
    with watchdog.working():
        raise ValueError
except ValueError:
    time.sleep(1)
"""
KEEPS_THE_GIL = "ctypes.PyDLL(None).sleep(60)"


def run(work: str, stalled_after: float) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", PROGRAM.format(work=work, stalled_after=stalled_after)],
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )


@pytest.mark.parametrize("call", ["time.sleep(60)", KEEPS_THE_GIL])
def test_a_hanging_process_is_ended_with_its_stacks_in_the_log(call: str) -> None:
    ended = run(HANGS.format(call=call), 1)
    assert ended.returncode == 1
    assert "alive" not in ended.stdout
    assert "Timeout (0:00:0" in ended.stderr
    assert 'File "<string>", line' in ended.stderr


@pytest.mark.parametrize(
    ("work", "stalled_after"),
    [("for _ in range(30):\n    with watchdog.working():\n        time.sleep(0.1)", 2), (IDLE, 0.5)],
    ids=["busy", "idle"],
)
def test_a_working_or_waiting_process_is_not_ended(work: str, stalled_after: float) -> None:
    ended = run(work, stalled_after)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "alive\n", "")


def test_without_a_limit_nothing_is_ended() -> None:
    assert run(HANGS.format(call="time.sleep(1)"), 0).returncode == 0
