"""What a user writes for a source of pictures -> its kind and place; credentials of URLs are shown nowhere."""

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from plate_nets.errors import InputError

SourceKind = Literal["file", "folder", "stream", "device"]

STREAMS = {"rtsp": 554, "rtsps": 322, "http": 80, "https": 443}
"""What a stream's URL begins with -> the usual port."""

_USER_INFO = re.compile(r"(?<=://).*@", re.DOTALL)
_SECRET_PARAMETER = re.compile(
    r"([?&;](?:user|username|usr|login|pass|passwd|password|pwd|token|auth|key|api_?key|secret|sig|signature|session)=)"
    r"[^&;#\s'\"]*",
    re.IGNORECASE,
)


def hide_credentials(text: str) -> str:
    """A text with URLs in it -> the same without users, passwords and tokens: for all that is logged, sent or drawn.

    Everything between the first ``://`` and the last ``@`` goes, so that no odd character of a password stays, be it a
    space or an ``@``.
    """
    return _SECRET_PARAMETER.sub(r"\1***", _USER_INFO.sub("", text))


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
