"""Pixels that are not square: frames are read with square ones, and places are in the frame's own."""

from fractions import Fraction
from pathlib import Path

import cv2
import numpy as np
import pytest

from plate_nets.cameras.cameras_file import load_cameras
from plate_nets.cameras.pictures import PictureSettings
from plate_nets.cameras.settings import CameraSettings, WatcherSettings
from plate_nets.cameras.watcher import Watcher
from plate_nets.common.errors import InputError
from plate_nets.events.event import PlateEvent
from plate_nets.recognition.local import LocalReader
from plate_nets.recognition.reader import Reader
from plate_nets.recognition.square_pixels import Stretch, parse_aspect
from plate_nets.types import Frame
from tests.clips import TEXT, write_clip
from tests.frames import Placed, compose
from tests.unit.cameras.traffic import Blind

SIZE = (360, 640)
"""Height and width of the true picture."""


def true_picture(number: int = 20) -> Frame:
    return compose(*SIZE, [Placed(TEXT, 20 + 10 * number, 180, 200)], seed=number)


def squeezed(frame: Frame, pixel: Fraction) -> Frame:
    """A frame with square pixels -> the same with pixels of this width in heights, which must be even."""
    h, w = frame.shape[:2]
    size = (round(w / pixel), h) if pixel > 1 else (w, round(h * pixel))
    return np.asarray(cv2.resize(frame, (size[0] & ~1, size[1] & ~1), interpolation=cv2.INTER_AREA), np.uint8)


def write(path: Path, pixel: Fraction, count: int = 12, *, says: bool = True, codec: str = "libx264") -> Path:
    frames = [squeezed(true_picture(3 * number), pixel) for number in range(count)]
    return write_clip(path, frames, 5, pixel=pixel if says else None, codec=codec)


EVERY_FRAME = WatcherSettings(thorough=True)


def joined(path: Path, *parts: Path) -> Path:
    path.write_bytes(b"".join(part.read_bytes() for part in parts))
    return path


def watched(
    reader: Reader, clip: Path, settings: WatcherSettings = WatcherSettings(), aspect: str | None = None
) -> tuple[list[PlateEvent], list[str]]:
    """The final events of a clip, and the notices."""
    notices: list[str] = []
    camera = CameraSettings(str(clip), aspect=aspect)
    with Watcher(reader, camera, settings, notice=lambda _, line: notices.append(line)) as watcher:
        events = [event for event in watcher if event.stage == "final"]
    return events, [line for line in notices if "time stamps" not in line]  # of parts that were joined


@pytest.mark.parametrize(
    ("pixel", "says"),
    [*((Fraction(*sides), True) for sides in ((1, 2), (2, 1), (4, 3), (16, 11))), (Fraction(2), False)],
)
def test_a_car_is_read_whatever_the_shape_of_the_pixels(
    reader: LocalReader, tmp_path: Path, pixel: Fraction, says: bool
) -> None:
    clip = write(tmp_path / "clip.ts", pixel, says=says)
    settings = WatcherSettings(pictures=PictureSettings(tmp_path / "out"))
    (event,), notices = watched(reader, clip, settings, None if says else "16:9")
    assert (event.plate, notices) == (TEXT, [])
    assert event.images and event.images.frame and event.corners
    picture = cv2.imread(str(tmp_path / "out" / event.images.frame))
    own = squeezed(true_picture(), pixel)
    assert picture is not None and picture.shape == own.shape
    # The place of the plate in the best frame, which is one of those that were drawn
    x, y = own.shape[1] / SIZE[1], own.shape[0] / SIZE[0]
    box = Placed(TEXT, 0, 180, 200).box
    assert event.box.width == pytest.approx(box.width * x, rel=0.15)
    assert event.box.ymin == pytest.approx(box.ymin * y, abs=8 * y)
    assert event.box.height == pytest.approx(box.height * y, rel=0.25)
    assert event.corners[0][1] == pytest.approx(event.box.ymin, abs=5)


def test_the_shape_of_the_pixels_may_change_within_a_stream(reader: LocalReader, tmp_path: Path) -> None:
    parts = [write(tmp_path / f"{place}.ts", pixel) for place, pixel in enumerate((Fraction(1), Fraction(1, 2)))]
    (event,), notices = watched(reader, joined(tmp_path / "both.ts", *parts))
    assert (event.plate, notices) == (TEXT, [])
    assert event.frames.seen > 12  # of both parts


def grey(count: int) -> list[Frame]:
    return [np.full((96, 128, 3), 90, np.uint8)] * count


def test_a_shape_that_lasts_counts_and_others_do_not(tmp_path: Path) -> None:
    shapes = [Fraction(4, 3)] + [Fraction(3 + number, 5) for number in range(12)]
    parts = [write_clip(tmp_path / f"{n}.ts", grey(2), pixel=pixel) for n, pixel in enumerate(shapes)]
    steady = write_clip(tmp_path / "steady.ts", grey(20), pixel=Fraction(2))
    reader = Blind()
    _, notices = watched(reader, joined(tmp_path / "all.ts", *parts, steady), EVERY_FRAME)
    assert set(reader.sizes) == {(96, 171), (96, 256)} and len(reader.sizes) == 46
    assert reader.sizes == sorted(reader.sizes)
    doubt, change = notices
    assert doubt.startswith("the stream says another shape of its pixels all the time; 4:3 (width:height) counts.")
    assert change == "its pictures are now 256x96 (width x height)"


@pytest.mark.parametrize(
    ("pixel", "aspect", "size", "cause"),
    [
        (None, None, (96, 128), ""),
        (Fraction(8), None, (96, 128), "the stream says its pixels 8:1 (width:height), which cannot be"),
        (Fraction(8), "16:9", (96, 171), ""),
        (Fraction(2), "4:3", (96, 128), ""),
        (Fraction(2), "1:4", (96, 128), "`aspect` makes its pixels 3:16 (width:height), which cannot be"),
    ],
)
def test_a_shape_that_cannot_be_counts_as_square(
    tmp_path: Path, pixel: Fraction | None, aspect: str | None, size: tuple[int, int], cause: str
) -> None:
    reader = Blind()
    _, notices = watched(reader, write_clip(tmp_path / "clip.ts", grey(12), pixel=pixel), EVERY_FRAME, aspect)
    assert reader.sizes == [size] * 12
    assert len(notices) == bool(cause) and all(line.startswith(cause) for line in notices)


@pytest.mark.parametrize(
    ("written", "camera"),
    [
        ("aspect: 16:9", CameraSettings("a.mp4", aspect="16:9")),
        ("aspect: '4:3'", CameraSettings("a.mp4", aspect="4:3")),
        ("deinterlace: on", CameraSettings("a.mp4", deinterlace="on")),
        ("deinterlace: off", CameraSettings("a.mp4", deinterlace="off")),
        ("deinterlace: auto", CameraSettings("a.mp4")),
    ],
)
def test_values_need_no_quotes(tmp_path: Path, written: str, camera: CameraSettings) -> None:
    (tmp_path / "cameras.yaml").write_text(f"cameras: [{{source: a.mp4, {written}}}]", encoding="utf-8")
    assert load_cameras(tmp_path / "cameras.yaml").cameras == (camera,)


@pytest.mark.parametrize("text", ["0:0", "16/9", "portrait", "16:0", "0:9", "100:1", "1:100", "-16:9", "", "16:9\n"])
def test_an_aspect_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(InputError, match=r"^aspect: expected width:height of the whole picture, such as 16:9, from"):
        parse_aspect(text)


def test_a_frame_is_never_stretched_beyond_the_limit() -> None:
    assert Stretch.of_pixels((5000, 6000), Fraction(2)).square == (2500, 6000)
    assert Stretch.of_pixels((5000, 6000), Fraction(1, 2)).square == (5000, 3000)
    assert Stretch.of_pixels((576, 704), Fraction(12, 11)).square == (576, 768)
