"""Ports of one address: which are free, and whether a server answers on one."""

import http.client
import socket
from collections.abc import Mapping
from contextlib import ExitStack, closing

LOOPBACK = "127.0.0.1"


def choose_ports(requested: Mapping[str, int]) -> dict[str, int]:
    """Names to ports, 0 for any -> names to distinct ports; those that were 0 were free a moment ago."""
    chosen = dict(requested)
    with ExitStack() as held:
        for name in (name for name, port in requested.items() if port == 0):
            probe = held.enter_context(socket.socket())
            probe.bind((LOOPBACK, 0))
            chosen[name] = probe.getsockname()[1]
    return chosen


def is_free(port: int, address: str = LOOPBACK) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((address, port))
        except OSError:
            return False
    return True


def is_ready(url: str) -> bool:
    """Whether a server at ``host:port`` reports over HTTP that all its models are ready."""
    try:
        with closing(http.client.HTTPConnection(url, timeout=5)) as connection:
            connection.request("GET", "/v2/health/ready")
            return connection.getresponse().status == http.HTTPStatus.OK
    except (OSError, http.client.HTTPException):
        return False


def accepts(host: str, port: int) -> bool:
    try:
        socket.create_connection((host, port), timeout=5).close()
    except OSError:
        return False
    return True
