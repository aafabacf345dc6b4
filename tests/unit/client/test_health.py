"""The health check: a known picture must be read exactly."""

import cv2
import numpy as np
import pytest

from plate_nets.common.errors import ServerError
from plate_nets.recognition.health import check_health, known_picture
from plate_nets.types import Box, Frame, Plate, Reading


class Reader:
    def __init__(self, *texts: str) -> None:
        self.texts = texts
        self.asked: list[Frame | bytes] = []

    def read(self, image: Frame | bytes, *, evidence: bool = False, sure: float | None = None) -> list[Plate]:
        assert sure == 0.8, "whatever it is set to"
        assert isinstance(image, bytes) and image.startswith(known_picture().image)
        assert image not in self.asked, "a cache of answers would know it"
        self.asked.append(image)
        return [Plate(Box(0, 0, 1, 1), 0.9, Reading(text, text or "B1", 0.9)) for text in self.texts]


def test_the_known_picture_is_a_small_picture_with_a_plate() -> None:
    known = known_picture()
    frame = cv2.imdecode(np.frombuffer(known.image, np.uint8), cv2.IMREAD_COLOR)
    assert frame is not None
    assert len(known.image) < 200_000
    assert known.texts and all(known.texts)


def test_the_right_texts_pass_the_health_check() -> None:
    reader = Reader(*known_picture().texts)
    check_health(reader)
    check_health(reader)


@pytest.mark.parametrize(
    ("texts", "got"),
    [
        ((), "no plate"),
        (("",), "unread, perhaps B1"),
        (("A000AA00",), "A000AA00"),
        ((*known_picture().texts, "A000AA00"), ""),
    ],
)
def test_other_texts_fail_the_health_check(texts: tuple[str, ...], got: str) -> None:
    with pytest.raises(ServerError, match=f"the known picture is not recognised: expected .*, got {got}"):
        check_health(Reader(*texts))
