"""The possible calls to a Triton server and their results, independent of the transport.

NVIDIA's clients, for HTTP and gRPC, blocking and asynchronous, have the same methods with the same arguments, but their
own tensor classes. So a call gets the library and its client.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
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


class Call(ABC, Generic[T_co]):
    """One call to a Triton server with a result of type ``T_co``."""

    restricted: bool
    """Whether the server may require its control key."""

    @abstractmethod
    def ask(self, library: Any, client: Any, options: Mapping[str, Any]) -> Any:
        """Send it with one of NVIDIA's clients -> the answer, or an awaitable from an asynchronous client.

        ``options``: what the transport passes with every call.
        """

    @abstractmethod
    def parse(self, answer: Any) -> T_co:
        """The client's answer, JSON for gRPC messages -> the result.

        Raises:
            ServerError, ValueError, KeyError: it is not an answer to this call.
        """


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


@dataclass(frozen=True)
class Infer(Call[Tensors]):
    """Runs a model on arrays -> some of its outputs, by name.

    ``timeout``: seconds after which the server abandons the request; None: never.
    """

    model: str
    inputs: Sequence[Input]
    outputs: Sequence[TensorSpec]
    parameters: Mapping[str, Parameter] | None = None
    timeout: float | None = None
    restricted = False

    def ask(self, library: Any, client: Any, options: Mapping[str, Any]) -> Any:
        return client.infer(
            self.model,
            [given.tensor(library) for given in self.inputs],
            outputs=[library.InferRequestedOutput(spec.name) for spec in self.outputs],
            parameters=self.parameters,
            timeout=None if self.timeout is None else max(1, round(self.timeout * 1e6)),  # 0 would be no limit
            **options,
        )

    def parse(self, answer: Any) -> Tensors:
        """See `Call.parse`. Triton's response cache stores errors as successes without outputs."""
        outputs = {spec.name: answer.as_numpy(spec.name) for spec in self.outputs}
        missing = [name for name, array in outputs.items() if array is None]
        if missing:
            raise ServerError(f"the answer lacks {', '.join(missing)}")
        return outputs


@dataclass(frozen=True)
class _Method(Call[T_co]):
    name: str
    arguments: Mapping[str, Any]
    read: Callable[[Any], T_co]
    restricted: bool = False

    def ask(self, library: Any, client: Any, options: Mapping[str, Any]) -> Any:
        return getattr(client, self.name)(**self.arguments, **options)

    def parse(self, answer: Any) -> T_co:
        return self.read(answer)


def infer(
    model: ModelSpec,
    *inputs: Input,
    outputs: Sequence[TensorSpec] | None = None,
    parameters: Mapping[str, Parameter] | None = None,
    timeout: float | None = None,
) -> Infer:
    """Run a model of the contract on arrays -> its outputs by name: all, or only ``outputs``."""
    return Infer(model.name, inputs, model.outputs if outputs is None else outputs, parameters, timeout)


def is_live() -> Call[bool]:
    """Whether the server answers at all."""
    return _Method("is_server_live", {}, bool)


def is_ready() -> Call[bool]:
    """Whether the server reports that all its models are ready."""
    return _Method("is_server_ready", {}, bool)


def is_model_ready(model: str) -> Call[bool]:
    return _Method("is_model_ready", {"model_name": model}, bool)


def server_metadata() -> Call[Json]:
    return _Method("get_server_metadata", {}, dict)


def model_metadata(model: str) -> Call[Json]:
    """A model's tensors, and its versions in service."""
    return _Method("get_model_metadata", {"model_name": model}, dict)


def model_config(model: str) -> Call[Json]:
    return _Method(
        "get_model_config", {"model_name": model}, lambda answer: answer.get("config", answer), restricted=True
    )


def load(model: str, config: Mapping[str, Any] | None = None) -> Call[None]:
    """Load a model from its folder, with ``config`` instead of the folder's own if given."""
    override = None if config is None else json.dumps(config)
    return _Method("load_model", {"model_name": model, "config": override}, _nothing, restricted=True)


def unload(model: str) -> Call[None]:
    return _Method("unload_model", {"model_name": model}, _nothing, restricted=True)


def repository_index() -> Call[list[Json]]:
    """Every version of every model that the server knows: name, version, state, reason."""
    return _Method("get_model_repository_index", {}, lambda answer: _rows(answer, "models"), restricted=True)


def statistics(model: str = "", version: str = "") -> Call[list[Json]]:
    """Triton's statistics of each version of all loaded models, or of one. Over gRPC, large numbers are strings."""
    return _Method(
        "get_inference_statistics",
        {"model_name": model, "model_version": version},
        lambda answer: _rows(answer, "model_stats"),
        restricted=True,
    )


def register_memory(region: str, size: int) -> Call[None]:
    """Map ``size`` bytes of a region of /dev/shm in the server, under the same name."""
    return _Method(
        "register_system_shared_memory",
        {"name": region, "key": f"/{region}", "byte_size": size},
        _nothing,
        restricted=True,
    )


def unregister_memory(region: str) -> Call[None]:
    return _Method("unregister_system_shared_memory", {"name": region}, _nothing, restricted=True)


def registered_memory() -> Call[set[str]]:
    return _Method(
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
