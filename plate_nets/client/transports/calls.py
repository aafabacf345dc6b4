"""What a Triton can be asked and what its answers mean, whichever way they are sent.

NVIDIA's clients, for HTTP and gRPC, blocking and asynchronous, have the same methods with the same arguments, and
classes of their own for tensors. So a call is told the library and its client, and asks; the answer comes back to it.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from plate_nets.contract import ModelSpec, TensorSpec
from plate_nets.errors import ServerError

T_co = TypeVar("T_co", covariant=True)
Json = dict[str, Any]
Tensors = dict[str, NDArray[Any]]
"""Arrays by the names of their outputs."""

Parameter = str | int | bool
"""A value that a request carries beside its tensors."""

_WIRE_DTYPES = {"STRING": "BYTES"}
"""Where a request's name of a dtype is not the one of a config."""


class Call(ABC, Generic[T_co]):
    """One question to a Triton, whose answer means a ``T_co``."""

    restricted: bool
    """Whether the server may want its control key for it."""

    @abstractmethod
    def ask(self, library: Any, client: Any, options: Mapping[str, Any]) -> Any:
        """Ask one of NVIDIA's clients -> its answer, from an asynchronous one what to await for it.

        ``options``: what the transport passes with every call.
        """

    @abstractmethod
    def meaning(self, answer: Any) -> T_co:
        """What the client answers, messages of gRPC as their JSON -> what it means.

        Raises:
            ServerError, ValueError, KeyError: it is not an answer to this call.
        """


@dataclass(frozen=True)
class Input:
    """An array for an input of a model; with ``region`` its bytes lie in that shared memory, and are not sent."""

    spec: TensorSpec
    array: NDArray[Any]
    region: str | None = None

    def tensor(self, library: Any) -> Any:
        """As one of NVIDIA's libraries wants it."""
        dtype = _WIRE_DTYPES.get(self.spec.dtype, self.spec.dtype)
        tensor = library.InferInput(self.spec.name, list(self.array.shape), dtype)
        if self.region:
            return tensor.set_shared_memory(self.region, self.array.nbytes)
        return tensor.set_data_from_numpy(np.ascontiguousarray(self.array))


@dataclass(frozen=True)
class Infer(Call[Tensors]):
    """Arrays to a model -> these outputs of it, by name.

    ``timeout``: seconds after which the server leaves the rest of the work; None: it does it all.
    """

    model: str
    inputs: Sequence[Input]
    outputs: Sequence[TensorSpec]
    parameters: Mapping[str, Parameter] | None = None
    timeout: float | None = None
    restricted = False

    def ask(self, library: Any, client: Any, options: Mapping[str, Any]) -> Any:
        """See `Call.ask`."""
        return client.infer(
            self.model,
            [each.tensor(library) for each in self.inputs],
            outputs=[library.InferRequestedOutput(spec.name) for spec in self.outputs],
            parameters=self.parameters,
            timeout=None if self.timeout is None else max(1, round(self.timeout * 1e6)),  # 0 would be no limit
            **options,
        )

    def meaning(self, answer: Any) -> Tensors:
        """See `Call.meaning`; Triton's response cache keeps errors as successes without any output."""
        outputs = {spec.name: answer.as_numpy(spec.name) for spec in self.outputs}
        missing = [name for name, array in outputs.items() if array is None]
        if missing:
            raise ServerError(f"an answer without {', '.join(missing)}")
        return outputs


@dataclass(frozen=True)
class _Method(Call[T_co]):
    """A method that takes plain values."""

    name: str
    arguments: Mapping[str, Any]
    read: Callable[[Any], T_co]
    restricted: bool = False

    def ask(self, library: Any, client: Any, options: Mapping[str, Any]) -> Any:
        return getattr(client, self.name)(**self.arguments, **options)

    def meaning(self, answer: Any) -> T_co:
        return self.read(answer)


def infer(
    model: ModelSpec,
    *inputs: Input,
    outputs: Sequence[TensorSpec] | None = None,
    parameters: Mapping[str, Parameter] | None = None,
    timeout: float | None = None,
) -> Infer:
    """Arrays to a model of the contract -> its outputs by name: all of them, or ``outputs``."""
    return Infer(model.name, inputs, model.outputs if outputs is None else outputs, parameters, timeout)


def is_live() -> Call[bool]:
    """Whether the server answers at all."""
    return _Method("is_server_live", {}, bool)


def is_ready() -> Call[bool]:
    """Whether the server says that all its models are ready."""
    return _Method("is_server_ready", {}, bool)


def is_model_ready(model: str) -> Call[bool]:
    """Whether the server has a model and says that it is ready."""
    return _Method("is_model_ready", {"model_name": model}, bool)


def server_metadata() -> Call[Json]:
    """The server's name, version and extensions."""
    return _Method("get_server_metadata", {}, dict)


def model_metadata(model: str) -> Call[Json]:
    """A model's tensors, and the versions of it that are served."""
    return _Method("get_model_metadata", {"model_name": model}, dict)


def model_config(model: str) -> Call[Json]:
    """A model's config with all its defaults."""
    return _Method(
        "get_model_config", {"model_name": model}, lambda answer: answer.get("config", answer), restricted=True
    )


def load(model: str, config: Mapping[str, Any] | None = None) -> Call[None]:
    """Have the server look at a model's folder again and serve it, by ``config`` in place of the folder's own."""
    override = None if config is None else json.dumps(config)
    return _Method("load_model", {"model_name": model, "config": override}, _nothing, restricted=True)


def unload(model: str) -> Call[None]:
    """Have the server unload a model."""
    return _Method("unload_model", {"model_name": model}, _nothing, restricted=True)


def repository_index() -> Call[list[Json]]:
    """Every version of every model that the server knows: name, version, state, reason."""
    return _Method("get_model_repository_index", {}, lambda answer: _rows(answer, "models"), restricted=True)


def statistics(model: str = "", version: str = "") -> Call[list[Json]]:
    """Triton's statistics of each version of each loaded model, or of one; over gRPC large numbers are strings."""
    return _Method(
        "get_inference_statistics",
        {"model_name": model, "model_version": version},
        lambda answer: _rows(answer, "model_stats"),
        restricted=True,
    )


def register_memory(region: str, size: int) -> Call[None]:
    """Have the server map ``size`` bytes of a region of /dev/shm, under the same name."""
    return _Method(
        "register_system_shared_memory",
        {"name": region, "key": f"/{region}", "byte_size": size},
        _nothing,
        restricted=True,
    )


def unregister_memory(region: str) -> Call[None]:
    """Have the server unmap a region."""
    return _Method("unregister_system_shared_memory", {"name": region}, _nothing, restricted=True)


def registered_memory() -> Call[set[str]]:
    """The regions that the server has mapped."""
    return _Method(
        "get_system_shared_memory_status",
        {},
        lambda answer: {region["name"] for region in _rows(answer, "regions")},
        restricted=True,
    )


def _rows(answer: Any, name: str) -> list[Json]:
    """Rows that an answer has bare (HTTP) or under a name, there as a list or as a map (gRPC); none are left out."""
    rows = answer.get(name, ()) if isinstance(answer, dict) else answer
    return list(rows.values() if isinstance(rows, dict) else rows)


def _nothing(_: Any) -> None:
    return None
