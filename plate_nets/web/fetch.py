"""Fetches pictures from addresses: only from allowed hosts, and only from the address that their name resolves to.

The name is resolved once and the connection goes to that address, so it cannot change a moment later (DNS rebinding).
A name that resolves to this machine or into a private network is refused, even if it is on the list; an IP address on
the list is allowed as it is.
"""

import asyncio
import ipaddress
import socket
from collections.abc import Awaitable, Callable, Sequence

import httpx

from plate_nets.common.error_codes import NOT_ALLOWED
from plate_nets.common.errors import InputError, InputTooLarge
from plate_nets.common.proxies import is_address
from plate_nets.web.faults import Refused
from plate_nets.web.uploads import Upload, plain_name

Resolve = Callable[[str], Awaitable[Sequence[str]]]
"""A host's name -> its addresses."""

_SECONDS = 15.0


async def resolve(name: str) -> list[str]:
    """A host's name -> its addresses, from the system's resolver."""
    found = await asyncio.get_running_loop().getaddrinfo(name, None, type=socket.SOCK_STREAM)
    return [str(address[0]) for *_, address in found]


class PictureFetcher:
    """Fetches pictures from allowed hosts.

    Args:
        allowed: hosts, as `host` or `host:port`; empty: nothing is fetched.
        max_bytes: maximum size of a picture.
        resolve: a name -> its addresses.
    """

    def __init__(self, allowed: Sequence[str], max_bytes: int, resolve: Resolve = resolve) -> None:
        self._allowed = frozenset(each.lower() for each in allowed)
        self._max_bytes = max_bytes
        self._resolve = resolve

    async def fetch(self, address: str) -> Upload:
        """Fetch the picture at an address.

        Raises:
            Refused: the address is not allowed.
            InputTooLarge: it has too many bytes.
            InputError: it is not an address, or gives no picture.
        """
        url = self._check(address)
        pinned = url.copy_with(host=await self._address(url.host))
        try:
            async with asyncio.timeout(_SECONDS):
                return Upload(plain_name(url.path), await self._load(pinned, url))
        except (httpx.HTTPError, httpx.InvalidURL, TimeoutError) as error:
            raise InputError(f"url: {url.host} gave no picture: {type(error).__name__}") from error

    def _check(self, address: str) -> httpx.URL:
        try:
            url = httpx.URL(address)
        except httpx.InvalidURL as error:
            raise InputError("url: expected an http or https address") from error
        if url.scheme not in ("http", "https") or not url.host or url.userinfo:
            raise InputError("url: expected an http or https address without a user")
        named = url.netloc.decode("ascii").lower()
        if named not in self._allowed:
            raise Refused(NOT_ALLOWED, "url: host not allowed; expected one of --allow-url")
        return url

    async def _address(self, host: str) -> str:
        if is_address(host):
            return host
        try:
            found = await self._resolve(host)
        except OSError as error:
            raise InputError(f"url: {host} has no address") from error
        if not found or not all(ipaddress.ip_address(each.partition("%")[0]).is_global for each in found):
            raise Refused(NOT_ALLOWED, f"url: {host} leads to this machine or a private network")
        return found[0]

    async def _load(self, pinned: httpx.URL, url: httpx.URL) -> bytes:
        headers = {"Host": url.netloc.decode("ascii"), "Accept-Encoding": "identity"}
        async with (
            httpx.AsyncClient(follow_redirects=False, trust_env=False, timeout=_SECONDS) as client,
            client.stream("GET", pinned, headers=headers, extensions={"sni_hostname": url.host}) as answer,
        ):
            if answer.status_code != httpx.codes.OK:
                raise InputError(f"url: {url.host} answered {answer.status_code}")
            encoded = bytearray()
            async for part in answer.aiter_raw():
                encoded += part
                if len(encoded) > self._max_bytes:
                    raise InputTooLarge(f"url: expected at most {self._max_bytes} bytes, got more")
            return bytes(encoded)
