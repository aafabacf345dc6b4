"""What a user writes for a source of pictures -> its kind and place; credentials of URLs are shown nowhere."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from plate_nets.credentials import hide_credentials
from plate_nets.errors import InputError

SourceKind = Literal["file", "folder", "stream", "device"]

STREAMS = {"rtsp": 554, "rtsps": 322, "http": 80, "https": 443}
"""What a stream's URL begins with -> the usual port."""


@dataclass(frozen=True)
class SourceAddress:
    """Where pictures come from; as text without credentials."""

    kind: SourceKind
    location: str = field(repr=False)
    """As the user wrote it, for the decoder alone."""

    def __str__(self) -> str:
        return hide_credentials(self.location)

    @property
    def live(self) -> bool:
        """Whether pictures come when they come: what is not taken in time is lost."""
        return self.kind in ("stream", "device")

    @property
    def is_rtsp(self) -> bool:
        """Whether it is spoken to in RTSP."""
        return self.location.lower().startswith(("rtsp://", "rtsps://"))

    @property
    def endpoint(self) -> tuple[str, int] | None:
        """Host and port of a stream, None for others."""
        if self.kind != "stream":
            return None
        parts = urlsplit(self.location)
        return parts.hostname or "", parts.port or STREAMS[parts.scheme.lower()]


def parse_source(text: str) -> SourceAddress:
    """A video file, folder of pictures, ``rtsp://`` or ``http://`` stream, or ``/dev/video*`` -> its address.

    Whether there is anything is found when it is opened.

    Raises:
        InputError: a URL of another kind, or one that is not complete.
    """
    scheme, separator, _ = text.partition("://")
    if separator:
        if scheme.lower() not in STREAMS:
            raise InputError(f"source: expected {', '.join(STREAMS)} or a path, got {hide_credentials(text)}")
        address = SourceAddress("stream", text)
        try:
            host, _ = address.endpoint or ("", 0)
        except ValueError as error:
            raise InputError(f"source: expected a URL with host and port, got {address}") from error
        if not host:
            raise InputError(f"source: expected a URL with a host, got {address}")
        return address
    if text.startswith("/dev/"):
        return SourceAddress("device", text)
    return SourceAddress("folder" if Path(text).is_dir() else "file", text)
