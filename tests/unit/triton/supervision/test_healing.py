"""What a model is reloaded with, as a stub received it."""

import json

import pytest

from plate_nets.common.errors import ServerError
from plate_nets.triton.supervision.healing import GENERATION, heal
from tests.fakes.stub_server import CONFIG, StubServer

KEY = "0123456789abcdef"


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
