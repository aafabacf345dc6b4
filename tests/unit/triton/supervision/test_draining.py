"""When a server has answered all requests: its models are unloaded, or start to end."""

from plate_nets.triton.supervision.draining import finish_requests
from tests.fakes.stub_server import StubServer

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
