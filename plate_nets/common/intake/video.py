"""Opens videos of users and streams of cameras with FFmpeg, limited to the intended formats and protocols.

FFmpeg guesses the format and opens whatever the data refers to: a text that begins with `ffconcat` is a list of local
files, and a playlist leads to other hosts. So formats and protocols come from a list, and oversized pictures are not
decoded.
"""

from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

import av
from av.codec.hwaccel import HWAccel
from av.container import InputContainer

from plate_nets.common.intake.files import check_file

FILES = ("mov", "matroska", "avi", "mpegts", "mpeg", "flv", "asf", "ogg", "mxf", "h264", "hevc", "m4v", "mjpeg", "dhav")
"""FFmpeg's names of file formats: mov covers MP4, matroska covers WebM, dhav is that of Dahua's recorders. None of
them opens another file."""
_STREAMS: Mapping[str, tuple[tuple[str, ...], str]] = {
    "rtsp": (("rtsp", "sdp", "rtp", "asf", "mpegts"), "rtsp,rtsps,rtp,srtp,udp,tcp,tls,http,https"),
    "http": ((*FILES, "mpjpeg", "hls", "aac", "mp3", "webvtt"), "http,https,tcp,tls,crypto"),
}
"""By URL scheme: formats, and the protocols that a playlist may use."""
_MOST_STREAMS = 64
"""Limit for the streams of one container."""


def open_video(path: str | Path, max_pixels: int, hardware: HWAccel | None = None) -> InputContainer:
    """Open a video file in one of the formats `FILES`; pictures of more than ``max_pixels`` do not decode.

    Raises:
        OSError: it is missing, is not a regular file, or is empty.
        av.error.FFmpegError: it is damaged, or in another format (`av.error.ArgumentError`).
    """
    return _open(f"file:{check_file(path).absolute()}", FILES, "file", max_pixels, hardware)


def open_stream(
    url: str, max_pixels: int, hardware: HWAccel | None = None, options: Mapping[str, str] | None = None
) -> InputContainer:
    """Open a camera's RTSP or HTTP URL; pictures of more than ``max_pixels`` do not decode.

    ``options``: for FFmpeg, such as its time limits.

    Raises:
        av.error.FFmpegError: there is no answer, or not a video.
    """
    formats, protocols = _STREAMS[urlsplit(url).scheme.lower().removesuffix("s")]
    return _open(url, formats, protocols, max_pixels, hardware, options)


def open_device(path: str, max_pixels: int) -> InputContainer:
    """Open a camera of this machine, ``/dev/video*``.

    Raises:
        av.error.FFmpegError: it is not a camera.
    """
    return _open(path, ("video4linux2", "v4l2"), "file", max_pixels, options={"thread_queue_size": "8"}, kind="v4l2")


def _open(
    location: str,
    formats: tuple[str, ...],
    protocols: str,
    max_pixels: int,
    hardware: HWAccel | None = None,
    options: Mapping[str, str] | None = None,
    kind: str | None = None,
) -> InputContainer:
    decoding = {"max_pixels": str(max_pixels)}
    bounds = {
        "format_whitelist": ",".join(formats), "protocol_whitelist": protocols, "max_streams": str(_MOST_STREAMS),
    }  # fmt: skip
    container = av.open(location, hwaccel=hardware, options={**(options or {}), **bounds, **decoding}, format=kind)
    for stream in container.streams.video:
        if stream.codec_context is not None:  # None if nothing decodes it
            stream.codec_context.options = decoding  # the options above only apply to probing
    return container
