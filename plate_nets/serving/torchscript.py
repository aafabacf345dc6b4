"""The `pytorch` backend of the embedded server: TorchScript models with one input and one output.

NVIDIA's image has libtorch for these models; the embedded server has this Python-based backend of the same name,
so the same `config.pbtxt` serves in both.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
import torch.utils.dlpack

from plate_nets.contract import TensorSpec
from plate_nets.errors import ContractError, InputError, PlateError, WeightsError
from plate_nets.serving.settings import NetworkSettings, read_settings, refuse_unknown, thread_count
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


class TorchScriptModel:
    """Runs all requests of one batch in one forward on the instance's device."""

    def __init__(self, args: Mapping[str, str]) -> None:
        model = model_args(args)
        try:
            refuse_unknown(model.name, model.parameters, NetworkSettings)
            settings = read_settings(NetworkSettings, model.name, model.parameters)
            torch.set_num_threads(thread_count(settings, model.instances))
            self._device = torch.device("cpu") if model.gpu is None else torch.device("cuda", model.gpu)
            self._network = load(Path(model.folder) / (model.file or "model.pt"), self._device)
            self._input, self._output = tensors(json.loads(args["model_config"]))
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
        if rows.shape[1:] != self._input.dims or rows.dtype != torch.float32:
            return InputError(
                f"{self._input.name}: expected float32 (N, {', '.join(map(str, self._input.dims))}), "
                f"got {rows.dtype} {tuple(rows.shape)}"
            )
        return rows

    def _forward(self, batch: list[torch.Tensor]) -> list[torch.Tensor]:
        if not batch:
            return []
        with torch.inference_mode():
            rows = batch[0] if len(batch) == 1 else torch.cat(batch)
            # Triton takes dense tensors only, and a channels-last network leaves another order.
            whole = self._network(rows.to(self._device)).contiguous()
        return list(whole.split([len(each) for each in batch]))

    def _respond(self, request: Request, rows: torch.Tensor) -> Response:
        return answer(request, lambda _: [from_dlpack(self._output, rows)])


def load(path: Path, device: torch.device) -> Any:
    """A TorchScript file -> its module on the device, ready to run.

    Raises:
        WeightsError: the file is missing or damaged.
    """
    if not path.is_file():
        raise WeightsError(f"{path}: not converted yet; run `python -m converters`")
    try:
        return torch.jit.load(str(path), map_location=device).eval()  # type: ignore[no-untyped-call]
    except RuntimeError as error:
        raise WeightsError(f"{path}: does not load as TorchScript: {error}") from error


def tensors(config: Mapping[str, Any]) -> tuple[TensorSpec, TensorSpec]:
    """A model's config -> its one input and its one output.

    Raises:
        ContractError: more or fewer, or anything but FP32.
    """
    found = []
    for side in ("input", "output"):
        specs = [
            TensorSpec(each["name"], each["data_type"].removeprefix("TYPE_"), tuple(map(int, each["dims"])))
            for each in config.get(side, ())
        ]
        if len(specs) != 1 or specs[0].dtype != "FP32":
            raise ContractError(f"{config['name']}: expected one FP32 {side}, got {specs}")
        found.append(specs[0])
    return found[0], found[1]
