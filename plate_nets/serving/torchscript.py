"""The `pytorch` backend of the embedded server: TorchScript models with one input.

NVIDIA's image has libtorch for these models; the embedded server has this Python-based backend of the same name,
so the same `config.pbtxt` serves in both.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
import torch.utils.dlpack
from torch import nn

from plate_nets.contract import TensorSpec
from plate_nets.errors import ContractError, InputError, PlateError
from plate_nets.openvino_cpu import compile_torch
from plate_nets.serving.settings import TorchScriptSettings, read_settings, refuse_unknown, thread_count
from plate_nets.serving.triton import (
    Request,
    Response,
    answer,
    error_response,
    find,
    from_dlpack,
    model_args,
    start_fault,
)
from plate_nets.torchscript import device_of, load_torchscript

DTYPES = {"FP32": torch.float32, "UINT8": torch.uint8}
"""Of tensors, by Triton's names."""


class TorchScriptModel:
    """Runs all requests of one batch in one forward on the instance's device."""

    def __init__(self, args: Mapping[str, str]) -> None:
        model = model_args(args)
        try:
            refuse_unknown(model.name, model.parameters, TorchScriptSettings)
            settings = read_settings(TorchScriptSettings, model.name, model.parameters)
            threads = thread_count(settings, model.instances)
            torch.set_num_threads(threads)
            self._device = device_of(model.gpu)
            self._input, self._outputs = tensors(json.loads(args["model_config"]))
            network = load_torchscript(Path(model.folder) / (model.file or "model.pt"), self._device)
            self._network: Callable[[torch.Tensor], Any] = network
            if settings.openvino and model.gpu is None:
                self._network = on_openvino(network, self._input.dims, threads)
        except PlateError as error:
            raise start_fault(error) from error

    def execute(self, requests: Sequence[Request]) -> list[Response]:
        """The requests of one batch -> a response each, in order."""
        rows: list[torch.Tensor | InputError] = [self._rows(request) for request in requests]
        good = [each for each in rows if isinstance(each, torch.Tensor)]
        try:
            answers = iter(self._forward(good))
        except Exception as error:
            return [error_response(each if isinstance(each, InputError) else error) for each in rows]
        return [
            error_response(each) if isinstance(each, InputError) else self._respond(request, next(answers))
            for request, each in zip(requests, rows, strict=True)
        ]

    def _rows(self, request: Request) -> torch.Tensor | InputError:
        found = find(request, self._input)
        if found is None:
            return InputError(f"expected {self._input.name}, got none")
        rows = torch.utils.dlpack.from_dlpack(found)
        if rows.shape[1:] != self._input.dims or rows.dtype != DTYPES[self._input.dtype]:
            return InputError(
                f"{self._input.name}: expected {self._input.dtype} (N, {', '.join(map(str, self._input.dims))}), "
                f"got {rows.dtype} {tuple(rows.shape)}"
            )
        return rows

    def _forward(self, batch: list[torch.Tensor]) -> list[tuple[torch.Tensor, ...]]:
        """Rows of each request -> its outputs."""
        if not batch:
            return []
        with torch.inference_mode():
            rows = batch[0] if len(batch) == 1 else torch.cat(batch)
            found = self._network(rows.to(self._device))
            sizes = [len(each) for each in batch]
            # Triton takes dense tensors only, and a channels-last network leaves another order.
            outputs = [each.contiguous().split(sizes) for each in (found if isinstance(found, tuple) else (found,))]
        return list(zip(*outputs, strict=True))

    def _respond(self, request: Request, found: tuple[torch.Tensor, ...]) -> Response:
        return answer(
            request,
            lambda _: [from_dlpack(spec, rows) for spec, rows in zip(self._outputs, found, strict=True)],
        )


def on_openvino(network: nn.Module, dims: tuple[int, ...], threads: int) -> Callable[[torch.Tensor], torch.Tensor]:
    """A network with one output -> the same numbers by OpenVINO."""
    run = compile_torch(network, dims, threads)
    # OpenVINO writes the next answer over this one
    return lambda rows: torch.from_numpy(run(rows.numpy()).copy())


def tensors(config: Mapping[str, Any]) -> tuple[TensorSpec, tuple[TensorSpec, ...]]:
    """A model's config -> its one input and its outputs.

    Raises:
        ContractError: more inputs or none, no output, or a dtype that is not in `DTYPES`.
    """
    inputs, outputs = (
        tuple(
            TensorSpec(each["name"], each["data_type"].removeprefix("TYPE_"), tuple(map(int, each["dims"])))
            for each in config.get(side, ())
        )
        for side in ("input", "output")
    )
    if len(inputs) != 1 or not outputs:
        raise ContractError(
            f"{config['name']}: expected one input, and one output or more, got {len(inputs)} and {len(outputs)}"
        )
    for spec in (*inputs, *outputs):
        if spec.dtype not in DTYPES:
            raise ContractError(f"{config['name']}: {spec.name}: expected {' or '.join(DTYPES)}, got {spec.dtype}")
    return inputs[0], outputs
