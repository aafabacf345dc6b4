"""Every kind of damaged or odd source: usable pictures are used, and the fault is reported in a line."""

import os
import re
import socket
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import av
import cv2
import numpy as np
import pytest

from plate_nets.cameras import decoding
from plate_nets.cameras.address import parse_source
from plate_nets.cameras.decoding import DecodingSettings, Hardware, decode, demux
from plate_nets.cameras.frames import LUMA_SIZE, VideoFrame
from plate_nets.common.errors import InputTooLarge, SourceError
from tests.clips import still, write_clip, write_jpegs, write_sound
from tests.frames import compose, encode
from tests.limited import in_little_memory
from tests.local_http import LocalHttp, QuietHandler


class Watched:
    """Everything that a source gives."""

    def __init__(self, source: object, settings: DecodingSettings = DecodingSettings()) -> None:
        self.notices: list[str] = []
        self.lengths: list[float | None] = []
        self.frames: list[VideoFrame] = []
        self.error: SourceError | None = None
        try:
            for decoded in decode(parse_source(str(source)), settings, self.notices.append, self.lengths.append):
                self.frames.append(VideoFrame(decoded.picture, decoded.time or 0.0, 0.0, 0.0, decoded.pixel))
        except SourceError as error:
            self.error = error


def test_a_file_yields_every_picture_with_its_time(tmp_path: Path) -> None:
    found = Watched(write_clip(tmp_path / "clip.mp4", still(30), fps=10, audio=True))
    assert found.error is None and not found.notices
    assert found.lengths == [pytest.approx(3.0, abs=0.1)]
    assert [frame.time for frame in found.frames] == pytest.approx([number / 10 for number in range(30)])


@pytest.mark.parametrize("codec", ["libx264", "mjpeg", "mpeg4"])
def test_a_frame_is_what_was_encoded(tmp_path: Path, codec: str) -> None:
    frame = np.full((96, 128, 3), (200, 60, 30), np.uint8)
    found = Watched(write_clip(tmp_path / "clip.mkv", [frame] * 3, codec=codec)).frames[1]
    assert found.size == (96, 128)
    assert np.abs(found.bgr().astype(int) - frame).mean() < 4
    luma = found.luma()
    assert luma.shape == LUMA_SIZE
    # Limited range, 16 to 235, except for JPEG
    assert abs(float(luma.mean()) - cv2.cvtColor(frame, cv2.COLOR_BGR2GRAY).mean()) < 12


class NoDriver:
    """What FFmpeg says of a GPU whose driver is missing."""

    @staticmethod
    def create(codec: str, mode: str, hwaccel: object) -> None:
        raise av.error.PermissionError(1, "Operation not permitted")


@pytest.mark.parametrize(
    ("name", "file", "says"),
    [
        ("cuda", "no/device", "cuda needs no/device, which is missing or not allowed"),
        ("cuda", os.devnull, "cuda cannot be opened: Operation not permitted"),
        ("vaapi", "no/device", "vaapi "),  # PyAV's own FFmpeg does not have it
        (True, os.devnull, None),
    ],
)
def test_what_no_hardware_decodes_is_decoded_in_software(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: bool | Hardware, file: str, says: str | None
) -> None:
    """Of a decoder that was asked for by name, a line says why; a device without its driver stops no source."""
    monkeypatch.setattr(decoding, "_DEVICE_FILES", dict.fromkeys(decoding._DEVICE_FILES, file))
    monkeypatch.setattr(av, "CodecContext", NoDriver)
    found = Watched(write_clip(tmp_path / "clip.mp4", still(10)), DecodingSettings(hardware=name))
    assert found.error is None and len(found.frames) == 10
    assert len(found.notices) == (says is not None)
    for line in found.notices:
        assert line.startswith(f"hardware: {says}") and line.endswith("; it is decoded in software")


V4L2 = {"{}_v4l2m2m": "has no device here that decodes h264: Invalid argument", "{}_of_none": "does not decode h264"}


@pytest.mark.parametrize(("decoder", "says"), [("{}", None), *V4L2.items()], ids=["decodes", "no device", "no codec"])
def test_a_decoder_of_v4l2_gives_what_software_does_or_a_line_says_why_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, decoder: str, says: str | None
) -> None:
    """FFmpeg's software stands in for a device."""
    monkeypatch.setattr(decoding, "_V4L2", decoder)
    clip = write_clip(tmp_path / "clip.mp4", (compose(96, 128, seed=number) for number in range(12)), fps=8)
    found, usual = Watched(clip, DecodingSettings(hardware="v4l2")), Watched(clip)
    assert found.notices == ([f"hardware: v4l2 {says}; it is decoded in software"] if says else [])
    assert [frame.time for frame in found.frames] == [frame.time for frame in usual.frames]
    assert all((one.bgr() == two.bgr()).all() for one, two in zip(found.frames, usual.frames, strict=True))


def test_v4l2_decodes_no_single_pictures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decoding, "_V4L2", "{}")
    clip, notices = write_clip(tmp_path / "clip.mp4", still(4)), list[str]()
    assert len(list(demux(parse_source(str(clip)), DecodingSettings(hardware="v4l2"), notices.append))) == 4
    says = "v4l2 does not decode single pictures, which `detect` needs; it is decoded in software"
    assert notices == [f"hardware: {says}"]


def test_stamps_of_a_variable_rate_are_kept(tmp_path: Path) -> None:
    times = [0.0, 0.1, 1.5, 1.6, 4.0]
    found = Watched(write_clip(tmp_path / "clip.mkv", still(5), times=times))
    assert [frame.time for frame in found.frames] == pytest.approx(times, abs=2e-3)


def test_a_truncated_file_yields_its_readable_part(tmp_path: Path) -> None:
    whole = write_clip(tmp_path / "whole.mkv", (compose(96, 128, seed=number) for number in range(100)))
    cut = tmp_path / "cut.mkv"
    cut.write_bytes(whole.read_bytes()[: whole.stat().st_size // 2])
    found = Watched(cut)
    assert 30 < len(found.frames) < 70
    (notice,) = [each for each in found.notices if "cut off" in each]
    assert notice.startswith("cut off: ends after ") and notice.endswith("s of 4.0 s")


def test_a_folder_of_pictures_is_a_video(tmp_path: Path) -> None:
    for number in (10, 2, 1):
        frame = np.full((96, 128, 3), number * 10, np.uint8)
        (tmp_path / f"{number:03}.png").write_bytes(encode(frame))
    (tmp_path / "005.jpg").write_bytes(b"no picture")
    (tmp_path / "006.gif").write_bytes(b"GIF89a")
    (tmp_path / "notes.txt").write_text("no picture", encoding="utf-8")
    found = Watched(tmp_path, DecodingSettings(folder_fps=2))
    assert [int(frame.bgr().mean()) for frame in found.frames] == [10, 20, 100]
    assert [frame.time for frame in found.frames] == [0.0, 0.5, 1.5]
    assert found.frames[0].luma().shape == LUMA_SIZE
    left_out, skipped = found.notices
    assert left_out.startswith("left out 1 picture of formats that are not read: 1 GIF (006.gif)")
    assert skipped.startswith("005.jpg: skipped: ")


def test_pictures_larger_than_a_reader_takes_are_not_converted() -> None:
    frame = VideoFrame(av.VideoFrame(8000, 7000, "yuv420p"), 0.0, 0.0, 0.0)
    with pytest.raises(InputTooLarge, match=r"^frame: expected at most 50000000 pixels, got 56000000 \(8000x7000\)$"):
        frame.bgr()


def headless(path: Path) -> None:
    path.write_bytes(write_clip(path.with_name("whole.mp4"), still(20)).read_bytes()[:1500])


def no_picture(path: Path) -> None:
    """A container that declares a video and has none."""
    whole = write_clip(path.with_name("whole.mkv"), still(1)).read_bytes()
    path.write_bytes(whole[: whole.index(bytes.fromhex("1f43b675"))])  # without its clusters


def listing(path: Path) -> None:
    """A text that FFmpeg takes for a list of files to read."""
    texts = {
        "a.mp4": "ffconcat version 1.0\nfile secret.ts\n",
        "a.m3u8": "#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\nsecret.ts\n#EXT-X-ENDLIST\n",
    }
    write_clip(path.with_name("secret.ts"), still(3))
    path.write_text(texts[path.name], encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "make", "cause"),
    [
        ("a.mp4", lambda path: None, r"^No such file or directory$"),
        ("a", Path.mkdir, r"^expected pictures, found none"),
        ("a.mp4", lambda path: path.write_text("a text"), r"^not a video, damaged, or its beginning is missing$"),
        ("a.mp4", headless, r"^not a video, damaged, or its beginning is missing$"),
        ("a.m4a", write_sound, r"^expected video, found only audio$"),
        ("a.mkv", no_picture, r"^expected video, found no picture in it$"),
        ("a.mp4", listing, r"^damaged, or not in a supported format"),
        ("a.m3u8", listing, r"^damaged, or not in a supported format"),
        ("a.mp4", os.mkfifo, r"^is not a file$"),
        ("a.mp4", lambda path: path.symlink_to("/proc/kmsg"), r"^is empty$"),
    ],
)
def test_a_file_that_is_not_a_video_is_reported_in_one_line_and_opens_no_other(
    tmp_path: Path, name: str, make: Callable[[Path], object], cause: str
) -> None:
    make(tmp_path / name)
    found = Watched(tmp_path / name)
    assert not found.frames
    assert re.search(cause, str(found.error))


@pytest.mark.parametrize("source", ["concat:{}|{}", "subfile,,start,0,end,0,,:{}", "tcp:127.0.0.1:9", "data:,x"])
def test_an_ffmpeg_protocol_is_treated_as_a_missing_file(tmp_path: Path, source: str) -> None:
    path = write_clip(tmp_path / "clip.ts", still(3))
    found = Watched(source.format(path, path))
    assert (found.frames, str(found.error)) == ([], "No such file or directory")


def refuse_giant(path: Path) -> None:
    found = Watched(path)
    assert re.search(r"no picture of it can be decoded: .* more than 50000000 pixels", str(found.error))
    assert not found.frames


def test_pictures_over_the_limit_are_not_decoded(tmp_path: Path) -> None:
    """Each declares a size of 16000x16000 pixels; the container declares none."""
    picture = bytearray(encode(np.zeros((96, 128, 3), np.uint8), ".jpg"))
    at = picture.index(b"\xff\xc0")
    picture[at + 5 : at + 9] = (16_000).to_bytes(2, "big") * 2
    giant = write_jpegs(tmp_path / "giant.mkv", [bytes(picture)] * 4)
    in_little_memory(refuse_giant, giant, more=300 << 20)


class JpegCamera(QuietHandler):
    """Requires a password, answers 404 elsewhere, and sends three JPEGs."""

    def do_GET(self) -> None:
        if self.headers["authorization"] is None:
            self.send_response(401)
            self.send_header("WWW-Authenticate", 'Basic realm="camera"')
            self.end_headers()
        elif self.path != "/mjpeg":
            self.send_error(404)
        else:
            self.send_response(200)
            self.send_header("Content-Type", "multipart/x-mixed-replace; boundary=next")
            self.end_headers()
            for number in range(3):
                picture = encode(np.full((96, 128, 3), 40 * (number + 1), np.uint8), ".jpg")
                head = f"--next\r\nContent-Type: image/jpeg\r\nContent-Length: {len(picture)}\r\n\r\n"
                self.wfile.write(head.encode() + picture + b"\r\n")
            self.wfile.write(b"--next--\r\n")


@pytest.fixture
def camera() -> Iterator[str]:
    with closing(LocalHttp(JpegCamera)) as camera:
        yield f"127.0.0.1:{camera.port}"


@pytest.mark.parametrize("proxy", ["", "http://127.0.0.1:9"])
def test_a_camera_of_jpegs_over_http_is_read(camera: str, proxy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", proxy)
    monkeypatch.setenv("no_proxy", "")
    found = Watched(f"http://ann:secret@{camera}/mjpeg")
    assert [round(float(frame.bgr().mean()), -1) for frame in found.frames] == [40, 80, 120]


@pytest.mark.parametrize(
    ("url", "cause"),
    [("http://{}/mjpeg", "wrong user or password, or no permission"), ("http://ann:secret@{}/other", "no such stream")],
)
def test_a_refusal_is_distinguished_from_no_answer(camera: str, url: str, cause: str) -> None:
    error = Watched(url.format(camera)).error
    assert error is not None and (str(error), error.unreachable) == (cause, False)


def test_a_silent_rtsp_camera_is_not_reported_as_damaged_video() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        found = Watched(f"rtsp://127.0.0.1:{silent.getsockname()[1]}/ch1", DecodingSettings(silence=0.5))
    assert "nothing answers" in str(found.error)
