"""The `ensemble_plates` model, see `benchmarks.variants.ensemble`."""

from collections.abc import Mapping, Sequence

from benchmarks.variants.ensemble import EnsemblePlates
from plate_nets.triton.backend.triton import Request, Response


class TritonPythonModel:
    def initialize(self, args: Mapping[str, str]) -> None:
        self._model = EnsemblePlates(args)

    def execute(self, requests: Sequence[Request]) -> list[Response]:
        return [self._model.answer(request) for request in requests]
