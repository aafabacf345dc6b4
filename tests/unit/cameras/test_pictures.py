"""Pictures of events: of the best moment, also of a car that is found again."""

from pathlib import Path

import av
import cv2
import numpy as np
import pytest

from plate_nets.cameras.cars import CarEvents
from plate_nets.cameras.frames import VideoFrame
from plate_nets.cameras.pictures import EventPictures, PictureSettings
from plate_nets.cameras.plate_events import Camera
from plate_nets.events.event import PlateEvent
from plate_nets.types import Plate, Scene
from tests.unit.cameras.traffic import T0, plate

TEXT = "A123BC77"


@pytest.mark.parametrize(("height", "second"), [(20.0, False), (30.0, True)], ids=["smaller", "larger"])
def test_a_car_that_is_found_again_has_the_pictures_of_its_best_moment(
    tmp_path: Path, height: float, second: bool
) -> None:
    """It is seen for a second, away for three, and seen for another; the frames of the second time are brighter."""
    cars = CarEvents(Camera("gate"))
    pictures = EventPictures(PictureSettings(tmp_path))
    events: list[PlateEvent] = []

    def show(plates: list[Plate], time: float, brightness: int) -> None:
        array = np.full((360, 640, 3), brightness, np.uint8)
        frame = VideoFrame(av.VideoFrame.from_ndarray(array, format="bgr24"), time, time - T0, 0.0)
        found = cars.update(plates, time)
        pictures.note(frame, Scene(plates), cars.cars, {event.id for event in found})
        events.extend(pictures.keep(event) for event in found)

    for number in range(50):
        first, again = number < 10, number >= 40
        plates = [plate(TEXT, 300, 200, 24.0)] if first else [plate(TEXT, 400, 100, height)] if again else []
        show(plates, T0 + number / 10, 200 if again else 50)
    events += [pictures.keep(event) for event in cars.finish()]
    assert len({event.id for event in events}) == 1
    assert [event.stage for event in events].count("final") == 2
    final = events[-1]
    assert all((tmp_path / str(event.images.frame)).is_file() for event in events)
    stored = cv2.imread(str(tmp_path / str(final.images.frame)))
    assert float(stored.mean()) == pytest.approx(200 if second else 50, abs=5)
    assert (final.timestamp.timestamp() - T0 > 3) == second, "the picture is that of the event's time"


def test_the_names_of_a_forgotten_car_are_forgotten(tmp_path: Path) -> None:
    cars = CarEvents(Camera("gate"))
    pictures = EventPictures(PictureSettings(tmp_path))
    frame = VideoFrame(av.VideoFrame(64, 64, "bgr24"), T0, 0.0, 0.0)
    cars.update([plate(TEXT, 30, 30, peak=12.0)], T0)
    pictures.note(frame, Scene([]), cars.cars)
    (event,) = cars.finish()
    assert pictures.keep(event).images.frame
    pictures.note(frame, Scene([]), cars.cars)
    assert pictures.keep(event).images.frame is None
