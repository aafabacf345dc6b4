"""Reading a camera when somebody asks: about a second of its frames, and longer until a text is certain."""

import threading
from collections.abc import Collection
from concurrent.futures import Future

from plate_nets.cameras.cars import Car
from plate_nets.events.event import PlateEvent

LEAST_SECONDS = 1.0
LONGEST_SECONDS = 30.0
ASKED_SECONDS = 5.0
"""For how long frames are read if no text becomes certain before."""

Answer = Future[list[PlateEvent]]


class AskedReading:
    """The reading of one camera that was asked for. Any thread may ask; the camera's own thread calls the rest.

    Whoever asks while it is read gets the same answer: every car that was seen since the first one asked.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._answer: Answer | None = None
        """What those who asked wait for; None if nobody does."""
        self._seconds = 0.0
        self._begun: float | None = None
        """The time of the first frame that was read; Unix seconds."""
        self._seen: dict[str, None] = {}
        """The ids of the cars since then, in their order."""
        self._told: dict[str, PlateEvent] = {}
        """The last record of each car that is known now, by its id."""

    def ask(self, seconds: float = ASKED_SECONDS) -> Answer:
        """Read the next frames, up to so many seconds of them -> the last records of the cars that they show."""
        with self._lock:
            self._answer = self._answer or Answer()
            self._seconds = max(self._seconds, seconds)
            return self._answer

    @property
    def is_wanted(self) -> bool:
        return self._answer is not None

    def note(self, event: PlateEvent) -> None:
        self._told.pop(event.supersedes or "", None)
        self._told[event.id] = event
        if self._begun is not None:
            self._seen[event.id] = None  # known under another id before

    def is_over(self, time: float, cars: Collection[Car]) -> bool:
        """The time of a frame that was read, and the cars as known after it -> whether the reading is complete."""
        if self._begun is None or time < self._begun:
            self._begun = time
        shown = [car for car in cars if car.seen]
        self._seen.update((car.id, None) for car in shown)
        certain = bool(shown) and all(car.text for car in shown)
        return time - self._begun >= (min(LEAST_SECONDS, self._seconds) if certain else self._seconds)

    def answer(self) -> None:
        with self._lock:
            answer, self._answer, self._seconds, self._begun = self._answer, None, 0.0, None
        found = [self._told[id] for id in self._seen if id in self._told]
        self._seen = {}
        assert answer is not None, "somebody waits for it"
        answer.set_result(found)

    def forget(self, known: Collection[Car]) -> None:
        ids = {car.id for car in known}
        self._told = {id: event for id, event in self._told.items() if id in ids}
