"""Plates of any country, all read at once: whose text wins, and that none is invented."""

from pathlib import Path

import cv2
import matplotlib
import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont

from plate_nets.countries import load_scheme, main_scheme
from plate_nets.countries.designs import GROUNDS, UNKNOWN
from plate_nets.recognition.local import LocalReader
from plate_nets.types import Frame
from tests.frames import Placed, compose
from training.synthesis import plates

FONT = Path(matplotlib.get_data_path()) / "fonts" / "ttf" / "DejaVuSans-Bold.ttf"
RUSSIAN, TURKISH = "A123BC77", "34ABC123"


def car(*drawn: Frame) -> Frame:
    """A car with a Russian plate, and with others below it."""
    frame = compose(600, 900, [Placed(RUSSIAN, 120, 400)])
    for place, plate in enumerate(drawn):
        frame[400:434, 330 + 200 * place : 490 + 200 * place] = cv2.resize(
            plate, (160, 34), interpolation=cv2.INTER_AREA
        )
    return frame


def written(text: str) -> Frame:
    """A white plate with a text in any script."""
    picture = Image.new("RGB", (520, 112), (235, 235, 235))
    draw = ImageDraw.Draw(picture)
    draw.rectangle((3, 3, 516, 108), outline=(20, 20, 20), width=4)
    draw.text((260, 56), text, (20, 20, 20), ImageFont.truetype(str(FONT), 78), anchor="mm")
    return np.asarray(picture)[:, :, ::-1].copy()


def turkish() -> Frame:
    return plates.draw(load_scheme("turkey"), "three letters", TURKISH, np.random.default_rng(3))


def test_two_plates_of_different_countries_on_a_car_are_read_by_their_schemes(reader: LocalReader) -> None:
    found = {plate.reading.text: plate.reading.scheme for plate in reader.read(car(turkish()))}
    assert found == {RUSSIAN: "russia", TURKISH: "turkey"}


@pytest.mark.parametrize("code", [0, 1, -1], ids=["upside down", "mirrored", "turned about"])
def test_a_mirrored_plate_of_any_country_gets_no_text(reader: LocalReader, code: int) -> None:
    found = reader.read(np.asarray(cv2.flip(car(turkish()), code), np.uint8))
    assert {plate.reading.text for plate in found} <= {""}
    assert {plate.country for plate in found} <= {UNKNOWN}, "what has no text is of no country"


@pytest.mark.parametrize("cut", [330, 345, 366, 378, 384, 395, 420, 438, 444, 456, 470])
def test_a_plate_cut_by_the_border_is_unread_or_right(reader: LocalReader, cut: int) -> None:
    whole = car(turkish())
    for part in (whole[:, cut:], whole[:, :cut]):
        assert {plate.reading.text for plate in reader.read(np.ascontiguousarray(part))} <= {RUSSIAN, TURKISH, ""}


@pytest.mark.parametrize("text", ["ЖФ ДЮЯ", "ЩЛ 47 ЫЭ", "ب د ه", "١٢٣ ق ٤٥"])
def test_no_latin_text_is_invented_for_other_letters(reader: LocalReader, text: str) -> None:
    found = {plate.reading.text: plate for plate in reader.read(car(written(text)))}
    assert RUSSIAN in found and set(found) <= {RUSSIAN, ""}, "it may pass for no plate at all"
    told = {(plate.country, plate.country_confidence) for text, plate in found.items() if not text}
    assert told <= {(UNKNOWN, 0.0)}


def test_a_reader_of_one_scheme_gives_country_and_colour_if_requested() -> None:
    reader = LocalReader(scheme=main_scheme(), threads=1)
    (plain,), (asked,) = reader.read(car()), reader.read(car(), appearance=True)
    assert plain.country == plain.ground == "" and not {"country", "ground"} & plain.to_dict().keys()
    assert asked.ground in GROUNDS and 0 < asked.ground_confidence <= 1 and asked.country in ("ru", UNKNOWN)
    assert plain.to_dict().items() <= asked.to_dict().items(), "the rest is the same"


@pytest.mark.parametrize("text", ["SPRINTER", "MERCEDES", "AMBULANCE", "SALE", "TAXI", "5551234", "0170 123"])
def test_a_word_or_a_number_on_a_sign_is_no_plate(reader: LocalReader, text: str) -> None:
    assert {plate.reading.text for plate in reader.read(car(written(text)))} <= {RUSSIAN, ""}


@pytest.mark.parametrize("text", ["京A88731", "沪EY0436", "苏MCC176", "浙F03G89", "皖CH9006", "晋H76519"])
@pytest.mark.parametrize("grey", [30, 120, 210])
def test_a_chinese_plate_whose_province_is_hidden_gets_no_text_in_latin_letters(
    reader: LocalReader, text: str, grey: int
) -> None:
    plate = plates.draw(load_scheme("china"), "private", text, np.random.default_rng(3))
    plate[:, : plate.shape[1] // 7] = grey
    assert {plate.reading.text for plate in reader.read(car(plate))} <= {RUSSIAN, ""}
