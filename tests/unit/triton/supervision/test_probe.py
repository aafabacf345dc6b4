"""The probing thread without a server, and the requests that a stub of one receives."""

import itertools
import threading

import pytest

from plate_nets.common.control_key import probe_token
from plate_nets.common.errors import DeadlineExceeded, ServerOverloaded, ServerUnavailable
from plate_nets.contract import PLATE_RECOGNITION, PROBE
from plate_nets.triton.supervision.probe import ProbeClient, Prober
from plate_nets.triton.supervision.progress import Progress
from tests.fakes.stub_server import StubServer, stub_server

NEVER = 3600.0

KEY = "k" * 16


class Well(ProbeClient):
    """Recognises every picture, once it may."""

    def __init__(self) -> None:
        self.asked = threading.Event()
        self.may_answer = threading.Event()

    def listens(self) -> bool:
        """It is alive."""
        return True

    def check(self) -> None:
        """Answer when allowed to."""
        self.asked.set()
        self.may_answer.wait(60)


class Sick(Well):
    """Only ever refuses."""

    def check(self) -> None:
        """Refuse."""
        self.asked.set()
        raise ServerUnavailable("refused")

    def suspects(self) -> tuple[str, ...]:
        """As if nothing answered."""
        return ()


class Hanging(Sick):
    """Does not even respond to a connection."""

    def listens(self) -> bool:
        """Nothing answers."""
        return False

    def suspects(self) -> tuple[str, ...]:
        """Never called: each model would take the whole deadline."""
        raise AssertionError


def prober(client: ProbeClient) -> Prober:
    return Prober(client, Progress(lambda: "", NEVER), NEVER)


def test_the_prober_ends_at_once_between_two_probes() -> None:
    client = Well()
    client.may_answer.set()
    asking = prober(client)
    asking.start()
    assert asking.verdicts.get(timeout=60).fault == ""
    asking.end(60)
    assert not asking.is_alive()


def test_the_prober_ends_with_the_probe_in_progress() -> None:
    client = Well()
    asking = prober(client)
    asking.start()
    assert client.asked.wait(60)
    asking.end(0.01)
    assert asking.is_alive()
    client.may_answer.set()
    asking.join(60)
    assert not asking.is_alive()


def test_the_prober_ends_if_the_server_is_gone() -> None:
    client = Sick()
    asking = prober(client)
    asking.start()
    assert client.asked.wait(60)
    asking.end(60)
    assert not asking.is_alive()


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
    with stub_server() as stub:
        client = ProbeClient(stub.http_url, deadline=60, control_key=KEY)
    with pytest.raises(ServerUnavailable):
        client.check()
    assert client.suspects() == ()


def test_a_hanging_server_is_detected_by_its_silence() -> None:
    client = Hanging()
    asking = prober(client)
    asking.start()
    first, second = (asking.verdicts.get(timeout=60) for _ in range(2))
    for verdict, confirmed in ((first, False), (second, True)):
        assert (verdict.fault, verdict.confirmed, verdict.suspects) == ("the server does not answer", confirmed, ())
    asking.end(60)
    assert not client.asked.is_set(), "no model was asked, which would take the whole deadline"


class Overloaded(Well):
    """Too busy to answer a probe."""

    def check(self) -> None:
        """Refuse, as a full queue does."""
        raise ServerOverloaded("the queue is full")


def test_a_server_that_refuses_the_probe_but_answers_others_is_healthy() -> None:
    frames = itertools.count(1)
    metrics = Progress(lambda: f"# TYPE plates_frames_total counter\nplates_frames_total {next(frames)}\n", NEVER)
    asking = Prober(Overloaded(), metrics, 0.01)
    asking.start()
    verdict = asking.verdicts.get(timeout=60)
    assert (verdict.fault, verdict.refused) == ("", True)
    asking.end(60)


def test_a_server_that_refuses_everything_gets_no_verdict() -> None:
    looks = threading.Semaphore(0)

    def metrics() -> str:
        looks.release()
        return "# TYPE plates_frames_total counter\nplates_frames_total 7\n"

    asking = Prober(Overloaded(), Progress(metrics, NEVER), 0.01)
    asking.start()
    for _ in range(3):
        assert looks.acquire(timeout=60)
    asking.end(60)
    assert asking.verdicts.empty()
