"""A name of several servers, resolved again and again: `dns:///plates:8001`, as gRPC writes it."""

import socket
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace

from plate_nets.client.url import ServerAddress, parse_url
from plate_nets.errors import InputError
from plate_nets.lasting import LastingThread

PREFIX = "dns:///"
INTERVAL = 5.0
"""Seconds between two resolutions."""


def parse_urls(urls: Sequence[str], protocol: str) -> tuple[list[ServerAddress], list[ServerAddress]]:
    """What a user writes -> the addresses, and of each ``dns:///host:port`` the name to resolve.

    Raises:
        InputError: there is none, or one is not an address; a name's servers speak without encryption, for their
            certificates hold no addresses.
    """
    if not urls:
        raise InputError("url: expected an address, got none")
    addresses = [parse_url(url, protocol) for url in urls if not url.startswith(PREFIX)]
    names = [parse_url(url.removeprefix(PREFIX), protocol) for url in urls if url.startswith(PREFIX)]
    for name in names:
        if name.encrypted:
            raise InputError(f"url: {PREFIX}{name}: expected http or grpc; list servers that encrypt one by one")
    return addresses, names


def resolve(name: ServerAddress) -> list[ServerAddress]:
    """A name -> the addresses that it has now, of the family that the system prefers.

    Raises:
        OSError: it has none, or nobody knows.
    """
    found = socket.getaddrinfo(name.host, name.port, type=socket.SOCK_STREAM)
    family = found[0][0]
    hosts = {str(address[0]) for kind, _, _, _, address in found if kind == family}
    brackets = "[{}]" if family == socket.AF_INET6 else "{}"
    return [replace(name, host=brackets.format(host)) for host in sorted(hosts)]


class NameWatch(LastingThread):
    """Resolves names every `INTERVAL` seconds, in a thread of its own, for a resolver may take its time.

    ``changed``: gets the addresses of all names, first as soon as there are any. Those of a name that does not resolve
    stay what they were. It says whether to go on.
    """

    def __init__(self, names: Sequence[ServerAddress], changed: Callable[[list[ServerAddress]], bool]) -> None:
        self._ended = threading.Event()
        super().__init__("plates-names", self._resolve, ending=self._ended, last=self._ended.set)
        self._known: dict[ServerAddress, list[ServerAddress]] = {name: [] for name in names}
        self._changed = changed
        self.first = threading.Event()
        """Set once all were asked for."""
        self.fault = ""
        """Why the last name that did not resolve did not."""

    def _resolve(self) -> bool:
        for name in self._known:
            try:
                self._known[name] = resolve(name)
            except OSError as error:
                self.fault = f"{PREFIX}{name}: {error.strerror or error}"
        if not self._changed([each for known in self._known.values() for each in known]):
            return False
        self.first.set()
        return not self._ended.wait(INTERVAL)

    def end(self) -> None:
        """Resolve no more."""
        self._ended.set()
