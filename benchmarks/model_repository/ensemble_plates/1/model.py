"""The `ensemble_plates` model, see `plate_nets.wirings.ensemble`."""

from collections.abc import Mapping, Sequence

from plate_nets.serving.triton import Request, Response
from plate_nets.wirings.ensemble import EnsemblePlates


class TritonPythonModel:
    """What Triton's Python backend instantiates, once an instance."""

    def initialize(self, args: Mapping[str, str]) -> None:
        """Called once, before any request."""
        self._model = EnsemblePlates(args)

    def execute(self, requests: Sequence[Request]) -> list[Response]:
        """Requests -> a response each, in order."""
        return [self._model.answer(request) for request in requests]
