"""Videos of users and streams of cameras, opened by FFmpeg with the formats and protocols that are meant alone.

FFmpeg looks at what it reads and opens whatever that names: a text that begins `ffconcat` is a list of local files, a
playlist leads to other hosts. So formats and protocols are those of a list, and pictures over a bound are not decoded.
"""

from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

import av
from av.codec.hwaccel import HWAccel
from av.container import InputContainer

from plate_nets.intake.files import check_file

FILES = ("mov", "matroska", "avi", "mpegts", "mpeg", "flv", "asf", "ogg", "mxf", "h264", "hevc", "m4v", "mjpeg", "dhav")
"""FFmpeg's names of the formats of files: mov is MP4 too, matroska WebM too, dhav that of Dahua's recorders. None of
them opens another file."""
_STREAMS: Mapping[str, tuple[tuple[str, ...], str]] = {
    "rtsp": (("rtsp", "sdp", "rtp", "asf", "mpegts"), "rtsp,rtsps,rtp,srtp,udp,tcp,tls,http,https"),
    "http": ((*FILES, "mpjpeg", "hls", "aac", "mp3", "webvtt"), "http,https,tcp,tls,crypto"),
}
"""Of a URL by its scheme: formats, and protocols, to which a playlist may lead too."""
_MOST_STREAMS = 64
"""Streams of one container."""


def open_video(path: str | Path, max_pixels: int, hardware: HWAccel | None = None) -> InputContainer:
    """A video file of one of the `FILES` -> the open container; pictures of over ``max_pixels`` do not decode.

    Raises:
        OSError: it is not there, is no regular file, or is empty.
        av.error.FFmpegError: it is damaged, or in none of the formats (`av.error.ArgumentError`).
    """
    return _open(f"file:{check_file(path).absolute()}", FILES, "file", max_pixels, hardware)


def open_stream(
    url: str, max_pixels: int, hardware: HWAccel | None = None, options: Mapping[str, str] | None = None
) -> InputContainer:
    """A camera's URL of RTSP or HTTP -> the open container; pictures of over ``max_pixels`` do not decode.

    ``options``: of FFmpeg, such as its time limits.

    Raises:
        av.error.FFmpegError: nobody answers, or with something else.
    """
    formats, protocols = _STREAMS[urlsplit(url).scheme.lower().removesuffix("s")]
    return _open(url, formats, protocols, max_pixels, hardware, options)


def open_device(path: str, max_pixels: int) -> InputContainer:
    """A camera of this machine, ``/dev/video*`` -> the open container.

    Raises:
        av.error.FFmpegError: it is none.
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
        if stream.codec_context is not None:  # as it is where nothing decodes it
            stream.codec_context.options = decoding  # what was given above holds for the first look alone
    return container
