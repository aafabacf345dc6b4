"""What the frames of a car say of its country or of its plate's colour, taken together."""

from collections import defaultdict

from plate_nets.events import Judged


class Tally:
    """Names with their probabilities, a frame each: what they say is what has the highest mean."""

    def __init__(self) -> None:
        self._sums: defaultdict[str, float] = defaultdict(float)
        self._frames = 0

    def add(self, name: str, probability: float) -> None:
        """What one more frame says."""
        self._sums[name] += probability
        self._frames += 1

    def join(self, other: "Tally") -> None:
        """What the frames of another say."""
        for name, total in other._sums.items():
            self._sums[name] += total
        self._frames += other._frames

    @property
    def verdict(self) -> Judged | None:
        """The name and the mean of its probability over all frames; None where no frame says any."""
        if not self._frames:
            return None
        name = max(self._sums, key=lambda each: self._sums[each])
        return Judged(name, self._sums[name] / self._frames)
