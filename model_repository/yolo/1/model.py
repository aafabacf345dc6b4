"""The `yolo` model, see `plate_nets.triton.backend.detector`."""

from collections.abc import Mapping, Sequence

from plate_nets.triton.backend.detector import Detector
from plate_nets.triton.backend.triton import Request, Response


class TritonPythonModel:
    """The class that Triton's Python backend instantiates, once per instance."""

    def initialize(self, args: Mapping[str, str]) -> None:
        """Called once, before any request."""
        self._model = Detector(args)

    def execute(self, requests: Sequence[Request]) -> list[Response]:
        """Requests -> one response each, in order."""
        return [self._model.answer(request) for request in requests]
