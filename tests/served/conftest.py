"""One real Triton for all served tests: the embedded one, or the one at TRITON_URL (and TRITON_GRPC_URL).

The latter with its key in PLATES_CONTROL_KEY.

It never skips: where no server can be had, every test here fails with the server's own words.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import tritonclient.http
from numpy.typing import NDArray

from plate_nets.client import PlateClient, WireProtocol, parse_url
from plate_nets.control_key import KEY_VARIABLE, headers
from plate_nets.plates import default_scheme
from plate_nets.recognition.local import local_reader
from plate_nets.recognition.pipeline import PlateReader
from plate_nets.server import EmbeddedTriton
from plate_nets.types import Crops, Frame

_running: list[EmbeddedTriton] = []


@dataclass(frozen=True)
class Served:
    """Where the server listens, as ``host:port``."""

    http: str
    grpc: str
    control_key: str

    def url(self, protocol: WireProtocol) -> str:
        return self.http if protocol == "http" else self.grpc

    def executions(self, *models: str) -> list[int]:
        """How often each model ran, by Triton's own statistics."""
        with tritonclient.http.InferenceServerClient(self.http) as client:
            return [
                client.get_inference_statistics(model, headers=headers(self.control_key))["model_stats"][0].get(
                    "execution_count", 0
                )
                for model in models
            ]


@pytest.fixture(scope="session")
def served() -> Iterator[Served]:
    url = os.environ.get("TRITON_URL")
    if url:
        http, _, _ = parse_url(url, "http")
        host, _, port = http.partition(":")
        yield Served(
            http,
            parse_url(os.environ.get("TRITON_GRPC_URL", f"{host}:{int(port) + 1}"), "grpc")[0],
            os.environ.get(KEY_VARIABLE, ""),
        )
        return
    with EmbeddedTriton(exit_timeout=0) as server:
        _running.append(server)
        yield Served(server.http_url, server.grpc_url, server.control_key)
        _running.clear()


@pytest.fixture(params=["http", "grpc"])
def client(served: Served, request: pytest.FixtureRequest) -> Iterator[PlateClient]:
    """A client of each protocol in turn."""
    with PlateClient(served.url(request.param), request.param, timeout=120) as client:
        yield client


@pytest.fixture(scope="session")
def local() -> PlateReader[Frame, Crops]:
    """The same pipeline in this process."""
    return local_reader(default_scheme())


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
    report = yield
    if report.failed and _running:
        report.sections.append(("log of the server", _running[0].log_text()[-5000:]))
    return report


def http_infer(url: str, inputs: dict[str, NDArray[Any]]) -> tritonclient.http.InferResult:
    """Arrays to `plate_recognition` as they are, dtypes and shapes too; all outputs."""
    kinds = {"uint8": "UINT8", "float32": "FP32", "int8": "INT8"}
    tensors = []
    for name, array in inputs.items():
        tensor = tritonclient.http.InferInput(name, array.shape, kinds[array.dtype.name])
        tensors.append(tensor.set_data_from_numpy(np.ascontiguousarray(array)))
    with tritonclient.http.InferenceServerClient(url, network_timeout=120) as client:
        return client.infer("plate_recognition", tensors)
