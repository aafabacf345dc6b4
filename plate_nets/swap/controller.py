"""Triton's model control: load, states of versions, who answered."""

from types import TracebackType

from plate_nets.client import parse_url
from plate_nets.client.transports import ServerAccess, open_transport
from plate_nets.client.transports.calls import load, repository_index, statistics

READY = "READY"
GONE = "UNAVAILABLE"


class Controller:
    """The control endpoints of one server.

    Args:
        url: as for `PlateClient`.
        key: what the server asks for before it lets anyone load and unload.
        timeout: seconds for one answer; a load takes as long as the network needs to start.
    """

    def __init__(self, url: str, key: str | None = None, timeout: float = 120.0) -> None:
        address = parse_url(url)
        self.url = str(address)
        self._timeout = timeout
        self._transport = open_transport(ServerAccess(address, control_key=key or ""))

    def __enter__(self) -> "Controller":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._transport.close()

    def load(self, model: str) -> None:
        """Have the server look at the model's folder again and serve its latest version; returns when it does.

        Until the new version is ready the old one answers, and requests in flight end on it. Where it does not load,
        the old one stays.

        Raises:
            AccessDenied: the key is missing or wrong.
            ServerError: it does not load, or the server does not let itself be controlled.
        """
        self._transport.send(load(model), self._timeout)

    def states(self, model: str) -> dict[int, str]:
        """The versions of a model that the server has seen -> READY, LOADING, UNLOADING or UNAVAILABLE."""
        return {
            int(each["version"]): each.get("state", GONE)
            for each in self._transport.send(repository_index(), self._timeout)
            if each["name"] == model and each.get("version")
        }

    def answered(self, model: str, version: int) -> int:
        """How many requests this version has answered."""
        found = self._transport.send(statistics(model, str(version)), self._timeout)
        return sum(int(each["inference_stats"]["success"].get("count", 0)) for each in found)
