"""Triton's model control over HTTP: load, states of versions, who answered."""

from collections.abc import Callable
from types import TracebackType
from typing import Any

from tritonclient.http import InferenceServerClient
from tritonclient.utils import InferenceServerException

from plate_nets.answers import find_answer
from plate_nets.client import parse_url
from plate_nets.control_key import headers
from plate_nets.errors import InputError, ServerError, ServerUnavailable

READY = "READY"
GONE = "UNAVAILABLE"


class Controller:
    """The control endpoints of one server.

    Args:
        url: its HTTP address.
        key: what the server asks for before it lets anyone load and unload.
        timeout: seconds for one answer; a load takes as long as the network needs to start.
    """

    def __init__(self, url: str, key: str | None = None, timeout: float = 120.0) -> None:
        self.url, protocol, encrypted = parse_url(url, "http")
        if protocol != "http":
            raise InputError(f"url: models are controlled over HTTP, got {url}")
        self._headers = headers(key) if key else {}
        self._client = InferenceServerClient(
            self.url, connection_timeout=timeout, network_timeout=timeout, ssl=encrypted
        )

    def __enter__(self) -> "Controller":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._client.close()

    def load(self, model: str) -> None:
        """Have the server look at the model's folder again and serve its latest version; returns when it does.

        Until the new version is ready the old one answers, and requests in flight end on it. Where it does not load,
        the old one stays.

        Raises:
            AccessDenied: the key is missing or wrong.
            ServerError: it does not load, or the server does not let itself be controlled.
        """
        self._ask(lambda: self._client.load_model(model, headers=self._headers))

    def states(self, model: str) -> dict[int, str]:
        """The versions of a model that the server has seen -> READY, LOADING, UNLOADING or UNAVAILABLE."""
        index = self._ask(lambda: self._client.get_model_repository_index(headers=self._headers))
        return {
            int(each["version"]): each.get("state", GONE)
            for each in index
            if each["name"] == model and each.get("version")
        }

    def answered(self, model: str, version: int) -> int:
        """How many requests this version has answered."""
        found = self._ask(lambda: self._client.get_inference_statistics(model, str(version), headers=self._headers))
        return sum(each["inference_stats"]["success"].get("count", 0) for each in found["model_stats"])

    def _ask(self, question: Callable[[], Any]) -> Any:
        try:
            return question()
        except InferenceServerException as error:
            kind, fault = find_answer(error.message(), str(error.status()))
            raise (ServerError if issubclass(kind.error, InputError) else kind.error)(f"{self.url}: {fault}") from error
        except OSError as error:
            raise ServerUnavailable(f"{self.url}: {error or type(error).__name__}") from error
