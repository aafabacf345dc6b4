"""Interlaced sources: the pictures and the cars are those of the whole pictures that they were woven from."""

from collections.abc import Iterable, Iterator
from fractions import Fraction
from itertools import chain
from pathlib import Path

import cv2
import numpy as np
import pytest

from plate_nets.cameras.address import parse_source
from plate_nets.cameras.decoding import DecodingSettings, decode
from plate_nets.cameras.fields import Deinterlace
from plate_nets.cameras.settings import CameraSettings
from plate_nets.cameras.watcher import Watcher
from plate_nets.recognition.local import LocalReader
from plate_nets.types import Frame
from tests.clips import TEXT, Fields, passing, woven, write_clip
from tests.frames import Placed, compose

pytestmark = pytest.mark.slow

SAID = "its pictures are interlaced, although the stream does not say so"


def drive(count: int) -> Iterator[Frame]:
    """A bright block that moves in front of a still street."""
    street = compose(240, 320)
    for number in range(count):
        frame = street.copy()
        x = 20 + 4 * number % 200
        frame[60:180, x : x + 80] = 240
        yield frame


def decoded(path: Path, settings: DecodingSettings = DecodingSettings()) -> tuple[list[Frame], list[str]]:
    """The frames, and the notices."""
    notices: list[str] = []
    found = list(decode(parse_source(str(path)), settings, notices.append, lambda _: None))
    times = [each.time for each in found]
    assert times == sorted(times, key=lambda time: time or 0.0) and len(set(times)) == len(times)
    return [np.asarray(each.picture.to_ndarray(format="bgr24"), np.uint8) for each in found], notices


def combed(frames: Iterable[Frame]) -> int:
    """The number of frames in which many rows are brighter than both neighbours, or darker."""
    count = 0
    for frame in frames:
        grey = frame.mean(axis=2)
        above, below = grey[1:-1] - grey[:-2], grey[1:-1] - grey[2:]
        count += int((above * below > 1000).sum()) > 200
    return count


@pytest.mark.parametrize(
    ("codec", "fields", "fps"),
    [("libx264", "tff", 25), ("libx264", "bff", 30), ("mpeg2video", "tff", 30), ("mpeg2video", "bff", 25)],
)
def test_interlaced_pictures_become_whole(tmp_path: Path, codec: str, fields: Fields, fps: int) -> None:
    whole = list(drive(40))
    clip = write_clip(tmp_path / "woven.ts", woven(whole, fields), fps, codec=codec, fields=fields)
    as_sent, _ = decoded(clip, DecodingSettings(deinterlace="off"))
    assert combed(as_sent) >= 18
    frames, notices = decoded(clip)
    each, _ = decoded(clip, DecodingSettings(fields=True))
    assert (len(frames), len(each), combed(frames), combed(each), notices) == (20, 40, 0, 0, [])
    # In the right order: with the wrong one, the block goes back and forth
    ways = [int((frame[120].mean(axis=1) > 225).nonzero()[0].min()) for frame in each[2:-2]]
    assert ways == sorted(ways)


@pytest.mark.parametrize("fields", ["tff", "bff"])
def test_pictures_that_are_combed_without_saying_so_are_deinterlaced(tmp_path: Path, fields: Fields) -> None:
    street = [compose(240, 320)] * 30  # nothing moves, so nothing is combed
    clip = write_clip(tmp_path / "woven.mp4", woven(chain(street, drive(120)), fields))
    frames, notices = decoded(clip)
    assert len(frames) == 75 and combed(frames) <= 25 and not combed(frames[45:])
    (notice,) = notices
    assert notice.startswith(SAID)


def test_whole_pictures_that_say_they_are_interlaced_stay_as_they_are(tmp_path: Path) -> None:
    noise = np.random.default_rng(1).integers(0, 255, (240, 520, 3), np.uint8)
    wide = np.asarray(cv2.GaussianBlur(noise, (0, 0), 3), np.uint8)
    pan = [wide[:, x : x + 320].copy() for x in range(0, 200, 5)]
    clip = write_clip(tmp_path / "whole.ts", pan, fields="tff")
    as_sent, _ = decoded(clip, DecodingSettings(deinterlace="off"))
    frames, notices = decoded(clip, DecodingSettings(fields=True))
    # Only the chroma differs, because it is converted to BGR as that of whole pictures
    off = [np.abs(frame.astype(int) - other).mean() for frame, other in zip(frames, as_sent, strict=True)]
    assert max(off) < 2 and not notices


@pytest.mark.parametrize(("deinterlace", "changed"), [("auto", False), ("off", False), ("on", True)])
def test_whole_pictures_pass_unless_all_are_to_be_deinterlaced(
    tmp_path: Path, deinterlace: Deinterlace, changed: bool
) -> None:
    clip = write_clip(tmp_path / "whole.mp4", drive(60))
    as_sent, _ = decoded(clip, DecodingSettings(deinterlace="off"))
    frames, notices = decoded(clip, DecodingSettings(deinterlace=deinterlace))
    same = all(np.array_equal(frame, other) for frame, other in zip(frames, as_sent, strict=True))
    assert (same, notices) == (not changed, [])


def test_noise_is_not_taken_for_fields(tmp_path: Path) -> None:
    noisy = [cv2.resize(frame, (320, 180), interpolation=cv2.INTER_AREA) for frame in passing(120)]
    _, notices = decoded(write_clip(tmp_path / "noise.mp4", [np.asarray(frame, np.uint8) for frame in noisy]))
    assert notices == []


def test_a_source_may_become_interlaced_and_change_its_size(tmp_path: Path) -> None:
    parts = [
        write_clip(tmp_path / "1.ts", drive(30)),
        write_clip(tmp_path / "2.ts", woven(drive(60), "bff"), fields="bff"),
        write_clip(tmp_path / "3.ts", (frame[:200] for frame in woven(drive(60), "tff")), fields="tff"),
    ]
    both = tmp_path / "all.ts"
    both.write_bytes(b"".join(part.read_bytes() for part in parts))
    found = list(decode(parse_source(str(both)), DecodingSettings(), lambda _: None, lambda _: None))
    frames = [np.asarray(each.picture.to_ndarray(format="bgr24"), np.uint8) for each in found]
    assert [frame.shape[0] for frame in frames] == [240] * 60 + [200] * 30
    assert combed(frames) <= 1  # the first of a part may be judged by what came before


@pytest.mark.parametrize("says", [True, False])
def test_a_car_is_read_in_interlaced_pictures(reader: LocalReader, tmp_path: Path, says: bool) -> None:
    """It moves 12 px from field to field, so that combed pictures alone give no text."""
    frames = [compose(360, 1280, [Placed(TEXT, 20 + 12 * number, 180, 200)], seed=number) for number in range(84)]
    clip = write_clip(tmp_path / "woven.ts", woven(frames, "tff"), 25, fields="tff" if says else None)
    cameras = (CameraSettings(str(clip)), CameraSettings(str(clip), deinterlace="off"))
    found, without = ([event.plate for event in Watcher(reader, each) if event.stage == "final"] for each in cameras)
    assert found == [TEXT] != without


def test_a_car_is_read_in_interlaced_pictures_of_pixels_that_are_not_square(
    reader: LocalReader, tmp_path: Path
) -> None:
    """As recorders send them in 2CIF: all columns, half of the rows, and these in fields."""
    frames = [compose(576, 1024, [Placed(TEXT, 20 + 24 * number, 280, 320)], seed=number) for number in range(26)]
    halved = [np.asarray(cv2.resize(frame, (1024, 288), interpolation=cv2.INTER_AREA), np.uint8) for frame in frames]
    clip = write_clip(
        tmp_path / "2cif.ts", woven(halved, "bff"), 25, codec="mpeg2video", fields="bff", pixel=Fraction(1, 2)
    )
    (final,) = (event for event in Watcher(reader, str(clip)) if event.stage == "final")
    assert final.plate == TEXT
    assert final.box.xmax <= 1024 and final.box.ymax <= 288, "in pixels of the frame as sent"
