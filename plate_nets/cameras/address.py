"""Parses a user's source of pictures. Credentials of URLs are never shown."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from plate_nets.common.credentials import hide_credentials
from plate_nets.common.errors import InputError

SourceKind = Literal["file", "folder", "stream", "device"]

STREAMS = {"rtsp": 554, "rtsps": 322, "http": 80, "https": 443}
"""URL scheme of a stream -> its default port."""


@dataclass(frozen=True)
class SourceAddress:
    """The address of a source; as text without credentials."""

    kind: SourceKind
    location: str = field(repr=False)
    """As the user wrote it; only for the decoder."""

    def __str__(self) -> str:
        return hide_credentials(self.location)

    @property
    def live(self) -> bool:
        """Whether the source sets the pace: pictures that are not taken in time are lost."""
        return self.kind in ("stream", "device")

    @property
    def is_rtsp(self) -> bool:
        return self.location.lower().startswith(("rtsp://", "rtsps://"))

    @property
    def endpoint(self) -> tuple[str, int] | None:
        """Host and port of a stream; None for other sources."""
        if self.kind != "stream":
            return None
        parts = urlsplit(self.location)
        return parts.hostname or "", parts.port or STREAMS[parts.scheme.lower()]


def parse_source(text: str) -> SourceAddress:
    """A video file, folder of pictures, ``rtsp://`` or ``http://`` stream, or ``/dev/video*`` -> its address.

    It need not exist yet.

    Raises:
        InputError: a URL with another scheme, or an incomplete one.
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
