"""As in a container: the server on PATH, and `plates serve` as the first process of its own process namespace."""

import signal
import time
from pathlib import Path

import psutil

from tests.serve import NAMESPACE, Serve, system_server
from tests.waiting import eventually

GRACE = 40
"""Seconds; deploy/compose.yaml has the same value."""


def test_the_first_process_waits_for_orphans_and_ends_on_a_signal(tmp_path: Path) -> None:
    namespace = (*NAMESPACE, "--fork", "--pid", "--mount-proc", "--kill-child")
    with Serve(tmp_path, environment=system_server(tmp_path), prefix=namespace) as serve:
        first = psutil.Process(serve.process.pid).children()[0]
        (guard,) = first.children()
        guard.kill()  # its server dies with it, and the first process inherits the stubs
        assert eventually(lambda: serve.events("restart"), 60)
        assert eventually(lambda: len(first.children()) == 1, 60), first.children()
        (guard,) = first.children()
        started = time.monotonic()
        first.send_signal(signal.SIGTERM)
        serve.process.wait(GRACE)
        assert time.monotonic() - started < GRACE
        assert not guard.is_running()
        assert list(serve.folder.iterdir()) == []
        assert "Traceback" not in serve.errors()
