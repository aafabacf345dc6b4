"""The `pytorch` backend of the embedded server, for converted networks with one input and one output.

NVIDIA's server has libtorch for these models; the embedded server and the CPU image have this backend of the same name,
so the same `config.pbtxt` works in both.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from plate_nets.common.errors import ContractError, InputError
from plate_nets.contract import TensorSpec
from plate_nets.networks.runtimes.networks import IR, TORCHSCRIPT
from plate_nets.networks.runtimes.openvino import Precision
from plate_nets.networks.runtimes.precision import choose
from plate_nets.triton.backend.settings import ModelArgs, TorchScriptSettings, thread_count
from plate_nets.triton.backend.triton import Request, Response, Tensor, answer, error_response, find, log, starting
from plate_nets.triton.backend.watchdog import Watchdog, WatchdogSettings

_DTYPE = "FP32"
"""Triton's dtype of crops and of all outputs."""


class Runtime(Protocol):
    """Runs a network. Rows (N, ...) are arrays, or torch tensors on a device."""

    def rows(self, tensor: Tensor, /) -> Any:
        """A Triton tensor as this runtime takes it, without a copy."""

    def run(self, batch: Sequence[Any], /) -> Sequence[Any]:
        """Rows of each request -> its output, from one forward pass."""

    def tensor(self, spec: TensorSpec, rows: Any, /) -> Tensor:
        """The rows of an output -> a Triton tensor."""


class TorchScriptModel:
    """Runs all requests of a batch in one forward pass on the instance's device."""

    def __init__(self, args: Mapping[str, str]) -> None:
        with starting(args, TorchScriptSettings, WatchdogSettings) as model:
            self._watchdog = Watchdog(model.settings(WatchdogSettings))
            self._input, self._output = tensors(json.loads(args["model_config"]))
            self._runtime = runtime(model, model.settings(TorchScriptSettings))

    def execute(self, requests: Sequence[Request]) -> list[Response]:
        with self._watchdog.working():
            return self._answer(requests)

    def _answer(self, requests: Sequence[Request]) -> list[Response]:
        rows = [self._rows(request) for request in requests]
        good = [valid for valid in rows if not isinstance(valid, InputError)]
        try:
            answers = iter(self._runtime.run(good) if good else [])
        except Exception as error:
            return [error_response(item if isinstance(item, InputError) else error) for item in rows]
        return [
            error_response(item) if isinstance(item, InputError) else self._respond(request, next(answers))
            for request, item in zip(requests, rows, strict=True)
        ]

    def _rows(self, request: Request) -> Any:
        """The rows of a request, or an InputError that says what is wrong with them."""
        found = find(request, self._input)
        if found is None:
            return InputError(f"expected {self._input.name}, got none")
        rows = self._runtime.rows(found)
        dtype = str(rows.dtype).removeprefix("torch.")
        if rows.shape[1:] != self._input.dims or dtype != "float32":
            return InputError(
                f"{self._input.name}: expected {_DTYPE} (N, {', '.join(map(str, self._input.dims))}), "
                f"got {dtype} {tuple(rows.shape)}"
            )
        return rows

    def _respond(self, request: Request, found: Any) -> Response:
        return answer(request, lambda _: [self._runtime.tensor(self._output, found)])


def runtime(model: ModelArgs, settings: TorchScriptSettings) -> Runtime:
    """The runtime of the model's network: OpenVINO on a CPU if the config says so, else torch.

    Raises:
        WeightsError: the converted file is missing or does not load.
    """
    folder, threads = Path(model.folder), thread_count(settings, model.instances)
    if settings.openvino and model.gpu is None:
        from plate_nets.triton.backend.openvino_runtime import OpenVINORuntime

        return OpenVINORuntime(folder / IR, threads, chosen_precision(model.name, folder / IR))
    from plate_nets.triton.backend.torch_runtime import TorchRuntime  # torch takes 200 MB and seconds

    return TorchRuntime(folder / TORCHSCRIPT, model.gpu, threads)


def chosen_precision(network: str, path: Path) -> Precision:
    """The precision from `choose` for a network, by its name and its converted file; also in the server's log.

    Raises:
        ContractError: the setting is invalid.
        WeightsError: the file is missing or does not load.
    """
    choice = choose(network, path)
    log(f"{network}: {choice.precision}: {choice.why}")
    return choice.precision


def tensors(config: Mapping[str, Any]) -> tuple[TensorSpec, TensorSpec]:
    """A model's config -> its one input and its one output.

    Raises:
        ContractError: it has more or fewer, or another dtype than FP32.
    """
    inputs, outputs = (
        [
            TensorSpec(tensor["name"], tensor["data_type"].removeprefix("TYPE_"), tuple(map(int, tensor["dims"])))
            for tensor in config.get(side, ())
        ]
        for side in ("input", "output")
    )
    if (len(inputs), len(outputs)) != (1, 1):
        raise ContractError(
            f"{config['name']}: expected one input and one output, got {len(inputs)} and {len(outputs)}"
        )
    for spec in (*inputs, *outputs):
        if spec.dtype != _DTYPE:
            raise ContractError(f"{config['name']}: {spec.name}: expected {_DTYPE}, got {spec.dtype}")
    return inputs[0], outputs[0]
