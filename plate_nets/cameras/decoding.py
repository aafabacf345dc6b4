"""Decodes the pictures of a source, in the caller's thread."""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal, NamedTuple

import av
import av.error
from av.codec.codec import UnknownCodecError
from av.codec.hwaccel import HWAccel, hwdevices_available
from av.container import InputContainer
from av.video.codeccontext import VideoCodecContext
from av.video.stream import VideoStream

from plate_nets.cameras.address import SourceAddress
from plate_nets.cameras.fields import Deinterlace, Deinterlacer
from plate_nets.cameras.pixel_shape import PixelShape
from plate_nets.common.credentials import hide_credentials
from plate_nets.common.errors import InputError, SourceError
from plate_nets.common.intake.files import read_file
from plate_nets.common.intake.video import open_device, open_stream, open_video
from plate_nets.common.proxies import proxy_for
from plate_nets.recognition.encoded import SUFFIXES
from plate_nets.recognition.images import decode_image
from plate_nets.recognition.left_out import LeftOut
from plate_nets.recognition.reader import FrameLimits

Hardware = Literal["cuda", "vaapi", "v4l2"]
"""Hardware decoders: NVDEC, that of Intel's and AMD's graphics, and those of small boards."""

_DEVICE_FILES: dict[Hardware, str] = {"cuda": "/dev/nvidia0", "vaapi": "/dev/dri/renderD128"}
"""A file that exists if the hardware does. For V4L2, which is not here, FFmpeg has decoders of their own."""
_V4L2 = "{}_v4l2m2m"
"""FFmpeg's name of the decoder of a codec."""
_CUT_OFF = 1.0
"""Seconds of a file's length that may be missing at its end."""

_EMPTY = "expected video, found no picture in it"

_LIMITS = FrameLimits()
_UNDECODED = f"no picture of it can be decoded: they are damaged, or have more than {_LIMITS.max_pixels} pixels"

Notice = Callable[[str], None]
"""Takes a line about a problem that did not stop decoding."""


@dataclass(frozen=True)
class DecodingSettings:
    silence: float = 2.0
    """Seconds without a picture after which a live source counts as frozen and is reconnected.

    FFmpeg's reads have the same timeout. When it is over, the parser may still return an H.264 picture that it
    holds. Then a second timeout begins, and the source counts as frozen only after twice the time.
    """
    hardware: bool | Hardware = True
    """Whether to use a hardware decoder if there is one, except V4L2, or which; what it cannot decode is decoded in
    software."""
    folder_fps: float = 25.0
    """Pictures per second in a folder of pictures."""
    deinterlace: Deinterlace = "auto"
    """Which pictures of a video to deinterlace."""
    fields: bool = False
    """Whether to make a picture of each field of an interlaced one; otherwise one of both."""
    aspect: Fraction | None = None
    """Width of the whole picture in heights, as it should look; None: what the stream says."""


class Decoded(NamedTuple):
    picture: av.VideoFrame
    time: float | None
    """Its presentation time in seconds."""
    pixel: Fraction
    """The width of its pixels in heights."""


class Packet(NamedTuple):
    data: "av.Packet[Any]"
    time: float
    """Its presentation time in seconds."""
    decoder: "Decoder"
    """Takes the packets of its connection, in their order, from a key frame on."""


class Decoder:
    def __init__(self, stream: VideoStream, settings: DecodingSettings, notice: Notice, *, jumps: bool = False) -> None:
        """``jumps``: whether it will be restarted, and the pictures must come with their packets."""
        self.damaged = 0
        """Pictures that were decoded after a loss, or not at all."""
        self._context = _context_of(stream, settings, notice, jumps)
        self._fields = Deinterlacer(settings.deinterlace, each=settings.fields, notice=notice)
        self._shape = PixelShape(stream, settings.aspect, notice)

    def take(self, packet: "av.Packet[Any]") -> Iterator[Decoded]:
        """The next packet -> the pictures that are ready."""
        try:
            decoded = self._context.decode(packet)
        except (av.error.InvalidDataError, av.error.ArgumentError):  # the latter for too many pixels
            self.damaged += 1
            return
        for picture in decoded:
            if picture.is_corrupt:
                self.damaged += 1
            else:
                yield from map(self._shaped, self._fields.take(picture))

    def rest(self) -> Iterator[Decoded]:
        """The stream ended -> the pictures that are left."""
        return map(self._shaped, self._fields.rest())

    def restart(self) -> None:
        """The next packet is a key frame that does not follow the last packet."""
        self._context.flush_buffers()

    def _shaped(self, picture: av.VideoFrame) -> Decoded:
        return Decoded(picture, picture.time, self._shape.of(picture))


def decode(
    address: SourceAddress, settings: DecodingSettings, notice: Notice, opened: Callable[[float | None], None]
) -> Iterator[Decoded]:
    """The pictures of a source, deinterlaced.

    Damaged pictures are skipped. ``opened`` is called with the length in seconds, or None if it is unknown. A live
    source that closes the connection ends like a file.

    Raises:
        SourceError: it cannot be opened, has no pictures, froze or failed; the message says why, without credentials.
    """
    with _source_errors(address, settings):
        if address.kind == "folder":
            yield from _folder(address, settings, notice, opened)
        else:
            yield from _container(address, settings, notice, opened)


def demux(address: SourceAddress, settings: DecodingSettings, notice: Notice) -> Iterator[Packet]:
    """The coded pictures of a video, for a caller that decodes few of them.

    Raises:
        SourceError: as from `decode`.
    """
    with _source_errors(address, settings), _open(address, settings) as container:
        stream = _video_of(container)
        stream.thread_type = "SLICE"  # so that a picture is ready with its packet
        decoder = Decoder(stream, settings, notice, jumps=True)
        seen = time.monotonic()
        for packet in container.demux():
            if packet.stream is stream and packet.pts is not None and packet.time_base is not None:
                yield Packet(packet, float(packet.pts * packet.time_base), decoder)
                seen = time.monotonic()
            elif address.live and time.monotonic() - seen > settings.silence:
                raise SourceError(frozen(settings), unreachable=True)


@contextmanager
def _source_errors(address: SourceAddress, settings: DecodingSettings) -> Iterator[None]:
    try:
        yield
    except av.error.FFmpegError as error:
        raise SourceError(_cause(error, address, settings), unreachable=_is_unreachable(error)) from error
    except OSError as error:
        raise SourceError(hide_credentials(error.strerror or str(error))) from error


def _container(
    address: SourceAddress, settings: DecodingSettings, notice: Notice, opened: Callable[[float | None], None]
) -> Iterator[Decoded]:
    with _open(address, settings) as container:
        stream = _video_of(container)
        # One thread per frame is faster, but delays as many frames
        stream.thread_type = "SLICE" if address.live else "AUTO"
        length = container.duration / av.time_base if container.duration and not address.live else None
        opened(length)
        decoder = Decoder(stream, settings, notice)
        shown = 0
        last = 0.0
        seen = time.monotonic()
        # All packets, because a stream with frozen pictures may still send sound
        for packet in container.demux() if address.live else container.demux(stream):
            if packet.stream is stream:
                for decoded in decoder.take(packet):
                    shown += 1
                    last = decoded.time if decoded.time is not None else last
                    yield decoded
                    seen = time.monotonic()
            if address.live and time.monotonic() - seen > settings.silence:
                raise SourceError(frozen(settings), unreachable=True)
        yield from decoder.rest()
        damaged = decoder.damaged
        if damaged:
            notice(f"skipped {damaged} damaged picture{'s' * (damaged != 1)}")
        if address.live:
            return
        if not shown:
            raise SourceError(_UNDECODED if damaged else _EMPTY)
        begin = (stream.start_time or 0) * float(stream.time_base or 0)
        if length is not None and last - begin < length - max(_CUT_OFF, 0.05 * length) and not _is_sparse(stream):
            notice(f"cut off: ends after {last - begin:.1f} s of {length:.1f} s")


def _video_of(container: InputContainer) -> VideoStream:
    if not container.streams.video:
        kinds = ", ".join(sorted({stream.type for stream in container.streams})) or "nothing"
        raise SourceError(f"expected video, found only {kinds}")
    return container.streams.video[0]


def _context_of(stream: VideoStream, settings: DecodingSettings, notice: Notice, jumps: bool) -> VideoCodecContext:
    """What decodes a stream; a line says why it is not the hardware that was asked for."""
    asked, context = settings.hardware, stream.codec_context
    if isinstance(asked, bool) or context.is_hwaccel:
        return context
    if asked != "v4l2":
        missing = _missing(asked)
    elif jumps:  # FFmpeg cannot flush it
        missing = "does not decode single pictures, which `detect` needs"
    else:
        try:
            return _v4l2(stream)
        except UnknownCodecError:
            missing = None
        except av.error.FFmpegError as error:
            missing = f"has no device here that decodes {stream.name}: {error.strerror}"
    notice(f"hardware: {asked} {missing or f'does not decode {stream.name}'}; it is decoded in software")
    return context


def _v4l2(stream: VideoStream) -> VideoCodecContext:
    given = stream.codec_context
    context = av.CodecContext.create(_V4L2.format(given.name), "r")
    assert isinstance(context, VideoCodecContext)
    context.extradata, context.width, context.height = given.extradata, given.width, given.height
    context.options = {**given.options, "pkt_timebase": str(stream.time_base)}  # without it, pictures have no times
    context.open()
    return context


def _is_sparse(stream: VideoStream) -> bool:
    """Whether its pictures are so far apart that the last one may be well before the end."""
    return stream.average_rate is not None and stream.average_rate < 1


def _folder(
    address: SourceAddress, settings: DecodingSettings, notice: Notice, opened: Callable[[float | None], None]
) -> Iterator[Decoded]:
    folder = Path(address.location)
    left_out = LeftOut()
    names = sorted(filter(left_out.takes, os.listdir(folder)))  # noqa: PTH208  a million files
    if note := left_out.note():
        notice(note)
    if not names:
        raise SourceError(f"expected pictures, found none; looked for {', '.join(sorted(SUFFIXES))}")
    opened(len(names) / settings.folder_fps)
    shape = PixelShape(None, settings.aspect, notice)
    shown = 0
    for number, name in enumerate(names):
        try:
            frame = decode_image(read_file(folder / name, _LIMITS.max_bytes), _LIMITS)
        except (InputError, OSError) as error:
            notice(f"{name}: skipped: {getattr(error, 'strerror', None) or error}")
            continue
        shown += 1
        picture = av.VideoFrame.from_ndarray(frame, format="bgr24")
        yield Decoded(picture, number / settings.folder_fps, shape.of(picture))
    if not shown:
        raise SourceError("expected pictures, found none that can be read")


def _open(address: SourceAddress, settings: DecodingSettings) -> InputContainer:
    max_pixels, hardware = _LIMITS.max_pixels, _hardware(settings)
    if address.kind == "device":
        return open_device(address.location, max_pixels)
    if address.kind == "file":
        return open_video(address.location, max_pixels, hardware)
    # Sockets with a timeout, because nothing else ends a read that blocks
    microseconds = str(round(settings.silence * 1e6))
    if address.is_rtsp:
        # Some cameras announce sound but send none: analyse the stream for one second, not for FFmpeg's five
        options = {
            "rtsp_transport": "tcp", "timeout": microseconds, "analyzeduration": "1000000", "fpsprobesize": "0",
        }  # fmt: skip
    else:
        options = {"rw_timeout": microseconds, "timeout": microseconds, "use_wallclock_as_timestamps": "1"}
        if address.endpoint and not proxy_for(address.endpoint[0], ("http_proxy",)):
            options["http_proxy"] = ""  # FFmpeg itself would ask a proxy for this machine
    return open_stream(address.location, max_pixels, hardware, options)


def _hardware(settings: DecodingSettings) -> HWAccel | None:
    asked = settings.hardware
    names = [each for each in _DEVICE_FILES if asked in (True, each)]
    name = next((each for each in names if not _missing(each)), None)
    return HWAccel(name, allow_software_fallback=True) if name else None


def _missing(name: Hardware) -> str | None:
    """Why a hardware decoder cannot be used here; None if it can."""
    if name not in hwdevices_available():
        return "is not in this FFmpeg"
    file = _DEVICE_FILES[name]
    if not os.access(file, os.R_OK | os.W_OK):
        return f"needs {file}, which is missing or not allowed"
    try:  # without its driver, no source could be opened
        av.CodecContext.create("h264", "r", HWAccel(name))
    except av.error.FFmpegError as error:
        return f"cannot be opened: {error.strerror}"
    return None


def frozen(settings: DecodingSettings) -> str:
    """Why a live source counts as lost that sends nothing."""
    return f"no picture for {settings.silence:g} s; if it sends less often, raise `silence`"


def _cause(error: av.error.FFmpegError, address: SourceAddress, settings: DecodingSettings) -> str:
    match error:
        case av.error.HTTPUnauthorizedError() | av.error.HTTPForbiddenError():
            return "wrong user or password, or no permission"
        case av.error.HTTPNotFoundError():
            return "no such stream"
        case av.error.ExitError() | av.error.TimeoutError():
            return frozen(settings)
        case av.error.EOFError():
            return _EMPTY
        case av.error.InvalidDataError() if address.is_rtsp:  # FFmpeg's error also if nothing was received
            return "no RTSP stream: nothing answers, it is not a camera, or its data is damaged"
        case av.error.InvalidDataError():
            return "not a video, damaged, or its beginning is missing"
        case av.error.ArgumentError():
            return "damaged, or not in a supported format, such as MP4, MKV, AVI, MPEG-TS, FLV"
    return hide_credentials(error.strerror or str(error))


def _is_unreachable(error: av.error.FFmpegError) -> bool:
    """Whether nothing answered: then retry as soon as something does."""
    return isinstance(error, (OSError, av.error.ExitError)) and not isinstance(error, av.error.HTTPClientError)
