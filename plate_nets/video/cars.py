"""Plates of a camera's frames -> one event a car: provisional, update, final (docs/events.md)."""

from dataclasses import dataclass
from datetime import UTC, tzinfo

from plate_nets.events import Clock
from plate_nets.types import Box

Point = tuple[float, float]
"""x, y in pixels of the frame as sent."""


@dataclass(frozen=True)
class Camera:
    """What the events of a camera say of it."""

    id: str
    source_url: str | None = None
    """Without credentials."""
    clock: Clock = "arrival"
    zone: tzinfo = UTC
    model: str | None = None


@dataclass(frozen=True)
class Line:
    """A line across the picture; plates whose centre crosses it are noted in the event."""

    name: str
    start: Point
    end: Point


@dataclass(frozen=True)
class Car:
    """A car as it stands after the last frame."""

    id: str
    box: Box
    """In the last frame; predicted where the plate was missed."""
    text: str
    """Empty until the gate holds."""
    score: float
    """Probability of ``text``, 0..1."""
    best_time: float
    """Of the best frame, Unix seconds."""
    seen: bool
    """In the last frame."""
