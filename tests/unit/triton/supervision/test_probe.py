"""The probing thread without a server, and the requests that a stub of one receives."""

import itertools
import threading
from collections.abc import Callable

import pytest

from plate_nets.common.control_key import probe_token
from plate_nets.common.errors import DeadlineExceeded, PlateError, ServerOverloaded, ServerUnavailable
from plate_nets.contract import PLATE_RECOGNITION, PROBE
from plate_nets.triton.supervision.probe import ProbeClient, Prober
from plate_nets.triton.supervision.progress import Progress
from tests.fakes.stub_server import StubServer

NEVER = 3600.0
KEY = "k" * 16


class Fake(ProbeClient):
    """Answers every probe once it may, or fails with this error at once."""

    def __init__(self, error: PlateError | None = None, listening: bool = True) -> None:
        self.error = error
        self.listening = listening
        self.asked = threading.Event()
        self.may_answer = threading.Event()

    def listens(self) -> bool:
        return self.listening

    def check(self) -> None:
        self.asked.set()
        if self.error:
            raise self.error
        self.may_answer.wait(60)

    def suspects(self) -> tuple[str, ...]:
        assert self.listening, "each model would take the whole deadline"
        return ()


def started(client: ProbeClient, metrics: Callable[[], str] = str, interval: float = NEVER) -> Prober:
    prober = Prober(client, Progress(metrics, NEVER), interval)
    prober.start()
    return prober


@pytest.mark.parametrize("error", [None, ServerUnavailable("refused")], ids=["well", "the server is gone"])
def test_the_prober_ends_at_once_between_two_probes(error: PlateError | None) -> None:
    client = Fake(error)
    client.may_answer.set()
    prober = started(client)
    assert prober.verdicts.get(timeout=60).fault == str(error or "")
    prober.end(60)
    assert not prober.is_alive()


def test_the_prober_ends_with_the_probe_in_progress() -> None:
    client = Fake()
    prober = started(client)
    assert client.asked.wait(60)
    prober.end(0.01)
    assert prober.is_alive()
    client.may_answer.set()
    prober.join(60)
    assert not prober.is_alive()


def test_each_request_of_a_probe_has_its_own_connection(stub: StubServer) -> None:
    """A kept connection would outlive its server."""
    client = ProbeClient(stub.http_url, deadline=60, control_key=KEY)
    assert client.suspects() == (PLATE_RECOGNITION.name,)
    assert [each.fields["name"] for each in stub.asked] == [
        each for model in ("yolo", "stn", "lprnet", "country") for each in (model, model)
    ]
    assert [each.fields.get("parameters") for each in stub.asked] == [{PROBE: probe_token(KEY)}, None] * 4
    assert stub.connections == len(stub.asked)


def test_a_server_that_is_overloaded_is_not_to_blame(stub: StubServer) -> None:
    stub.fault = (503, "UNAVAILABLE", "Exceeds maximum queue size")
    client = ProbeClient(stub.http_url, deadline=60, control_key=KEY)
    with pytest.raises(ServerOverloaded):
        client.check()
    assert client.suspects() == (PLATE_RECOGNITION.name,)


def test_a_server_that_does_not_answer_in_time(stub: StubServer) -> None:
    stub.pause = 0.5
    client = ProbeClient(stub.http_url, deadline=0.05, control_key=KEY)
    with pytest.raises(DeadlineExceeded, match=r"no answer within 0\.05 s"):
        client.check()
    assert client.suspects() == ()


def test_a_server_that_is_gone() -> None:
    client = ProbeClient("127.0.0.1:9", deadline=60, control_key=KEY)
    with pytest.raises(ServerUnavailable):
        client.check()
    assert client.suspects() == ()


def test_a_hanging_server_is_detected_by_its_silence() -> None:
    client = Fake(ServerUnavailable("refused"), listening=False)
    prober = started(client)
    for confirmed in (False, True):
        verdict = prober.verdicts.get(timeout=60)
        assert (verdict.fault, verdict.confirmed, verdict.suspects) == ("the server does not answer", confirmed, ())
    prober.end(60)
    assert not client.asked.is_set(), "no model was asked, which would take the whole deadline"


FRAMES = "# TYPE plates_frames_total counter\nplates_frames_total {}\n"


def test_a_server_that_refuses_the_probe_but_answers_others_is_healthy() -> None:
    frames = itertools.count(1)
    prober = started(Fake(ServerOverloaded("full")), lambda: FRAMES.format(next(frames)), 0.01)
    verdict = prober.verdicts.get(timeout=60)
    assert (verdict.fault, verdict.refused) == ("", True)
    prober.end(60)


def test_a_server_that_refuses_everything_gets_no_verdict() -> None:
    looks = threading.Semaphore(0)

    def metrics() -> str:
        looks.release()
        return FRAMES.format(7)

    prober = started(Fake(ServerOverloaded("full")), metrics, 0.01)
    for _ in range(3):
        assert looks.acquire(timeout=60)
    prober.end(60)
    assert prober.verdicts.empty()
