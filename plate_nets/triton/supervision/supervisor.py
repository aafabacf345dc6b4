"""Watches one server, and does what the policy decides."""

import contextlib
import os
import queue
import time
from collections import deque
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, wait

import psutil

from plate_nets.common.errors import ServerError, ServerStartError
from plate_nets.triton.server import EmbeddedTriton
from plate_nets.triton.server.deployment import full_shared_memory
from plate_nets.triton.server.faults import ending
from plate_nets.triton.server.installation import PROGRAM
from plate_nets.triton.supervision.draining import finish_requests
from plate_nets.triton.supervision.events import Status
from plate_nets.triton.supervision.growth import GrowthWatch
from plate_nets.triton.supervision.healing import heal
from plate_nets.triton.supervision.policy import GiveUp, Limits, Policy, Restart
from plate_nets.triton.supervision.probe import ProbeClient, Prober, Verdict
from plate_nets.triton.supervision.progress import Progress, read_metrics
from plate_nets.triton.supervision.stubs import StubWatch

INTERVAL = 3.0
"""Seconds between two probes."""
DEADLINE = 10.0
"""Seconds until a probe counts as failed."""
_CHECK_INTERVAL = 0.2
"""Seconds between two checks of the processes."""
_MEMORY_INTERVAL = 5.0
"""Seconds between two checks of their memory."""
GROWTH = 256 << 20
"""Bytes that a model process may grow by."""
SERVER_GROWTH = 1 << 30
"""Bytes that the server itself may grow by. More than for a model, because a restart takes some seconds."""
_LOADING = 60.0
"""Seconds that a model may take to load."""
GRACE = 30.0
"""Seconds that old stubs may take to finish their requests and exit after a reload."""
EXIT_TIMEOUT = 30.0
"""Seconds that requests in flight may take to finish before the server is killed."""
_TURN = 30.0
"""Seconds that one check of everything takes at most, on an overloaded machine."""
_STARTING = 600.0
"""Seconds that a start of the server takes at most, with its retries."""


class Supervisor:
    """Keeps a started server reading plates.

    Args:
        server: a started server with explicit model control.
        status: takes the state of the server and what was done.
        interval: seconds between two probes.
        deadline: seconds until a probe counts as failed.
        growth: bytes that a model process may grow by before the model is reloaded; 0: no limit.
        server_growth: bytes that the server itself may grow by before it is restarted; 0: no limit. Triton leaks about
            500 bytes with each HTTP answer without a plate, see docs/explanation/performance.md.
        grace: seconds that old model processes may take to exit after a reload.
        drain: seconds to keep serving before it stops, so that others take over.
        exit_timeout: seconds that requests in flight may then take to finish.
        restart_pause: seconds before the second restart in a row; it doubles before each further one.
    """

    def __init__(
        self,
        server: EmbeddedTriton,
        status: Status,
        interval: float = INTERVAL,
        deadline: float = DEADLINE,
        growth: int = GROWTH,
        server_growth: int = SERVER_GROWTH,
        grace: float = GRACE,
        drain: float = 0.0,
        exit_timeout: float = EXIT_TIMEOUT,
        restart_pause: float = Limits.pause,
    ) -> None:
        self._server = server
        self._status = status
        self._deadline = deadline
        self._grace = grace
        self._drain_seconds = drain
        self._exit_timeout = exit_timeout
        self._ending = False
        self._policy = Policy(Limits(pause=restart_pause))
        self._stubs = self._first_check()
        self._growth = GrowthWatch(growth)
        self._server_growth = GrowthWatch(server_growth)
        self._memory_checked = 0.0
        self._shared_memory_is_full = False
        self._replaced: deque[tuple[float, frozenset[int]]] = deque()
        """Until when replaced stubs may live."""
        progress = Progress(lambda: read_metrics(server.metrics_url, deadline), deadline)
        self._prober = Prober(
            ProbeClient(server.http_url, deadline, server.control_key, server.models), progress, interval
        )
        # Kept: gevent, which tritonclient's HTTP stands on, leaves two files open in every thread that used it
        self._loaders = ThreadPoolExecutor(len(server.models))
        self._changed = 0.0

    def end(self) -> None:
        """Make `run` drain the server and return. It takes no lock, so a signal handler may call it."""
        self._ending = True

    def run(self) -> None:
        """Watch until `end`, then drain and stop the server. An exception from outside stops it at once.

        Raises:
            ServerError: the server could not be kept running; the message has the last reason.
            SystemExit: it was stopped with requests in flight.
        """
        self._status.report("started", http=self._server.http_url, grpc=self._server.grpc_url)
        self._prober.start()
        try:
            while not self._ending:
                self._turn()
                time.sleep(_CHECK_INTERVAL)
            self._drain()
        finally:
            self._server.stop()  # without a server, the probe in progress is answered or refused at once
            self._prober.end(self._deadline)
            self._status.enter("stopped")

    def _turn(self) -> None:
        self._status.turns_within(_TURN)
        self._check()
        self._end_replaced()
        self._server.trim_log()
        reap_orphans(self._server.guard_pid)

    def _drain(self) -> None:
        """Go on serving while others take over, then finish the requests in flight and take no new ones."""
        self._status.enter("draining")
        self._status.report("draining", seconds=self._drain_seconds)
        deadline = time.monotonic() + self._drain_seconds
        while self._runs and time.monotonic() < deadline:
            self._turn()
            time.sleep(_CHECK_INTERVAL)
        unfinished = self._finish_requests()
        self._status.report("drained", unfinished=unfinished)
        if unfinished:
            late = f"{', '.join(unfinished)}: requests in flight took over {self._exit_timeout:g} s and were cut off"
            raise SystemExit(f"plates: {late}")  # exit code 1: it served, but not to the end

    @property
    def _runs(self) -> bool:
        return self._server.guard_pid is not None and self._server.wait(0) is None

    def _finish_requests(self) -> tuple[str, ...]:
        """Finish the requests in flight -> the models that did not within the time."""
        if not self._runs:
            return ()
        self._status.turns_within(self._exit_timeout + _TURN)
        return finish_requests(
            self._server.http_url, self._server.control_key, self._living_processes, self._exit_timeout
        )

    def _living_processes(self) -> dict[int, str]:
        assert self._server.guard_pid is not None
        self._stubs.check(self._server.guard_pid)
        return self._stubs.living

    def _check(self) -> None:
        code = self._server.wait(0)
        if code is not None:
            self._restart(f"the server {ending(code)}")
            return
        assert self._server.guard_pid is not None
        died = self._stubs.check(self._server.guard_pid)
        if died and self._server.server_pid is None:
            return  # they ended with the server; the guard cleans up next
        if self._server.server_pid in self._stubs.still:
            self._restart("the server is stopped (SIGSTOP)")
            return
        if died:
            self._heal(sorted(died), "a process of it died")
            return
        with contextlib.suppress(queue.Empty):
            self._judge(self._prober.verdicts.get_nowait())
        now = time.monotonic()
        if self._status.state == "serving" and now >= self._memory_checked + _MEMORY_INTERVAL:
            self._memory_checked = now
            self._check_memory()
            self._check_shared_memory()

    def _check_shared_memory(self) -> None:
        fault = full_shared_memory()
        if fault and not self._shared_memory_is_full:
            self._status.report("warning", fault=fault)
        self._shared_memory_is_full = bool(fault)

    def _check_memory(self) -> None:
        server = self._server.server_pid
        for by in self._server_growth.check({server: PROGRAM} if server else {}).values():
            self.renew_server(by)  # after which no stub is known
        for model, by in self._growth.check(self._stubs.living).items():
            self.renew(model, by)

    def _judge(self, verdict: Verdict) -> None:
        if verdict.began < self._changed:
            return  # it concerns a server or model that no longer exists
        if not verdict.fault:
            self._policy.recognised(time.monotonic())
            if not verdict.refused:
                self._status.recognised()
            if self._status.enter("serving"):
                self._status.report("serving")
        elif not verdict.confirmed:
            self._status.enter("failing")
        elif verdict.suspects:
            for model in verdict.suspects:  # a model that does not answer may hang, and could not be unloaded
                self._stubs.kill(self._stubs.of(model))
            self._heal(verdict.suspects, verdict.fault)
        else:
            self._restart(verdict.fault)

    def _heal(self, models: Sequence[str], cause: str) -> None:
        decision = self._policy.models_failed(models, time.monotonic())
        if decision is not None:
            self._follow(decision, f"{', '.join(models)}: {cause}, again")
            return
        self._status.enter("healing")
        try:
            loads = [self._loaders.submit(self._load, model) for model in models]
            wait(loads)
            for model, load in zip(models, loads, strict=True):
                self._status.report("heal", model=model, cause=cause, seconds=round(load.result(), 2))
        except ServerError as error:
            self._restart(f"{', '.join(models)}: {cause}; reloading it: {_line(str(error))}")
            return
        self._ask_again()

    def renew(self, model: str, grown: int) -> None:
        """Reload a model whose processes grew by this many bytes; it keeps answering meanwhile."""
        cause = f"a process of it grew by {grown >> 20} MB"
        try:
            seconds = self._load(model)
        except ServerError as error:
            self._status.report("not renewed", model=model, cause=cause, fault=_line(str(error)))
            return
        self._status.report("renew", model=model, cause=cause, seconds=round(seconds, 2))
        self._ask_again()

    def renew_server(self, grown: int) -> None:
        """Restart a server that grew by this many bytes, after its requests in flight. It is down for some seconds."""
        self._status.enter("restarting")
        self._finish_requests()
        self._restart(f"the server grew by {grown >> 20} MB")

    def _load(self, model: str) -> float:
        self._status.turns_within(_LOADING + _TURN)
        old = self._stubs.of(model)
        seconds = heal(self._server.http_url, self._server.control_key, model, _LOADING)
        self._replaced.append((time.monotonic() + self._grace, old))
        return seconds

    def _end_replaced(self) -> None:
        """End stubs that Triton (24.10) keeps: all of a model's, if a request has met a dead one."""
        while self._replaced and self._replaced[0][0] < time.monotonic():
            self._stubs.kill(self._replaced.popleft()[1])

    def _restart(self, cause: str) -> None:
        self._follow(self._policy.server_failed(time.monotonic()), cause)

    def _follow(self, decision: Restart | GiveUp, cause: str) -> None:
        while True:
            if isinstance(decision, GiveUp):
                self._status.enter("stopped")
                self._status.report("gave up", cause=cause, restarts=decision.restarts)
                raise ServerError(f"gave up after {decision.restarts} restarts in a row: {cause}")
            self._status.enter("restarting")
            self._server.stop()
            self._status.turns_within(decision.pause + _STARTING)
            if not self._pause(decision.pause):
                return
            started = time.monotonic()
            try:
                self._server.restart()
            except ServerStartError as error:
                self._status.report("restart", cause=cause, pause=decision.pause, fault=_line(str(error)))
                cause = str(error)
                decision = self._policy.server_failed(time.monotonic())
                continue
            self._status.report(
                "restart", cause=cause, pause=decision.pause, seconds=round(time.monotonic() - started, 2)
            )
            self._stubs = self._first_check()
            self._replaced.clear()
            self._ask_again()
            return

    def _first_check(self) -> StubWatch:
        """A watch over the processes of a server that just started, so that no death goes unseen."""
        stubs = StubWatch()
        if self._server.guard_pid is not None:
            stubs.check(self._server.guard_pid)
        return stubs

    def _pause(self, seconds: float) -> bool:
        """Wait -> whether to continue."""
        until = time.monotonic() + seconds
        while not self._ending and time.monotonic() < until:
            time.sleep(min(_CHECK_INTERVAL, seconds))
        return not self._ending

    def _ask_again(self) -> None:
        self._changed = time.monotonic()
        self._prober.ask_now()


def reap_orphans(spared: int | None) -> None:
    """Wait for exited children, as a container's first process must; except ``spared``, which other code waits for."""
    if os.getpid() == 1:
        psutil.wait_procs([child for child in psutil.Process().children() if child.pid != spared], timeout=0)


def _line(text: str) -> str:
    return " ".join(text.split())
