"""Draws the cars of a frame with their texts, and hides plates and vehicles if requested."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from plate_nets.cameras.analysis import AnalysedFrame
from plate_nets.cameras.cars import Car
from plate_nets.cameras.pictures import blur, is_same
from plate_nets.recognition.annotation import annotate
from plate_nets.types import Frame, Plate, Reading


class Overlay:
    """Draws on the frames of one camera.

    Args:
        blur_unlisted: make plates unreadable and omit their texts, except those of cars on a watch list.
        blur_vehicles: make whole vehicles unrecognizable, except those of such cars.
        shown: the text of a car -> what to write on it.
    """

    def __init__(
        self, *, blur_unlisted: bool = False, blur_vehicles: bool = False, shown: Callable[[str], str] = str
    ) -> None:
        self._blur, self._blur_vehicles = blur_unlisted, blur_vehicles
        self._shown = shown
        self._listed: frozenset[str] = frozenset()

    def note(self, analysed: AnalysedFrame) -> None:
        """Learn from the events of a frame which cars are on a watch list. Call it with every frame, in order."""
        listed = set(self._listed)
        for event in analysed.events:
            (listed.add if event.watch else listed.discard)(event.id)
        self._listed = frozenset(listed & {car.id for car in analysed.cars})

    def draw(self, analysed: AnalysedFrame) -> Frame:
        """A frame that `note` has had -> a copy (H, W, 3), BGR, with the cars in it drawn."""
        listed_ids = self._listed
        frame = analysed.frame.bgr()
        cars = [replace(car, text=self._shown(car.text)) for car in analysed.cars if car.seen]
        listed = [car.box for car in cars if car.id in listed_ids]
        if self._blur_vehicles:
            own = [plate.vehicle for plate in analysed.plates or () if any(is_same(plate.box, box) for box in listed)]
            frame = blur(frame, [vehicle.box for vehicle in analysed.vehicles if vehicle not in own])
        if self._blur:
            found = [plate.box for plate in analysed.plates or ()] + [car.box for car in cars]
            frame = blur(frame, [box for box in found if not any(is_same(box, own) for own in listed)])
            cars = [car for car in cars if car.id in listed_ids]
        return annotate(frame, [_as_plate(car, analysed.plates or ()) for car in cars])


def _as_plate(car: Car, plates: Sequence[Plate]) -> Plate:
    """A car as a plate to draw: its text, at the corners of its plate if found in the frame."""
    found = next((plate for plate in plates if is_same(plate.box, car.box)), None)
    reading = Reading(car.text, "", car.score)
    if found is None:
        return Plate(car.box, car.score, reading)
    return Plate(car.box, car.score, reading, corners=found.corners, vehicle=found.vehicle)
