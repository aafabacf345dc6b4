"""Combines the country or colour of a plate, or the type of a vehicle, over the frames of a car."""

from collections import defaultdict

from plate_nets.events.event import Judged


class Tally:
    """Names with a probability from each frame; the result has the highest mean."""

    def __init__(self) -> None:
        self._sums: defaultdict[str, float] = defaultdict(float)
        self._frames = 0

    def add(self, name: str, probability: float) -> None:
        self._sums[name] += probability
        self._frames += 1

    def join(self, other: "Tally") -> None:
        for name, total in other._sums.items():
            self._sums[name] += total
        self._frames += other._frames

    @property
    def verdict(self) -> Judged | None:
        if not self._frames:
            return None
        name = max(self._sums, key=self._sums.__getitem__)
        return Judged(name, self._sums[name] / self._frames)
