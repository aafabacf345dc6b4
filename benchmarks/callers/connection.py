"""Requests to any model of a Triton, over HTTP or gRPC, without the convenience of `PlateClient`."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plate_nets.answers import find_answer
from plate_nets.client import parse_url
from plate_nets.contract import TensorSpec
from plate_nets.control_key import headers, metadata
from plate_nets.errors import DeadlineExceeded, ServerError, ServerUnavailable


class Connection:
    """One connection of one thread to one server.

    Args:
        url: as for `PlateClient`.
        control_key: of a server that restricts its control APIs; empty where it does not.
    """

    def __init__(self, url: str, timeout: float = 30.0, control_key: str = "") -> None:
        self.url, self.protocol, encrypted = parse_url(url, "http")
        self.timeout = timeout
        self._client: Any
        if self.protocol == "http":
            import tritonclient.http as api

            self._client = api.InferenceServerClient(
                self.url, connection_timeout=timeout, network_timeout=timeout, ssl=encrypted
            )
            self._limit: dict[str, Any] = {}
            self._headers = headers(control_key) if control_key else {}
        else:
            import tritonclient.grpc as api

            self._client = api.InferenceServerClient(self.url, ssl=encrypted)
            self._limit = {"client_timeout": timeout}
            self._headers = metadata(control_key) if control_key else {}
        self._api = api

    def close(self) -> None:
        """Close it."""
        self._client.close()

    def infer(
        self, model: str, inputs: Sequence[tuple[TensorSpec, NDArray[Any]]], outputs: Sequence[TensorSpec]
    ) -> list[NDArray[Any]]:
        """Arrays to a model -> its outputs in the order asked for.

        Raises:
            ServerUnavailable: nothing answers.
            DeadlineExceeded: no answer in time.
            PlateError: the server answered with an error; which one, `serving.messages` says.
        """
        tensors = [
            self._api.InferInput(spec.name, list(array.shape), _WIRE.get(spec.dtype, spec.dtype))
            for spec, array in inputs
        ]
        for tensor, (_, array) in zip(tensors, inputs, strict=True):
            tensor.set_data_from_numpy(np.ascontiguousarray(array))
        wanted = [self._api.InferRequestedOutput(spec.name) for spec in outputs]
        answer = self._ask(lambda: self._client.infer(model, tensors, outputs=wanted, **self._limit))
        arrays = {spec.name: answer.as_numpy(spec.name) for spec in outputs}
        missing = [name for name, array in arrays.items() if array is None]
        if missing:
            raise ServerError(f"{self.url}: {model}: a success without {', '.join(missing)}")
        return list(arrays.values())

    def is_model_ready(self, model: str) -> bool:
        """Whether the server has this model, loaded."""
        return bool(self._ask(lambda: self._client.is_model_ready(model, **self._limit)))

    def server(self) -> Mapping[str, Any]:
        """The server's name, version and extensions."""
        return self._json(self._client.get_server_metadata)

    def statistics(self) -> Sequence[Mapping[str, Any]]:
        """Triton's statistics of each loaded model, as its statistics extension gives them."""
        found: Mapping[str, Any] = self._json(self._client.get_inference_statistics)
        stats: Sequence[Mapping[str, Any]] = found["model_stats"]
        return stats

    def load(self, model: str) -> None:
        """Load a model of the repository, where the server is in explicit mode."""
        self._ask(lambda: self._client.load_model(model, headers=self._headers, **self._limit))

    def unload(self, model: str) -> None:
        """Unload a model, where the server is in explicit mode."""
        self._ask(lambda: self._client.unload_model(model, headers=self._headers, **self._limit))

    def _json(self, question: Callable[..., Any]) -> Mapping[str, Any]:
        as_json = {} if self.protocol == "http" else {"as_json": True}
        found: Mapping[str, Any] = self._ask(lambda: question(headers=self._headers, **as_json, **self._limit))
        return found

    def _ask(self, question: Callable[[], Any]) -> Any:
        from http.client import HTTPException

        from tritonclient.utils import InferenceServerException

        try:
            return question()
        except InferenceServerException as error:
            answer, said = find_answer(error.message(), str(error.status() or "").removeprefix("StatusCode."))
            raise answer.error(f"{self.url}: {said}") from error
        except TimeoutError as error:
            raise DeadlineExceeded(f"{self.url}: no answer within {self.timeout:g} s") from error
        except (OSError, HTTPException) as error:
            raise ServerUnavailable(f"{self.url}: {error or type(error).__name__}") from error


_WIRE = {"STRING": "BYTES"}
