"""The `pytorch` backend of the embedded server, see `plate_nets.triton.backend.network_model`."""

from collections.abc import Mapping, Sequence

from plate_nets.triton.backend.network_model import TorchScriptModel
from plate_nets.triton.backend.triton import Request, Response


class TritonPythonModel:
    """The class that Triton's Python backend instantiates, once per instance."""

    def initialize(self, args: Mapping[str, str]) -> None:
        self._model = TorchScriptModel(args)

    def execute(self, requests: Sequence[Request]) -> list[Response]:
        return self._model.execute(requests)
