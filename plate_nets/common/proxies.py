"""The proxies that the environment names, for clients that would use one to reach this machine itself."""

import http.client
import ipaddress
import os
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass

from plate_nets.common.credentials import hide_credentials


@dataclass(frozen=True)
class Proxy:
    variable: str
    url: str
    """Without credentials."""

    def __str__(self) -> str:
        return f"the proxy {self.url} of {self.variable}, which no_proxy can exclude this host from"


def proxy_for(host: str, variables: Sequence[str]) -> Proxy | None:
    """The proxy for connections to a host, from the first of these variables that is set; None: they go directly.

    This machine itself and the hosts of ``no_proxy`` (names with their subdomains, addresses, networks such as
    10.0.0.0/8) are reached without one.
    """
    if _is_excluded(host):
        return None
    found = ((name, os.environ.get(name)) for name in variables)
    return next((Proxy(name, hide_credentials(url)) for name, url in found if url), None)


def http_variables(scheme: str) -> tuple[str, ...]:
    """The variables that httpx reads for ``http`` or ``https``, the strongest first."""
    return (f"{scheme}_proxy", f"{scheme.upper()}_PROXY", "all_proxy", "ALL_PROXY")


def exclude(host: str) -> None:
    """Add an address that is reached directly to no_proxy, for libraries that follow nothing else.

    It stays there: what reads the variable meanwhile must not find it half restored, and it changes no other answer of
    `proxy_for`. Names and ``*`` are understood by all libraries, so only ``localhost`` and addresses are added.
    """
    name = host.strip("[]").lower()
    named = os.environ.get("no_proxy") or os.environ.get("NO_PROXY") or ""
    if not _is_excluded(host) or name in named.split(",") or named.strip() == "*":
        return
    if name == "localhost" or is_address(name):
        os.environ["no_proxy"] = f"{named},{name}".lstrip(",")


def open_url(url: str, timeout: float) -> http.client.HTTPResponse:
    """`urllib.request.urlopen` for an ``http://`` address, by way of a proxy only if `proxy_for` names one.

    Raises:
        OSError, ValueError, http.client.HTTPException: no answer, or an error status.
    """
    host = urllib.request.Request(url).host.rpartition("@")[2]
    proxies: dict[str, str] | None = None if proxy_for(_without_port(host), http_variables("http")) else {}
    answer: http.client.HTTPResponse = urllib.request.build_opener(urllib.request.ProxyHandler(proxies)).open(
        url, timeout=timeout
    )
    return answer


def _is_excluded(host: str) -> bool:
    name = host.strip("[]").lower().rstrip(".")
    named = os.environ.get("no_proxy") or os.environ.get("NO_PROXY") or ""
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        return name == "localhost" or bool(urllib.request.proxy_bypass_environment(name, {"no": named}))  # type: ignore[attr-defined]
    return address.is_loopback or any(_contains(each.strip(), address) for each in named.split(","))


def is_address(host: str) -> bool:
    """Whether a host is an IP address, and not a name."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _contains(excluded: str, address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    try:
        return excluded == "*" or address in ipaddress.ip_network(excluded.strip("[]"), strict=False)
    except ValueError:  # a name
        return False


def _without_port(place: str) -> str:
    """``host:port`` -> the host; IPv6 addresses are in brackets."""
    return place.partition("]")[0].lstrip("[") if place.startswith("[") else place.partition(":")[0]
