"""Models are reloaded, and drained: what a stub of the server receives, and when it has answered all requests."""

import json

import pytest

from plate_nets.common.errors import ServerError
from plate_nets.triton.supervision.draining import finish_requests
from plate_nets.triton.supervision.healing import GENERATION, heal
from tests.fakes.stub_server import CONFIG, StubServer

KEY = "0123456789abcdef"


def test_a_model_counts_as_unloaded_once_one_of_its_processes_ended(stub: StubServer) -> None:
    """The processes of the other instances end one after another, which takes seconds."""
    living = [{6: "other", 7: "double", 8: "double"}, {7: "double", 8: "double"}, {8: "double"}]
    assert finish_requests(stub.http_url, KEY, lambda: living.pop(0), 60) == ()
    assert living == []
    assert [each.method for each in stub.asked][:2] == ["RepositoryIndex", "RepositoryModelUnload"]
    assert all(KEY in each.headers.values() for each in stub.asked)


def test_a_model_without_processes_is_done_when_triton_reports_it(stub: StubServer) -> None:
    stub.states = ["READY", "UNLOADING", "UNLOADING", "UNAVAILABLE"]
    assert finish_requests(stub.http_url, KEY, dict, 60) == ()
    assert stub.states == ["UNAVAILABLE"]


def test_a_model_that_does_not_end_in_time_is_named(stub: StubServer) -> None:
    assert finish_requests(stub.http_url, KEY, lambda: {7: "double"}, 0.3) == ("double",)


def test_a_server_that_does_not_answer_has_nothing_to_finish() -> None:
    assert finish_requests("127.0.0.1:1", KEY, lambda: {7: "double"}, 5) == ()


def test_a_model_is_loaded_by_its_config_with_another_generation(stub: StubServer) -> None:
    assert heal(stub.http_url, KEY, "double", 60) >= 0
    heal(stub.http_url, KEY, "double", 60)
    asked = stub.asked
    assert [each.method for each in asked] == ["ModelConfig", "RepositoryModelLoad"] * 2
    assert all(each.fields["name"] == "double" and KEY in each.headers.values() for each in asked)
    first, second = (json.loads(each.fields["config"]) for each in asked[1::2])
    assert first["parameters"].pop(GENERATION) != second["parameters"].pop(GENERATION)
    assert first == second == CONFIG


def test_a_load_that_takes_too_long(stub: StubServer) -> None:
    stub.pause = 0.5
    with pytest.raises(ServerError, match="no answer within"):
        heal(stub.http_url, KEY, "double", 0.1)
