"""The `plate_recognition_python` model, see `benchmarks.variants.in_process`."""

from collections.abc import Mapping, Sequence

from benchmarks.variants.in_process import in_process_reader
from plate_nets.triton.backend.recognition import Recognition
from plate_nets.triton.backend.triton import Request, Response


class TritonPythonModel:
    def initialize(self, args: Mapping[str, str]) -> None:
        self._model = Recognition(args, in_process_reader)

    def execute(self, requests: Sequence[Request]) -> list[Response]:
        return [self._model.answer(request) for request in requests]
