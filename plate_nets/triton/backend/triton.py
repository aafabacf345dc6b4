"""Requests, tensors and answers of Triton's Python backend. The only module that imports its API.

The API only exists inside Triton's stubs; tests replace it by `tests/fakes`.
"""

import json
import traceback
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np
import triton_python_backend_utils as pb_utils
from numpy.typing import NDArray

from plate_nets.common.error_codes import INTERNAL, ErrorAnswer, answer_for, find_answer, without_regions
from plate_nets.common.errors import ContractError, InputError, PlateError, ServerError
from plate_nets.contract import ModelSpec, TensorSpec
from plate_nets.triton.backend.settings import ModelArgs, refuse_unknown


class Tensor(Protocol):
    """A `pb_utils.Tensor`."""

    def name(self) -> str:
        """The name in the contract."""

    def is_cpu(self) -> bool:
        """Whether it is in host memory."""

    def as_numpy(self) -> NDArray[Any]:
        """A view of a tensor in host memory."""

    def __dlpack__(self, stream: Any = None) -> Any: ...

    def __dlpack_device__(self) -> tuple[int, int]: ...


class Request(Protocol):
    """A `pb_utils.InferenceRequest`."""

    def inputs(self) -> Sequence[Tensor]:
        """The inputs that the caller sent."""

    def parameters(self) -> str:
        """The request parameters, a JSON object."""

    def timeout(self) -> int:
        """The caller's timeout in microseconds; 0: none."""

    def is_cancelled(self) -> bool:
        """Whether the caller hung up."""

    def requested_output_names(self) -> Collection[str]:
        """The outputs that the caller named, or all outputs of the model if it named none."""


Response = Any
"""A `pb_utils.InferenceResponse`."""


@contextmanager
def starting(args: Mapping[str, str], *kinds: type) -> Iterator[ModelArgs]:
    """The instance that ``initialize`` starts in the block, whose config may have the fields of these settings.

    An error of ours becomes the exception for ``initialize`` to raise, so that Triton's log shows one clear line.
    """
    model = model_args(args)
    try:
        check_tensors()
        refuse_unknown(model.name, model.parameters, *kinds)
        yield model
    except PlateError as error:
        raise pb_utils.TritonModelException(str(error)) from error


def model_args(args: Mapping[str, str]) -> ModelArgs:
    """Parse the arguments of ``initialize``."""
    config = json.loads(args["model_config"])
    return ModelArgs(
        name=args["model_name"],
        folder=str(Path(args["model_repository"]) / args["model_version"]),
        gpu=int(args["model_instance_device_id"]) if args["model_instance_kind"] == "GPU" else None,
        instances=sum(group.get("count", 1) for group in config.get("instance_group", ())) or 1,
        parameters={key: value["string_value"] for key, value in config.get("parameters", {}).items()},
    )


def check_tensors() -> None:
    """Check that an array comes back from Triton's tensors as it went in; every model does so before it starts.

    A Python backend that was built for another NumPy hands out arrays of the right shape with other bytes, so that
    frames would be answered without plates.

    Raises:
        ContractError: it comes back changed.
    """
    known = np.arange(1, 241, dtype=np.uint8).reshape(8, 10, 3)
    found = pb_utils.Tensor.from_dlpack("known", pb_utils.Tensor("known", known)).as_numpy()
    if not np.array_equal(found, known):
        raise ContractError(
            f"Triton's Python backend changes the bytes of arrays of NumPy {np.__version__}: install the version that "
            "it was built for; the embedded server needs a NumPy below 2"
        )


def tensor(spec: TensorSpec, array: NDArray[Any]) -> Tensor:
    """An array -> a tensor of the contract."""
    if spec.dtype == "STRING":
        array = array.astype(np.object_)
    made: Tensor = pb_utils.Tensor(spec.name, np.ascontiguousarray(array))
    return made


def from_dlpack(spec: TensorSpec, source: Any) -> Tensor:
    """An object with ``__dlpack__`` -> a tensor over the same memory, on the same device."""
    made: Tensor = pb_utils.Tensor.from_dlpack(spec.name, source)
    return made


def log(message: str) -> None:
    pb_utils.Logger.log_info(message)


def metric_family(name: str, description: str, kind: Literal["COUNTER", "HISTOGRAM"]) -> Any:
    """A metric family of the server; its ``Metric(labels=...)`` counts."""
    return pb_utils.MetricFamily(name=name, description=description, kind=getattr(pb_utils.MetricFamily, kind))


def find(request: Request, spec: TensorSpec) -> Tensor | None:
    return next((given for given in request.inputs() if given.name() == spec.name), None)


def parameters(request: Request) -> Mapping[str, Any]:
    """The request parameters; none if they are not JSON, which Triton (24.10) accepts over HTTP."""
    try:
        found: Mapping[str, Any] = json.loads(request.parameters() or "{}")
    except ValueError:
        return {}
    return found


def call(
    spec: ModelSpec, inputs: Sequence[Tensor], *, to_host: bool = False, leave_out: Sequence[TensorSpec] = ()
) -> list[Tensor]:
    """Call another model of the repository -> its outputs in the order of the contract, except those in ``leave_out``.

    ``to_host``: return the outputs in host memory; otherwise they stay on the model's device.

    Raises:
        InputError: the model refused the input.
        ServerUnavailable: the model is busy, being loaded, or dead.
        ServerError: the model answered with any other error, or without an output.
    """
    preferred = {"preferred_memory": pb_utils.PreferredMemory(pb_utils.TRITONSERVER_MEMORY_CPU)} if to_host else {}
    names = [output.name for output in spec.outputs if output not in leave_out]
    request = pb_utils.InferenceRequest(
        model_name=spec.name,
        requested_output_names=names,
        inputs=list(inputs),
        **preferred,
    )
    response = request.exec()
    if response.has_error():
        kind, fault = find_answer(response.error().message())
        raise kind.error(fault if issubclass(kind.error, InputError) else f"{spec.name}: {fault}")
    outputs = {output.name(): output for output in response.output_tensors()}
    missing = [name for name in names if name not in outputs]
    if missing:
        raise ServerError(f"{spec.name}: answered without {', '.join(missing)}; got {', '.join(outputs) or 'nothing'}")
    return [outputs[name] for name in names]


def answer(
    request: Request,
    respond: Callable[[Request], Sequence[Tensor]],
    failed: Callable[[ErrorAnswer], None] = lambda kind: None,
) -> Response:
    """Answer one request; a fault becomes an error response and does not affect other requests.

    The traceback of an internal fault goes to the server's log, not to the client. ``failed`` is called on any fault.
    """
    try:
        return pb_utils.InferenceResponse(output_tensors=list(respond(request)))
    except Exception as error:
        failed(answer_for(error))
        return error_response(error)


def error_response(error: Exception) -> Response:
    """An exception -> an error response, see the table in `error_codes`; internal faults are logged in full."""
    kind = answer_for(error)
    what = without_regions(str(error))
    if kind is INTERNAL:
        pb_utils.Logger.log_error("".join(traceback.format_exception(error)))
        if not isinstance(error, PlateError):
            what = f"unexpected {type(error).__name__}; see the server's log"
    code = getattr(pb_utils.TritonError, _TRITON_ERROR[kind.grpc])
    return pb_utils.InferenceResponse(output_tensors=[], error=pb_utils.TritonError(f"{kind.phrase}: {what}", code))


_TRITON_ERROR = {"INVALID_ARGUMENT": "INVALID_ARG", "UNAVAILABLE": "UNAVAILABLE", "INTERNAL": "INTERNAL"}
"""gRPC status -> its name in the Python backend."""
