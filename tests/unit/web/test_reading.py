"""What the page and the API answer about a picture, with a reader that is told its plates."""

from contextlib import closing

import cv2
import numpy as np
import pytest

from plate_nets.countries import default_plates
from plate_nets.recognition.reader import FrameLimits
from plate_nets.types import Box, Frame, Plate, Reading
from plate_nets.web.reading import PictureReader
from plate_nets.web.uploads import Upload


class Told:
    """A reader that finds one plate with this text."""

    def __init__(self, text: str, scheme: str) -> None:
        self._reading = Reading(text, text, 0.9, (0.9,) * len(text), scheme=scheme)

    def read(self, image: Frame | bytes, *, evidence: bool = False, **_: object) -> list[Plate]:
        return [Plate(Box(1, 2, 61, 22), 0.8, self._reading)]


@pytest.mark.parametrize(
    ("text", "scheme", "latin"), [("京A88731", "china", "BJ-A88731"), ("A123BC77", "russia", None)]
)
def test_a_plate_has_its_latin_form(text: str, scheme: str, latin: str | None) -> None:
    picture = cv2.imencode(".png", np.zeros((32, 64, 3), np.uint8))[1].tobytes()
    with closing(PictureReader(Told(text, scheme), FrameLimits(), 1, 1, default_plates())) as reader:
        (plate,) = reader.describe(Upload("car.png", picture)).plates
    assert (plate.text, plate.latin) == (text, latin)
