"""The `ensemble_crops` model, see `benchmarks.variants.ensemble`."""

from collections.abc import Sequence

from benchmarks.variants.ensemble import at_least_one_crop
from plate_nets.triton.backend.triton import Request, Response, answer


class TritonPythonModel:
    def execute(self, requests: Sequence[Request]) -> list[Response]:
        return [answer(request, at_least_one_crop) for request in requests]
