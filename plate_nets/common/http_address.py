"""The address of an HTTP service that this process sends to."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import httpx

from plate_nets.common.credentials import hide_credentials
from plate_nets.common.errors import InputError
from plate_nets.common.proxies import Proxy, http_variables, proxy_for

_DIRECT: Mapping[str, None] = {"all://": None, "http://": None, "https://": None}


@dataclass(frozen=True)
class HttpAddress:
    """An address without the user and the password that it came with: httpx would log them.

    ``proxy``: that of the environment, or None if the host is reached without one.
    """

    url: httpx.URL
    auth: tuple[str, str] | None
    proxy: Proxy | None

    @property
    def options(self) -> dict[str, Any]:
        """The options of httpx's clients: basic authentication, and no other proxy."""
        return {"auth": self.auth, "mounts": {} if self.proxy else _DIRECT}


def http_address(what: str, url: str) -> HttpAddress:
    """The address as its user wrote it -> the address.

    ``what``: the service, for messages.

    Raises:
        InputError: it is no ``http://`` or ``https://`` URL.
    """
    try:
        address = httpx.URL(url)
    except httpx.InvalidURL as error:
        raise InputError(f"{what} {hide_credentials(url)}: {error}") from error
    if address.scheme not in ("http", "https") or not address.host:
        raise InputError(f"{what}: expected an http:// or https:// URL, got {hide_credentials(url)}")
    auth = (address.username, address.password) if address.userinfo else None
    proxy = proxy_for(address.host, http_variables(address.scheme))
    return HttpAddress(address.copy_with(username=None, password=None), auth, proxy)
