"""A server that speaks Triton's HTTP and gRPC, serves one model, `double`, and records requests.

Where the protocols differ, it answers as Triton 24.10 does. `StubServer.fault` and `StubServer.pause` make it fail.
"""

import contextlib
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import grpc
import numpy as np
from google.protobuf.json_format import MessageToDict, ParseDict
from numpy.typing import NDArray
from tritonclient.grpc import service_pb2, service_pb2_grpc

from tests.local_http import LocalHttp, QuietHandler

CONFIG = {"name": "double", "max_batch_size": 8, "parameters": {"KEPT": {"string_value": "as it is"}}}
METADATA = {"name": "triton", "version": "2.51.0", "extensions": ["statistics"]}
VERSION = {"name": "double", "version": "3", "state": "READY"}
VERSIONS = ["9", "10"]
ANSWERED = 7


@dataclass
class Question:
    """A request: the method by its gRPC name, its headers in lower case, and its fields."""

    method: str
    headers: Mapping[str, str]
    fields: Mapping[str, Any]


@dataclass
class StubServer:
    """Where it listens, the requests it got, and how to answer."""

    http_url: str = ""
    grpc_url: str = ""
    asked: list[Question] = field(default_factory=list)
    regions: dict[str, int] = field(default_factory=dict)
    fault: tuple[int, str, str] | None = None
    """HTTP status, gRPC status and message of all answers."""
    states: list[str] = field(default_factory=lambda: ["READY"])
    """The model's state in the index, one after another over HTTP; the last one stays."""
    connections: int = 0
    """Connections opened over HTTP."""
    pause: float = 0.0
    """Seconds before an answer."""
    outputs: bool = True
    """Whether a success has the requested outputs."""
    missing: frozenset[str] = frozenset()
    """Names of models that are not loaded."""

    def url(self, protocol: str) -> str:
        """``host:port``."""
        return self.http_url if protocol == "http" else self.grpc_url

    def take(self, method: str, headers: Mapping[str, str], **fields: Any) -> None:
        """Record a request, and do what it asks for with shared memory."""
        self.asked.append(Question(method, {name.lower(): value for name, value in headers.items()}, fields))
        time.sleep(self.pause)
        if method == "SystemSharedMemoryRegister":
            self.regions[fields["name"]] = fields["byte_size"]
        elif method == "SystemSharedMemoryUnregister":
            self.regions.pop(fields["name"], None)


@contextmanager
def stub_server() -> Iterator[StubServer]:
    """A stub on free ports that runs during the block."""
    stub = StubServer()

    class Handler(_HttpHandler):
        server_stub = stub

    over_grpc = grpc.server(ThreadPoolExecutor(8))
    service_pb2_grpc.add_GRPCInferenceServiceServicer_to_server(_Servicer(stub), over_grpc)
    with closing(LocalHttp(Handler)) as over_http:
        stub.http_url = f"127.0.0.1:{over_http.port}"
        stub.grpc_url = f"127.0.0.1:{over_grpc.add_insecure_port('127.0.0.1:0')}"
        over_grpc.start()
        try:
            yield stub
        finally:
            over_grpc.stop(None)


class _HttpHandler(QuietHandler):
    server_stub: StubServer
    protocol_version = "HTTP/1.1"

    def setup(self) -> None:
        super().setup()
        self.server_stub.connections += 1

    def do_GET(self) -> None:
        stub = self.server_stub
        match self.path.strip("/").split("/")[1:]:
            case ["health", "live"]:
                self._answer("ServerLive", None)
            case ["health", "ready"]:
                self._answer("ServerReady", None)
            case ["models", model, "ready"] if model in stub.missing:
                self.send_error(400)
            case ["models", model, "ready"]:
                self._answer("ModelReady", None, name=model)
            case [] | [""]:
                self._answer("ServerMetadata", METADATA)
            case ["models", model]:
                self._answer("ModelMetadata", {"name": model, "versions": VERSIONS}, name=model)
            case ["models", model, "config"]:
                self._answer("ModelConfig", CONFIG, name=model)
            case ["models", model, "versions", version, "stats"]:
                self._answer("ModelStatistics", {"model_stats": [_statistics()]}, name=model, version=version)
            case ["systemsharedmemory", "status"]:
                regions = [{"name": name, "byte_size": size} for name, size in stub.regions.items()]
                self._answer("SystemSharedMemoryStatus", regions)
            case _:
                self.send_error(404)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        size = int(self.headers.get("inference-header-content-length", len(body)))
        sent = json.loads(body[:size] or b"{}")
        match self.path.strip("/").split("/")[1:]:
            case ["repository", "index"]:
                states = self.server_stub.states
                self._answer("RepositoryIndex", [VERSION | {"state": states.pop(0) if states[1:] else states[0]}])
            case ["repository", "models", model, "load"]:
                self._answer("RepositoryModelLoad", None, name=model, **sent.get("parameters", {}))
            case ["repository", "models", model, "unload"]:
                self._answer("RepositoryModelUnload", None, name=model)
            case ["systemsharedmemory", "region", name, "register"]:
                self._answer("SystemSharedMemoryRegister", None, name=name, **sent)
            case ["systemsharedmemory", "region", name, "unregister"]:
                self._answer("SystemSharedMemoryUnregister", None, name=name)
            case ["models", model, "infer"]:
                (given,) = sent["inputs"]
                region = given.get("parameters", {}).get("shared_memory_region")
                array = _array(given["datatype"], given["shape"], None if region else body[size:])
                names = [each["name"] for each in sent["outputs"]]
                outputs = [
                    {"name": name, "datatype": "FP32", "shape": list(each.shape), "data": each.ravel().tolist()}
                    for name, each in _double(array, names).items()
                ]
                self._answer(
                    "ModelInfer",
                    {"model_name": model, "outputs": outputs if self.server_stub.outputs else []},
                    name=model,
                    input=given["name"],
                    dtype=given["datatype"],
                    region=region,
                    outputs=names,
                    parameters=sent.get("parameters", {}),
                )
            case _:
                self.send_error(404)

    def _answer(self, method: str, answer: Any, **fields: Any) -> None:
        stub = self.server_stub
        stub.take(method, dict(self.headers), **fields)
        status = 200
        if stub.fault:
            status, _, message = stub.fault
            answer = {"error": message}
        body = b"" if answer is None else json.dumps(answer).encode()
        with contextlib.suppress(ConnectionError):  # the client has given up
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)


class _Servicer(service_pb2_grpc.GRPCInferenceServiceServicer):  # type: ignore[misc]
    def __init__(self, stub: StubServer) -> None:
        self._stub = stub
        for method in self._answers(""):
            setattr(self, method, partial(self._answer, method))

    def _answers(self, model: str) -> dict[str, Mapping[str, Any]]:
        """Each method but `ModelInfer` -> its answer about a model."""
        return {
            "ServerLive": {"live": True},
            "ServerReady": {"ready": True},
            "ModelReady": {"ready": model not in self._stub.missing},
            "ServerMetadata": METADATA,
            "ModelMetadata": {"name": model, "versions": VERSIONS},
            "ModelConfig": {"config": CONFIG},
            "ModelStatistics": {"model_stats": [_statistics()]},
            "RepositoryIndex": {"models": [VERSION]},
            "RepositoryModelLoad": {},
            "RepositoryModelUnload": {},
            "SystemSharedMemoryStatus": {
                "regions": {name: {"name": name, "byte_size": size} for name, size in self._stub.regions.items()}
            },
            "SystemSharedMemoryRegister": {},
            "SystemSharedMemoryUnregister": {},
        }

    def _take(self, context: Any, method: str, **fields: Any) -> None:
        self._stub.take(method, dict(context.invocation_metadata()), **fields)
        if self._stub.fault:
            _, status, message = self._stub.fault
            context.abort(grpc.StatusCode[status], message)

    def _answer(self, method: str, request: Any, context: Any) -> Any:
        fields = MessageToDict(request, preserving_proto_field_name=True)
        if "model_name" in fields:
            fields["name"] = fields.pop("model_name")
        for name, value in fields.pop("parameters", {}).items():
            (fields[name],) = value.values()
        self._take(context, method, **fields)
        answer = self._answers(fields.get("name", ""))[method]
        return ParseDict(answer, getattr(service_pb2, f"{method}Response")())

    def ModelInfer(self, request: Any, context: Any) -> Any:
        (given,) = request.inputs
        region = given.parameters["shared_memory_region"].string_param or None
        array = _array(given.datatype, given.shape, None if region else request.raw_input_contents[0])
        names = [each.name for each in request.outputs]
        parameters = {
            name: getattr(value, value.WhichOneof("parameter_choice")) for name, value in request.parameters.items()
        }
        self._take(
            context,
            "ModelInfer",
            name=request.model_name,
            input=given.name,
            dtype=given.datatype,
            region=region,
            outputs=names,
            parameters=parameters,
        )
        answer = service_pb2.ModelInferResponse(model_name=request.model_name)
        for name, each in _double(array, names).items() if self._stub.outputs else ():
            answer.outputs.add(name=name, datatype="FP32", shape=each.shape)
            answer.raw_output_contents.append(each.tobytes())
        return answer


def _array(dtype: str, shape: Sequence[int], sent: bytes | None) -> NDArray[np.float32]:
    """An input array; a single zero for one in shared memory, or with a dtype that `double` does not take."""
    if sent is None or dtype != "FP32":
        return np.zeros(1, np.float32)
    return np.frombuffer(sent, np.float32).reshape(shape)


def _double(array: NDArray[np.float32], names: list[str]) -> dict[str, NDArray[np.float32]]:
    """Twice the input, under every requested name."""
    return {name: array * np.float32(2) for name in names}


def _statistics() -> dict[str, Any]:
    return {"name": "double", "version": "3", "inference_stats": {"success": {"count": ANSWERED, "ns": 1}}}
