"""Addresses as users write them."""

import pytest

from plate_nets.client.url import ServerAddress, parse_url
from plate_nets.common.errors import InputError


@pytest.mark.parametrize(
    ("url", "protocol", "expected"),
    [
        ("localhost:8000", "http", ServerAddress("localhost", 8000, "http")),
        ("localhost", "http", ServerAddress("localhost", 8000, "http")),
        ("localhost", "grpc", ServerAddress("localhost", 8001, "grpc")),
        ("http://localhost:9000/", "http", ServerAddress("localhost", 9000, "http")),
        ("grpc://10.0.0.1:9001", "http", ServerAddress("10.0.0.1", 9001, "grpc")),
        ("https://plates.example:443", "grpc", ServerAddress("plates.example", 443, "http", encrypted=True)),
        ("grpcs://plates.example", "http", ServerAddress("plates.example", 8001, "grpc", encrypted=True)),
    ],
)
def test_an_address_contains_host_port_and_protocol(url: str, protocol: str, expected: ServerAddress) -> None:
    assert parse_url(url, protocol) == expected
    assert parse_url(expected.url) == expected
    assert str(expected) == f"{expected.host}:{expected.port}"


@pytest.mark.parametrize("url", ["", ":8000", "host:port", "host:-1", "host:0", "host:65536", "host:" + "9" * 5000])
def test_an_address_without_a_host_or_with_no_port_of_tcp_is_refused(url: str) -> None:
    with pytest.raises(InputError, match="url: expected host:port, got"):
        parse_url(url)
