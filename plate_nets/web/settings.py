"""The access rules and the limits of `plates web`."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from ipaddress import IPv4Network, IPv6Network, ip_network

from plate_nets.common.errors import InputError
from plate_nets.recognition.reader import FrameLimits

LOOPBACK_NAMES = ("127.0.0.1", "localhost", "::1")
SHORTEST_TOKEN = 16

Networks = tuple[IPv4Network | IPv6Network, ...]


@dataclass(frozen=True)
class WebSettings:
    """Limits and access of the page and the API.

    ``tokens``: the tokens of users; empty: everyone who reaches the address may use it. ``hosts``: accepted host names,
    besides those of loopback; empty with tokens: any. ``allowed_urls``: hosts that pictures may be fetched from, with a
    port if it is not the usual one. ``trusted``: networks whose clients need no token.
    """

    tokens: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    allowed_urls: tuple[str, ...] = ()
    trusted: Networks = ()
    limits: FrameLimits = field(default_factory=FrameLimits)
    max_body: int = 128 << 20
    """Bytes of a request with pictures, all files together."""
    max_video: int = 1 << 30
    """Bytes of one video."""
    max_files: int = 64
    """Pictures of one request."""
    rate: float = 20.0
    """Pictures per second for one token; the first `burst` may come at once."""
    burst: int = 200
    workers: int = 4
    """Pictures read at the same time."""
    waiting: int = 64
    """Pictures that may wait for a worker; more are refused."""
    idle: float = 30.0
    """Seconds without a byte after which a sender or a receiver is disconnected."""
    short: float = 10.0
    """Seconds for a whole short body: a login, an address, an entry."""
    whole: float = 300.0
    """Seconds to send a request with pictures."""
    whole_video: float = 3600.0
    """Seconds to send a video."""
    max_held: int = 512 << 20
    """Bytes of all requests in memory together; one token or address may hold half of them."""
    max_stored: int = 4 << 30
    """Bytes of all videos on disk together; shared as for `max_held`."""
    streams: int = 200
    """Streams of events open at the same time."""

    def __post_init__(self) -> None:
        for token in self.tokens:
            if len(token) < SHORTEST_TOKEN or not token.isascii() or not token.isprintable() or " " in token:
                raise InputError(
                    f"token: expected {SHORTEST_TOKEN} characters or more of ASCII without spaces, got {len(token)}"
                )


def networks_of(names: Iterable[str]) -> Networks:
    """Networks as people write them, 192.168.0.0/16, or single addresses -> networks.

    Raises:
        InputError: one is neither.
    """
    try:
        return tuple(map(ip_network, names))
    except ValueError as error:
        raise InputError(f"--trust: expected a network such as 192.168.0.0/16: {error}") from error
