"""How well the plates of a camera can be seen: what its last cars say of focus, light and exposure."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import median, quantiles

from plate_nets.recognition.reasons import Spoilt, height_of, optical_blur, spoilt_by
from plate_nets.types import Plate

_EVERY = 0.5
"""Seconds between two frames of which plates with a text are looked at, too."""
_CARS = 50
_ENOUGH = 10
"""Cars that say something of the camera."""
_MANY = 0.3
"""The share of cars with the same fault from which it is the camera's."""
_STROKE = 0.1
"""Heights of a plate that it may move while the frame is taken: a stroke of a character is a little wider."""
_SHUTTERS = (125, 250, 500, 1000, 2000, 4000)


@dataclass(frozen=True)
class CameraView:
    """How well the plates of a camera's last cars can be seen; lengths are in heights of a plate's line."""

    cars: int
    blur: float
    """Radius of the blur, as of a Gaussian, that is not from motion; the median."""
    smear: float
    """How far plates moved while a frame was taken; the median."""
    brightness: float
    """Of the bright parts of plates, 0..1; the median."""
    spoilt: Mapping[Spoilt, float]
    """The share of cars whose plates are hard to read, by the reason."""
    fault: Spoilt | None
    """The reason of many cars, if there is one."""
    shutter: int | None
    """If plates are smeared: one over the exposure in seconds with which they would not be."""


@dataclass(frozen=True)
class _Look:
    """The plate of a car at its largest, and the car's speed in heights a second."""

    height: float
    blur: float
    smear: float
    brightness: float
    spoilt: Spoilt | None
    speed: float


class ViewCheck:
    def __init__(self) -> None:
        self._looks: dict[str, _Look] = {}
        """By the ids of the last cars, oldest first."""
        self._due = float("-inf")

    def is_due(self, time: float) -> bool:
        """Whether to look at plates with a text in the frame of this time, Unix seconds."""
        due = time >= self._due or time < self._due - _EVERY
        if due:
            self._due = time + _EVERY
        return due

    def note(self, cars: Iterable[tuple[str, Plate, float]]) -> None:
        """Add the cars of a frame: their ids, their plates, and their speed in plate widths a second."""
        for id, plate, speed in cars:
            if plate.sight is None:
                continue
            sight, height = plate.sight, max(height_of(plate), 1.0)
            before = self._looks.get(id)
            if before and before.height > height:
                continue
            self._looks[id] = _Look(
                height,
                optical_blur(sight.focus) / height,
                sight.smear / height,
                sight.brightness,
                spoilt_by(plate),
                speed * plate.box.width / height,
            )
            while len(self._looks) > _CARS:
                del self._looks[next(iter(self._looks))]

    def view(self) -> CameraView | None:
        looks = list(self._looks.values())
        if len(looks) < _ENOUGH:
            return None
        counts = Counter(look.spoilt for look in looks if look.spoilt)
        spoilt = {reason: count / len(looks) for reason, count in counts.items()}
        fault = max(spoilt, key=lambda reason: spoilt[reason], default=None)
        fault = fault if fault and spoilt[fault] >= _MANY else None
        speeds = [look.speed for look in looks if look.spoilt == "smeared" and look.speed]
        return CameraView(
            len(looks),
            median(look.blur for look in looks),
            median(look.smear for look in looks),
            median(look.brightness for look in looks),
            spoilt,
            fault,
            _shutter(speeds) if fault == "smeared" else None,
        )


def _shutter(speeds: list[float]) -> int | None:
    """Speeds of smeared plates, heights a second -> the shutter with which nine of ten would not be."""
    if len(speeds) < 2:
        return None
    needed = quantiles(speeds, n=10)[-1] / _STROKE
    return next((each for each in _SHUTTERS if each >= needed), _SHUTTERS[-1])
