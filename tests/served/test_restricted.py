"""Restricted endpoints are refused without the key on both protocols, and answer with it."""

import json
from collections.abc import Callable
from typing import Any

import pytest
import tritonclient.grpc
import tritonclient.http
from tritonclient.utils import InferenceServerException

from plate_nets.common.control_key import headers, metadata
from tests.served.conftest import Served

NOBODY = "no_model"
"""A server with explicit model control loads and unloads any model."""
SHARED = ("status", "region/x/status", "region/x/register", "unregister", "region/x/unregister")
HTTP = [
    ("POST", "v2/repository/index"),
    ("POST", f"v2/repository/models/{NOBODY}/load"),
    ("POST", f"v2/repository/models/{NOBODY}/unload"),
    ("GET", "v2/models/stn/config"),
    ("GET", "v2/models/stats"),
    ("GET", "v2/models/stn/stats"),
    ("GET", "v2/models/stn/versions/1/stats"),
    ("GET", "v2/trace/setting"),
    ("POST", "v2/trace/setting"),
    ("GET", "v2/models/stn/trace/setting"),
    ("POST", "v2/models/stn/trace/setting"),
    ("GET", "v2/logging"),
    ("POST", "v2/logging"),
    *(
        ("POST" if path.endswith("register") else "GET", f"v2/{kind}sharedmemory/{path}")
        for kind in ("system", "cuda")
        for path in SHARED
    ),
]
REFUSED = "is restricted, expecting header"


def ask(served: Served, method: str, path: str, sent: dict[str, str]) -> tuple[int, str]:
    """Send one request over HTTP -> its status and body."""
    with tritonclient.http.InferenceServerClient(served.http) as client:
        if method == "GET":
            answer = client._get(request_uri=path, headers=sent, query_params=None)
        else:
            answer = client._post(request_uri=path, request_body="{}", headers=sent, query_params=None)
        return answer.status_code, answer.read().decode()


@pytest.mark.parametrize(("method", "path"), HTTP)
def test_http_refuses_without_the_key(served: Served, method: str, path: str) -> None:
    for sent in ({}, headers("0" * 43), {"plates-control-key": ""}):
        status, body = ask(served, method, path, sent)
        assert status == 403
        assert REFUSED in json.loads(body)["error"]
        assert served.control_key not in body


@pytest.mark.parametrize(("method", "path"), [each for each in HTTP if "register" not in each[1]])
def test_http_answers_with_the_key(served: Served, method: str, path: str) -> None:
    """Loading is still refused, by the mode of model control or because there is no model; CUDA memory because there is
    no GPU."""
    status, body = ask(served, method, path, headers(served.control_key))
    assert REFUSED not in body
    refused = "explicit model load / unload is not allowed" in body or f"failed to load '{NOBODY}'" in body
    assert status == 200 or refused or "sharedmemory" in path


CALLS: dict[str, Callable[[Any, dict[str, str]], Any]] = {
    "index": lambda client, sent: client.get_model_repository_index(headers=sent),
    "load": lambda client, sent: client.load_model(NOBODY, headers=sent),
    "unload": lambda client, sent: client.unload_model(NOBODY, headers=sent),
    "config": lambda client, sent: client.get_model_config("stn", headers=sent),
    "statistics": lambda client, sent: client.get_inference_statistics(headers=sent),
    "trace": lambda client, sent: client.get_trace_settings(headers=sent),
    "trace update": lambda client, sent: client.update_trace_settings(settings={"trace_level": "OFF"}, headers=sent),
    "log": lambda client, sent: client.get_log_settings(headers=sent),
    "log update": lambda client, sent: client.update_log_settings({"log_verbose_level": 0}, headers=sent),
    "system memory": lambda client, sent: client.get_system_shared_memory_status(headers=sent),
    "system memory register": lambda client, sent: client.register_system_shared_memory("x", "/x", 1, headers=sent),
    "system memory unregister": lambda client, sent: client.unregister_system_shared_memory(headers=sent),
    "cuda memory": lambda client, sent: client.get_cuda_shared_memory_status(headers=sent),
    "cuda memory register": lambda client, sent: client.register_cuda_shared_memory("x", b"", 0, 1, headers=sent),
    "cuda memory unregister": lambda client, sent: client.unregister_cuda_shared_memory(headers=sent),
}


@pytest.mark.parametrize("call", CALLS)
def test_grpc_refuses_without_the_key(served: Served, call: str) -> None:
    with tritonclient.grpc.InferenceServerClient(served.grpc) as client:
        for sent in ({}, metadata("0" * 43), headers(served.control_key)):
            with pytest.raises(InferenceServerException, match=REFUSED) as caught:
                CALLS[call](client, sent)
            assert caught.value.status() == "StatusCode.UNAVAILABLE"
            assert served.control_key not in str(caught.value)


@pytest.mark.parametrize("call", [each for each in CALLS if "register" not in each])
def test_grpc_answers_with_the_key(served: Served, call: str) -> None:
    with tritonclient.grpc.InferenceServerClient(served.grpc) as client:
        try:
            CALLS[call](client, metadata(served.control_key))
        except InferenceServerException as error:
            assert call in ("load", "unload", "cuda memory"), error
            assert REFUSED not in str(error)
