"""Triton's model control: load models, list states of versions, count their answers."""

from collections.abc import Iterator
from contextlib import contextmanager

from plate_nets.client import parse_url
from plate_nets.client.transports import ServerAccess, open_transport
from plate_nets.client.transports.calls import load, repository_index, statistics
from plate_nets.common.contexts import Closing
from plate_nets.common.errors import ServerError

READY = "READY"
GONE = "UNAVAILABLE"


class Controller(Closing):
    """The control endpoints of one server.

    Args:
        url: as for `PlateClient`.
        key: required by a server that restricts loading and unloading.
        timeout: seconds for one answer; a load takes as long as the network needs to start.
    """

    def __init__(self, url: str, key: str | None = None, timeout: float = 120.0) -> None:
        address = parse_url(url)
        self.url = str(address)
        self._timeout = timeout
        self._transport = open_transport(ServerAccess(address, control_key=key or ""))

    def close(self) -> None:
        self._transport.close()

    def load(self, model: str) -> None:
        """Make the server rescan the model's folder and serve its latest version; returns once it does.

        The old version answers until the new one is ready, and finishes its requests. If the new one does not load,
        the old one stays.

        Raises:
            AccessDenied: the key is missing or wrong.
            ServerError: it does not load, or the server does not allow model control.
        """
        self._transport.send(load(model), self._timeout)

    def states(self, model: str) -> dict[int, str]:
        """The versions of a model that the server has seen, by number: READY, LOADING, UNLOADING or UNAVAILABLE.

        Raises:
            ServerError: it does not answer, or not as Triton does.
        """
        rows = self._transport.send(repository_index(), self._timeout)
        with self._reading_rows():
            return {
                int(each["version"]): str(each.get("state", GONE))
                for each in rows
                if each["name"] == model and each.get("version")
            }

    def answered(self, model: str, version: int) -> int:
        """How many requests this version has answered; raises as `states`."""
        found = self._transport.send(statistics(model, str(version)), self._timeout)
        with self._reading_rows():
            return sum(int(each["inference_stats"]["success"].get("count", 0)) for each in found)

    @contextmanager
    def _reading_rows(self) -> Iterator[None]:
        """Turn errors of the block, which parses an answer, into a ServerError: another server may send anything."""
        try:
            yield
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise ServerError(f"{self.url}: expected Triton's answer, got another; is it a Triton server?") from error
