"""Which hosts are reached by the proxy of the environment."""

import os
import urllib.error
from collections.abc import Callable

import pytest

from plate_nets.common.proxies import exclude, http_variables, open_url, proxy_for
from tests.receiver import Receiver

PROXY = "http://ann:s3cret@proxy.example:3128"


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST", "127.0.0.1", "127.9.9.9", "::1", "[::1]", "localhost."])
def test_this_machine_is_reached_directly(proxied: Callable[..., None], host: str) -> None:
    proxied(PROXY)
    assert proxy_for(host, ["http_proxy"]) is None


@pytest.mark.parametrize("variable", ["no_proxy", "NO_PROXY"])
@pytest.mark.parametrize(
    ("excluded", "host", "direct"),
    [
        ("", "10.1.2.3", False),
        ("*", "10.1.2.3", True),
        ("*", "triton.example", True),
        ("10.1.2.3", "10.1.2.3", True),
        ("other, 10.0.0.0/8 ,more", "10.1.2.3", True),
        ("10.1.2.9/8", "10.1.2.3", True),
        ("192.168.0.0/16", "10.1.2.3", False),
        ("fd00::/8", "[fd00::5]", True),
        ("example", "triton.example", True),
        (".example", "triton.example", True),
        ("ample", "triton.example", False),
        ("300.1.1.1/99,,/", "10.1.2.3", False),
    ],
)
def test_no_proxy_is_followed(
    proxied: Callable[..., None], monkeypatch: pytest.MonkeyPatch, variable: str, excluded: str, host: str, direct: bool
) -> None:
    proxied(PROXY)
    monkeypatch.setenv(variable, excluded)
    assert (proxy_for(host, ["http_proxy"]) is None) is direct


def test_the_strongest_variable_names_the_proxy_without_its_password(
    proxied: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    proxied("")
    monkeypatch.setenv("ALL_PROXY", "socks5://all.example")
    monkeypatch.setenv("HTTP_PROXY", PROXY)
    found = str(proxy_for("host.example", http_variables("http")))
    told = ("the proxy http://proxy.example:3128 of HTTP_PROXY", "the proxy proxy.example:3128 of HTTP_PROXY")
    assert found.startswith(told)
    assert "s3cret" not in found
    assert str(proxy_for("host.example", http_variables("https"))).startswith("the proxy socks5://all.example of ALL_")
    assert proxy_for("host.example", ["grpc_proxy"]) is None


@pytest.mark.parametrize(
    ("excluded", "host", "after"),
    [
        ("", "127.0.0.1", "127.0.0.1"),
        ("a.example", "[::1]", "a.example,::1"),
        ("fd00::/8", "[fd00::5]", "fd00::/8,fd00::5"),
        ("a.example,localhost", "LOCALHOST", "a.example,localhost"),
        ("*", "127.0.0.1", "*"),
        ("", "10.1.2.3", ""),
        ("example", "secret.example", "example"),
    ],
)
def test_an_address_that_is_reached_directly_is_told_to_libraries(
    proxied: Callable[..., None], excluded: str, host: str, after: str
) -> None:
    proxied(PROXY, excluded)
    exclude(host)
    assert os.environ["no_proxy"] == after


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_health_and_metrics_of_this_machine_are_read_directly(
    proxied: Callable[..., None], receiver: Receiver, host: str
) -> None:
    proxied("http://127.0.0.1:9")
    with pytest.raises(urllib.error.HTTPError, match="501"):  # it answers: it has no GET
        open_url(f"http://{host}:{receiver.port}/", 30)
    with pytest.raises(urllib.error.URLError, match="refused"):
        open_url("http://host.example/", 30)
