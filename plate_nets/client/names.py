"""A DNS name of several servers that is resolved repeatedly: `dns:///plates:8001`, in gRPC's notation."""

import socket
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace

from plate_nets.client.url import ServerAddress, parse_url
from plate_nets.common.errors import InputError
from plate_nets.common.threads import LastingThread

PREFIX = "dns:///"
INTERVAL = 5.0
"""Seconds between two resolutions."""


def parse_urls(urls: Sequence[str], protocol: str) -> tuple[list[ServerAddress], list[ServerAddress]]:
    """Parse the user's URLs -> the addresses, and the names to resolve from ``dns:///host:port``.

    Raises:
        InputError: there are none, or one is not an address. Names do not allow encryption, because the servers'
            certificates contain no IP addresses.
    """
    if not urls:
        raise InputError("url: expected an address, got none")
    addresses = [parse_url(url, protocol) for url in urls if not url.startswith(PREFIX)]
    names = [parse_url(url.removeprefix(PREFIX), protocol) for url in urls if url.startswith(PREFIX)]
    for name in names:
        if name.encrypted:
            raise InputError(f"url: {PREFIX}{name}: expected http or grpc; list encrypted servers one by one")
    return addresses, names


def resolve(name: ServerAddress) -> list[ServerAddress]:
    """A name -> its current addresses, of the address family that the system prefers.

    Raises:
        OSError: it cannot be resolved.
    """
    found = socket.getaddrinfo(name.host, name.port, type=socket.SOCK_STREAM)
    family = found[0][0]
    hosts = {str(address[0]) for kind, _, _, _, address in found if kind == family}
    brackets = "[{}]" if family == socket.AF_INET6 else "{}"
    return [replace(name, host=brackets.format(host)) for host in sorted(hosts)]


class NameWatch(LastingThread):
    """Resolves names every `INTERVAL` seconds in its own thread, because a resolver may be slow.

    ``changed``: called with the addresses of all names, and returns whether to continue. A name that cannot be resolved
    keeps its addresses.
    """

    def __init__(self, names: Sequence[ServerAddress], changed: Callable[[list[ServerAddress]], bool]) -> None:
        self._ended = threading.Event()
        super().__init__("plates-names", self._resolve, ending=self._ended, ended=self._ended.set)
        self._known: dict[ServerAddress, list[ServerAddress]] = {name: [] for name in names}
        self._changed = changed
        self.first = threading.Event()
        """Set once all names were resolved or failed."""
        self.fault = ""
        """Why a name could not be resolved, the last one if several."""

    def _resolve(self) -> bool:
        for name in self._known:
            try:
                self._known[name] = resolve(name)
            except OSError as error:
                self.fault = f"{PREFIX}{name}: {error.strerror or error}"
        if not self._changed([address for known in self._known.values() for address in known]):
            return False
        self.first.set()
        return not self._ended.wait(INTERVAL)

    def end(self) -> None:
        self._ended.set()
