"""What `plates web` accepts, from whom and how much."""

from dataclasses import dataclass, field

from plate_nets.errors import InputError
from plate_nets.recognition.reader import FrameLimits

LOOPBACK_NAMES = ("127.0.0.1", "localhost", "::1")
SHORTEST_TOKEN = 16


@dataclass(frozen=True)
class WebSettings:
    """Bounds and access of the page and the API.

    ``tokens``: of those who may use it; empty: whoever reaches the address. ``hosts``: names that it is asked by,
    beside the loopback's own; empty with tokens: any. ``allowed_urls``: hosts, with a port where it is not the usual
    one, that pictures may be fetched from.
    """

    tokens: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    allowed_urls: tuple[str, ...] = ()
    limits: FrameLimits = field(default_factory=FrameLimits)
    max_body: int = 128 << 20
    """Bytes of one request with pictures, all files together."""
    max_video: int = 1 << 30
    """Bytes of one video."""
    max_files: int = 64
    """Pictures of one request."""
    rate: float = 20.0
    """Pictures a second that one token has; the first `burst` come at once."""
    burst: int = 200
    workers: int = 4
    """Pictures that are read at once."""
    waiting: int = 64
    """Pictures that wait for that; a further one is refused."""
    idle: float = 30.0
    """Seconds without a byte after which a sender or a receiver is given up."""
    short: float = 10.0
    """Seconds that a short body may take as a whole: a login, an address, an entry."""
    whole: float = 300.0
    """Seconds that a request with pictures may take to be sent."""
    whole_video: float = 3600.0
    """Seconds that a video may take to be sent."""
    max_held: int = 512 << 20
    """Bytes of all requests together that are in memory; one token or address has a half of them at most."""
    max_stored: int = 4 << 30
    """Bytes of all videos together that are on disk; as for `max_held`."""
    streams: int = 200
    """Streams of events that are open at once."""

    def __post_init__(self) -> None:
        for token in self.tokens:
            if len(token) < SHORTEST_TOKEN or not token.isascii() or not token.isprintable() or " " in token:
                raise InputError(
                    f"token: expected {SHORTEST_TOKEN} characters or more of ASCII without spaces, got {len(token)}"
                )
