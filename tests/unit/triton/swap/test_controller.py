"""Model control, against a stub."""

import pytest

from plate_nets.common.errors import ServerError
from plate_nets.triton.swap.controller import Controller
from tests.fakes.stub_server import ANSWERED, VERSION, StubServer

KEY = "0123456789abcdef"


@pytest.mark.parametrize("protocol", ["http", "grpc"])
def test_the_controller_loads_and_reports_versions_and_their_answers(stub: StubServer, protocol: str) -> None:
    with Controller(f"{protocol}://{stub.url(protocol)}", KEY) as controller:
        controller.load("double")
        assert controller.states("double") == {3: "READY"}
        assert controller.states("other") == {}
        assert controller.answered("double", 3) == ANSWERED
        assert all(KEY in each.headers.values() for each in stub.asked)


@pytest.mark.parametrize(("key", "value"), [("version", "3\x1b[2J"), ("version", [3]), ("name", None)])
def test_an_answer_of_another_server_is_reported_in_one_line(
    stub: StubServer, monkeypatch: pytest.MonkeyPatch, key: str, value: object
) -> None:
    if value is None:
        monkeypatch.delitem(VERSION, key)
    else:
        monkeypatch.setitem(VERSION, key, value)
    with Controller(stub.http_url) as controller, pytest.raises(ServerError) as failed:
        controller.states("double")
    assert str(failed.value) == f"{controller.url}: expected Triton's answer, got another; is it a Triton server?"
