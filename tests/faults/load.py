"""Load on a served pipeline whose right answers are known, and a record of every request."""

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from plate_nets.client import PlateClient
from plate_nets.common.errors import ServerError
from plate_nets.recognition.health import known_picture
from plate_nets.recognition.images import load_picture
from plate_nets.recognition.reader import FrameLimits
from plate_nets.types import Frame
from tests.frames import encode

EMPTY: Frame = np.zeros((240, 320, 3), np.uint8)
PAUSE = 0.5
"""A pause that leaves processors for what starts or heals meanwhile, and for other tests."""


@dataclass(frozen=True)
class Answer:
    """One request: its time on the monotonic clock in seconds, and why it failed; empty if it did not."""

    began: float
    ended: float
    fault: str


class Load:
    """Clients that send without retries, with ``pause`` seconds between two requests of each; a context manager.

    ``large``: send a picture for which a server takes longer than a client, however many wait for a processor.
    A wrong answer is kept in `wrong`, because no test allows one. `answers` has every request, refused ones too.
    """

    def __init__(
        self, url: str, concurrency: int, timeout: float = 60.0, pause: float = 0.0, *, large: bool = False
    ) -> None:
        self.answers: list[Answer] = []
        self.wrong: list[str] = []
        self._url = url
        self._timeout = timeout
        self._pause = pause
        self._large = large
        self._ended = threading.Event()
        self._threads = [threading.Thread(target=self._ask, args=(n,), daemon=True) for n in range(concurrency)]

    def __enter__(self) -> "Load":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        for thread in self._threads:
            thread.join(self._timeout + 10)

    def failed(self) -> list[Answer]:
        """The requests without an answer of the pipeline."""
        return [each for each in list(self.answers) if each.fault]

    def since(self, moment: float) -> list[Answer]:
        """The requests that began at this moment or later."""
        return [each for each in list(self.answers) if each.began >= moment]

    def wait_for_success(self, moment: float, count: int, seconds: float) -> None:
        """Wait until ``count`` requests in a row succeeded that began at ``moment`` or later."""
        deadline = time.monotonic() + seconds
        while True:
            recent = sorted(self.since(moment), key=lambda each: each.ended)[-count:]
            if len(recent) == count and not any(each.fault for each in recent):
                return
            assert time.monotonic() < deadline, f"no {count} answers in a row within {seconds:g} s: {recent[-1:]}"
            time.sleep(0.1)

    def _ask(self, number: int) -> None:
        known = known_picture()
        questions: Sequence[tuple[Frame | bytes, list[str]]] = ((known.image, sorted(known.texts)), (EMPTY, []))
        if self._large:
            enlarged = load_picture(known.image, FrameLimits()).repeat(6, 0).repeat(6, 1)
            questions = ((encode(enlarged, ".jpg"), sorted(known.texts)),)
        with PlateClient(self._url, timeout=self._timeout, retries=0) as client:
            turn = number
            while not self._ended.is_set():
                image, expected = questions[turn % len(questions)]
                turn += 1
                began, fault = time.monotonic(), ""
                try:
                    texts = sorted(plate.reading.text for plate in client.read(image))
                    if texts != expected:
                        self.wrong.append(f"expected {expected}, got {texts}")
                except ServerError as error:
                    fault = f"{type(error).__name__}: {error}"
                    time.sleep(0.2)  # if nothing listens, a failure takes no time
                self.answers.append(Answer(began, time.monotonic(), fault))
                self._ended.wait(self._pause)
