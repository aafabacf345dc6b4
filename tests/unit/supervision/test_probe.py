"""The thread that asks the server, without a server."""

import threading

from plate_nets.errors import ServerUnavailable
from plate_nets.supervision.probe import Asker, Prober
from plate_nets.supervision.progress import Progress

NEVER = 3600.0


class Well(Asker):
    """Recognises whatever it is asked, once it may."""

    def __init__(self) -> None:
        self.asked = threading.Event()
        self.may_answer = threading.Event()

    def check(self) -> None:
        """Answers when it may."""
        self.asked.set()
        self.may_answer.wait(60)


class Sick(Well):
    """Answers nothing but a refusal."""

    def check(self) -> None:
        """Refuses."""
        self.asked.set()
        raise ServerUnavailable("refused")

    def suspects(self) -> tuple[str, ...]:
        """As where nothing answers."""
        return ()


def prober(asker: Asker) -> Prober:
    return Prober(asker, Progress(lambda: "", NEVER), NEVER)


def test_it_ends_at_once_while_it_waits_for_the_next_probe() -> None:
    asker = Well()
    asker.may_answer.set()
    asking = prober(asker)
    asking.start()
    assert asking.verdicts.get(timeout=60).fault == ""
    asking.end(60)
    assert not asking.is_alive()


def test_it_ends_with_the_probe_that_is_under_way() -> None:
    asker = Well()
    asking = prober(asker)
    asking.start()
    assert asker.asked.wait(60)
    asking.end(0.01)
    assert asking.is_alive()
    asker.may_answer.set()
    asking.join(60)
    assert not asking.is_alive()


def test_it_ends_where_the_server_is_gone() -> None:
    asker = Sick()
    asking = prober(asker)
    asking.start()
    assert asker.asked.wait(60)
    asking.end(60)
    assert not asking.is_alive()
