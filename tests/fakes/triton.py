"""A stand-in for `triton_python_backend_utils`, in one process and without a server.

It refuses what Triton refuses: unknown models and tensors, missing inputs, wrong dtypes, dims and batch sizes, for
requests and responses, according to `contract.py`. Models call each other (BLS) through `server.models`.
"""

import importlib.util
import json
import re
import sys
import weakref
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from google.protobuf import json_format

from plate_nets.contract import MODELS, PLATE_RECOGNITION, ModelSpec, TensorSpec
from plate_nets.triton.config_check import parse_config

NAME = "triton_python_backend_utils"
_NUMPY = {"UINT8": np.dtype(np.uint8), "FP32": np.dtype(np.float32), "STRING": np.dtype(np.object_)}

TRITONSERVER_MEMORY_CPU = 0


class TritonModelException(Exception):
    """Triton raises it, and accepts it from `initialize`."""


class TritonError:
    """The error of one response."""

    INTERNAL, NOT_FOUND, INVALID_ARG, UNAVAILABLE = 1, 2, 3, 4

    def __init__(self, message: str, code: int = INTERNAL) -> None:
        self._message = message
        self._code = code

    def message(self) -> str:
        return self._message

    def code(self) -> int:
        return self._code


class Tensor:
    """A named array in host memory."""

    def __init__(self, name: str, array: np.ndarray) -> None:
        assert array.flags.c_contiguous, f"{name}: Triton takes dense tensors only"
        self._name = name
        self._array = array

    @staticmethod
    def from_dlpack(name: str, source: Any) -> "Tensor":
        assert not isinstance(source, np.ndarray), "a numpy capsule crashes Triton's stub"
        return Tensor(name, np.from_dlpack(source))

    def name(self) -> str:
        return self._name

    def is_cpu(self) -> bool:
        return True

    def as_numpy(self) -> np.ndarray:
        return self._array

    def __dlpack__(self, stream: Any = None) -> Any:
        # numpy exports no read-only array, and one imported by DLPack is read-only
        array = self._array if self._array.flags.writeable else _writeable(self._array)
        return array.__dlpack__()

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)


def _writeable(array: np.ndarray) -> np.ndarray:
    interface = dict(array.__array_interface__)
    interface["data"] = (interface["data"][0], False)
    holder = type("Memory", (), {"__array_interface__": interface, "owner": array})()
    return np.asarray(holder)


@dataclass(frozen=True)
class PreferredMemory:
    """Where the caller wants the response."""

    kind: int
    device: int = 0


class InferenceResponse:
    """Output tensors, or an error."""

    def __init__(self, output_tensors: Sequence[Tensor] = (), error: TritonError | None = None) -> None:
        self._tensors = list(output_tensors)
        self._error = error

    def has_error(self) -> bool:
        return self._error is not None

    def error(self) -> TritonError | None:
        return self._error

    def output_tensors(self) -> list[Tensor]:
        return self._tensors


class InferenceRequest:
    """A request to a model; `exec` sends it to `server`."""

    def __init__(
        self,
        model_name: str = "",
        requested_output_names: Sequence[str] = (),
        inputs: Sequence[Tensor] = (),
        preferred_memory: PreferredMemory | None = None,
        parameters: Mapping[str, Any] | None = None,
        timeout: int = 0,
    ) -> None:
        self.model_name = model_name
        self._requested = list(requested_output_names)
        self.preferred_memory = preferred_memory
        self._inputs = list(inputs)
        self._parameters = json.dumps(parameters or {})
        self._timeout = timeout
        self.cancelled = False

    def requested_output_names(self) -> list[str]:
        spec = MODELS[self.model_name or PLATE_RECOGNITION.name]
        return self._requested or [output.name for output in spec.outputs]

    def parameters(self) -> str:
        return self._parameters

    def timeout(self) -> int:
        return self._timeout

    def is_cancelled(self) -> bool:
        return self.cancelled

    def inputs(self) -> list[Tensor]:
        return self._inputs

    def exec(self) -> InferenceResponse:
        return server.ask(self)


class Logger:
    """Triton's log; only errors are kept."""

    lines: list[str] = []  # noqa: RUF012

    @classmethod
    def log_error(cls, message: str) -> None:
        cls.lines.append(message)

    @staticmethod
    def log_info(message: str) -> None:
        """Drop a message that is no error."""


class MetricFamily:
    """Metrics of one name. The instances of a model add to the same ones."""

    COUNTER, GAUGE, HISTOGRAM = 1, 2, 3

    def __init__(self, name: str, description: str, kind: int) -> None:
        assert re.fullmatch(r"[a-zA-Z_:][a-zA-Z0-9_:]*", name), f"{name}: not a name of Prometheus"
        assert kind in (self.COUNTER, self.GAUGE, self.HISTOGRAM)
        self._name = name
        self._kind = kind

    def Metric(self, labels: Mapping[str, str], buckets: list[float] | None = None) -> "Metric":
        if self._kind == self.HISTOGRAM:
            assert isinstance(buckets, list) and buckets == sorted(buckets), "Failed to create metric."
        else:
            assert buckets is None, "Failed to create metric. Unexpected buckets found."
        assert all(isinstance(value, str) for value in labels.values())
        return Metric(self, self._kind, self._name + json.dumps(labels) if labels else self._name)


class Metric:
    """One metric; `server.metrics` holds its value."""

    def __init__(self, family: MetricFamily, kind: int, key: str) -> None:
        self._family = weakref.ref(family)
        self._kind = kind
        self._key = key

    def increment(self, value: float) -> None:
        assert self._family() is not None, "the corresponding 'MetricFamily' has been deleted"
        assert self._kind != MetricFamily.HISTOGRAM and value >= 0
        server.metrics[self._key] = server.metrics.get(self._key, 0) + value

    def observe(self, value: float) -> None:
        assert self._family() is not None, "the corresponding 'MetricFamily' has been deleted"
        assert self._kind == MetricFamily.HISTOGRAM
        server.metrics[self._key] = server.metrics.get(self._key, 0) + 1


@dataclass
class Server:
    """Models by name, the requests they got, and their metrics (histograms: their observations)."""

    models: dict[str, Any] = field(default_factory=dict)
    asked: list[InferenceRequest] = field(default_factory=list)
    metrics: dict[str, float] = field(default_factory=dict)

    def ask(self, request: InferenceRequest) -> InferenceResponse:
        self.asked.append(request)
        model = self.models.get(request.model_name)
        if model is None:
            return _refused(f"Request for unknown model: '{request.model_name}' is not found", TritonError.NOT_FOUND)
        spec = MODELS[request.model_name]
        fault = _fault(spec, spec.inputs, request.inputs())
        if fault:
            return _refused(fault, TritonError.INVALID_ARG)
        wanted = request.requested_output_names()
        unknown = set(wanted) - {output.name for output in spec.outputs}
        if unknown:
            return _refused(f"unexpected inference output {unknown}", TritonError.INVALID_ARG)
        (response,) = model.execute([request])
        if response.has_error():
            # BLS loses the code of an error (server#7804).
            return _refused(response.error().message(), TritonError.INTERNAL)
        # Outputs that were not requested are dropped
        given = [each for each in response.output_tensors() if each.name() in wanted]
        fault = _fault(spec, [output for output in spec.outputs if output.name in wanted], given)
        assert fault is None, f"{spec.name} answers wrongly: {fault}"
        return InferenceResponse(given)

    def counts(self) -> dict[str, int]:
        """How many requests each model got."""
        names = [request.model_name for request in self.asked]
        return {name: names.count(name) for name in dict.fromkeys(names)}


server = Server()


def install() -> None:
    """Install this module under the name of Triton's own."""
    sys.modules[NAME] = sys.modules[__name__]


def load_model(path: Path, config: Path) -> Any:
    """A `model.py` and its `config.pbtxt` -> the model, initialized like an instance of Triton."""
    spec = importlib.util.spec_from_file_location(f"model_of_{path.parents[1].name}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    model = module.TritonPythonModel()
    model.initialize(model_args(config, config.parent))
    return model


def model_args(config: Path, folder: Path, **changes: Any) -> Mapping[str, str]:
    """The ``args`` of ``initialize`` for a CPU instance of a model in ``folder``."""
    parsed = json_format.MessageToDict(parse_config(config), preserving_proto_field_name=True) | changes
    return {
        "model_config": json.dumps(parsed),
        "model_instance_kind": "CPU",
        "model_instance_name": f"{parsed['name']}_0_0",
        "model_instance_device_id": "0",
        "model_repository": str(folder),
        "model_version": "1",
        "model_name": parsed["name"],
    }


def _refused(message: str, code: int) -> InferenceResponse:
    return InferenceResponse([], TritonError(message, code))


def _fault(spec: ModelSpec, expected: Sequence[TensorSpec], tensors: Sequence[Tensor]) -> str | None:
    return next(_faults(spec, expected, {tensor.name(): tensor.as_numpy() for tensor in tensors}), None)


def _faults(spec: ModelSpec, expected: Sequence[TensorSpec], arrays: Mapping[str, np.ndarray]) -> Iterator[str]:
    known = {each.name: each for each in expected}
    for name, array in arrays.items():
        if name not in known:
            yield f"unexpected tensor '{name}' for model '{spec.name}'"
            continue
        dims = ((-1,) if spec.max_batch_size else ()) + known[name].dims
        if array.dtype != _NUMPY[known[name].dtype]:
            yield f"'{name}' of '{spec.name}': expected {known[name].dtype}, got {array.dtype}"
        if len(dims) != array.ndim or any(d not in (-1, n) for d, n in zip(dims, array.shape, strict=False)):
            yield f"'{name}' of '{spec.name}': expected {dims}, got {array.shape}"
        elif spec.max_batch_size and not 1 <= len(array) <= spec.max_batch_size:
            yield f"batch of '{spec.name}': expected 1 to {spec.max_batch_size}, got {len(array)}"
    yield from (
        f"'{spec.name}' misses '{each.name}'" for each in expected if not each.optional and each.name not in arrays
    )
