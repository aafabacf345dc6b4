"""The address of a server, and its protocol."""

from dataclasses import dataclass
from typing import Literal

from plate_nets.common.errors import InputError

WireProtocol = Literal["http", "grpc"]

_DEFAULT_PORTS: dict[WireProtocol, int] = {"http": 8000, "grpc": 8001}
_LAST_PORT = 65535


@dataclass(frozen=True)
class ServerAddress:
    """The address of one protocol of a server; as text ``host:port``."""

    host: str
    port: int
    protocol: WireProtocol
    encrypted: bool = False

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"

    @property
    def url(self) -> str:
        """The address with its protocol, such as ``grpcs://host:port``."""
        return f"{self.protocol}{'s' * self.encrypted}://{self}"


def parse_url(url: str, protocol: str = "http") -> ServerAddress:
    """Parse an address from the user.

    Args:
        url: ``host:port``, optionally after ``http://``, ``https://``, ``grpc://`` or ``grpcs://``. Triton's own port
            (8000 or 8001) may be left out.
        protocol: used if the address has none.

    Raises:
        InputError: not an address, or a protocol other than http and grpc.
    """
    scheme, found, rest = url.partition("://")
    if found:
        protocol, url = scheme, rest
    encrypted = protocol in ("https", "grpcs")
    plain = protocol.removesuffix("s") if encrypted else protocol
    host, _, port = url.rstrip("/").partition(":")
    if not host or (port and not (port.isdecimal() and len(port) <= 5 and 0 < int(port) <= _LAST_PORT)):
        raise InputError(f"url: expected host:port, got {url!r}")
    for wire, default in _DEFAULT_PORTS.items():
        if plain == wire:
            return ServerAddress(host, int(port or default), wire, encrypted)
    raise InputError(f"protocol: expected http or grpc, got {protocol!r}")
