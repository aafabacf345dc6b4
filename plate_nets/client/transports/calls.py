"""The possible calls to a Triton server and their results, independent of the transport.

NVIDIA's clients, for HTTP and gRPC, blocking and asynchronous, have the same methods with the same arguments, but their
own tensor classes. So a call gets the library and its client.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from plate_nets.common.errors import ServerError
from plate_nets.contract import ModelSpec, TensorSpec

T_co = TypeVar("T_co", covariant=True)
Json = dict[str, Any]
Tensors = dict[str, NDArray[Any]]
"""Arrays by output name."""

Parameter = str | int | bool
"""The value of a request parameter."""

_WIRE_DTYPES = {"STRING": "BYTES"}
"""Dtypes that have another name in a request than in a config."""


@dataclass(frozen=True)
class Call(Generic[T_co]):
    """One call to a Triton server: a method of NVIDIA's clients, and its arguments.

    ``parse``: the client's answer, JSON for gRPC messages -> the result; raises ServerError, ValueError or KeyError if
    it is not an answer to this call. ``restricted``: whether the server may require its control key.
    """

    method: str
    arguments: Mapping[str, Any]
    parse: Callable[[Any], T_co]
    restricted: bool = False

    def ask(self, library: Any, client: Any, options: Mapping[str, Any]) -> Any:
        """Send it with one of NVIDIA's clients -> the answer, or an awaitable from an asynchronous client.

        ``options``: what the transport passes with every call.
        """
        return getattr(client, self.method)(**self.arguments, **options)


@dataclass(frozen=True)
class Input:
    """An array for an input of a model. With ``region``, its bytes are in that shared memory and not sent."""

    spec: TensorSpec
    array: NDArray[Any]
    region: str | None = None

    def tensor(self, library: Any) -> Any:
        dtype = _WIRE_DTYPES.get(self.spec.dtype, self.spec.dtype)
        tensor = library.InferInput(self.spec.name, list(self.array.shape), dtype)
        if self.region:
            return tensor.set_shared_memory(self.region, self.array.nbytes)
        return tensor.set_data_from_numpy(np.ascontiguousarray(self.array))


@dataclass(frozen=True, kw_only=True)
class Infer(Call[Tensors]):
    """Runs a model on arrays -> some of its outputs, by name."""

    inputs: Sequence[Input]

    def ask(self, library: Any, client: Any, options: Mapping[str, Any]) -> Any:
        outputs = [library.InferRequestedOutput(name) for name in self.arguments["outputs"]]
        arguments = {**self.arguments, "inputs": [given.tensor(library) for given in self.inputs], "outputs": outputs}
        return client.infer(**arguments, **options)


def infer(
    model: ModelSpec,
    *inputs: Input,
    outputs: Sequence[TensorSpec] | None = None,
    parameters: Mapping[str, Parameter] | None = None,
    timeout: float | None = None,
) -> Infer:
    """Run a model of the contract on arrays -> its outputs by name: all, or only ``outputs``.

    ``timeout``: seconds after which the server abandons the request; None: never.
    """
    names = [spec.name for spec in (model.outputs if outputs is None else outputs)]
    arguments = {
        "model_name": model.name,
        "outputs": names,
        "parameters": parameters,
        "timeout": None if timeout is None else max(1, round(timeout * 1e6)),  # 0 would be no limit
    }
    return Infer("infer", arguments, partial(_arrays, names), inputs=inputs)


def _arrays(names: Sequence[str], answer: Any) -> Tensors:
    """The outputs of an answer. Triton's response cache stores errors as successes without outputs."""
    outputs = {name: answer.as_numpy(name) for name in names}
    missing = [name for name, array in outputs.items() if array is None]
    if missing:
        raise ServerError(f"the answer lacks {', '.join(missing)}")
    return outputs


def is_live() -> Call[bool]:
    """Whether the server answers at all."""
    return Call("is_server_live", {}, bool)


def is_ready() -> Call[bool]:
    """Whether the server reports that all its models are ready."""
    return Call("is_server_ready", {}, bool)


def is_model_ready(model: str) -> Call[bool]:
    return Call("is_model_ready", {"model_name": model}, bool)


def server_metadata() -> Call[Json]:
    return Call("get_server_metadata", {}, dict)


def model_metadata(model: str) -> Call[Json]:
    """A model's tensors, and its versions in service."""
    return Call("get_model_metadata", {"model_name": model}, dict)


def model_config(model: str) -> Call[Json]:
    return Call("get_model_config", {"model_name": model}, lambda answer: answer.get("config", answer), restricted=True)


def load(model: str, config: Mapping[str, Any] | None = None) -> Call[None]:
    """Load a model from its folder, with ``config`` instead of the folder's own if given."""
    override = None if config is None else json.dumps(config)
    return Call("load_model", {"model_name": model, "config": override}, _nothing, restricted=True)


def unload(model: str) -> Call[None]:
    return Call("unload_model", {"model_name": model}, _nothing, restricted=True)


def repository_index() -> Call[list[Json]]:
    """Every version of every model that the server knows: name, version, state, reason."""
    return Call("get_model_repository_index", {}, lambda answer: _rows(answer, "models"), restricted=True)


def statistics(model: str = "", version: str = "") -> Call[list[Json]]:
    """Triton's statistics of each version of all loaded models, or of one. Over gRPC, large numbers are strings."""
    return Call(
        "get_inference_statistics",
        {"model_name": model, "model_version": version},
        lambda answer: _rows(answer, "model_stats"),
        restricted=True,
    )


def register_memory(region: str, size: int) -> Call[None]:
    """Map ``size`` bytes of a region of /dev/shm in the server, under the same name."""
    return Call(
        "register_system_shared_memory",
        {"name": region, "key": f"/{region}", "byte_size": size},
        _nothing,
        restricted=True,
    )


def unregister_memory(region: str) -> Call[None]:
    return Call("unregister_system_shared_memory", {"name": region}, _nothing, restricted=True)


def registered_memory() -> Call[set[str]]:
    return Call(
        "get_system_shared_memory_status",
        {},
        lambda answer: {region["name"] for region in _rows(answer, "regions")},
        restricted=True,
    )


def _rows(answer: Any, name: str) -> list[Json]:
    """The rows of an answer: a list (HTTP), or a list or a map under a name (gRPC), which is missing without rows."""
    rows = answer.get(name, ()) if isinstance(answer, dict) else answer
    return list(rows.values() if isinstance(rows, dict) else rows)


def _nothing(_: Any) -> None:
    return None
