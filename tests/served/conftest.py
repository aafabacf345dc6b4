"""Shared by the served tests, besides the server in tests/conftest.py."""

import os
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import tritonclient.http
from numpy.typing import NDArray

from plate_nets.client import PlateClient
from tests.container import IMAGE, deployed
from tests.serve import Served as Served  # where tests look for it


@pytest.fixture(scope="module")
def neighbour(request: pytest.FixtureRequest) -> Iterator[Served]:
    """A server that sees this machine's shared memory. A container only does if told to, and as the same user."""
    if image := os.environ.get(IMAGE):
        with deployed(image, ("--ipc", "host", "--user", f"{os.getuid()}:{os.getgid()}")) as container:
            yield container.served()
    else:
        yield request.getfixturevalue("served")


@pytest.fixture
def http_client(served: Served) -> Iterator[PlateClient]:
    """A client for tests of what is the same over both protocols."""
    with PlateClient(served.http, timeout=120) as client:
        yield client


@pytest.fixture(params=["http", "grpc"])
def client(served: Served, request: pytest.FixtureRequest) -> Iterator[PlateClient]:
    """A client of each protocol in turn."""
    with PlateClient(served.url(request.param), request.param, timeout=120) as client:
        yield client


def http_infer(url: str, inputs: dict[str, NDArray[Any]]) -> tritonclient.http.InferResult:
    """Send arrays to `plate_recognition` unchanged, including dtypes and shapes -> all outputs."""
    kinds = {"uint8": "UINT8", "float32": "FP32", "int8": "INT8"}
    tensors = []
    for name, array in inputs.items():
        tensor = tritonclient.http.InferInput(name, array.shape, kinds[array.dtype.name])
        tensors.append(tensor.set_data_from_numpy(np.ascontiguousarray(array)))
    with tritonclient.http.InferenceServerClient(url, network_timeout=120) as client:
        return client.infer("plate_recognition", tensors)
