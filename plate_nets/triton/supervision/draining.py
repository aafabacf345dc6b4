"""Drains a server: it finishes the requests in flight and takes no new ones."""

import contextlib
import time
from collections.abc import Callable, Iterable, Mapping

from plate_nets.client import parse_url
from plate_nets.client.transports import ServerAccess, Transport
from plate_nets.client.transports.calls import repository_index, unload
from plate_nets.client.transports.http import HttpTransport
from plate_nets.common.errors import PlateError
from plate_nets.contract import PLATE_RECOGNITION

_CHECK_INTERVAL = 0.05
"""Seconds between two checks of a model that is being unloaded."""
_LOADED = ("READY", "UNLOADING")


def finish_requests(
    url: str, control_key: str, processes: Callable[[], Mapping[int, str]], timeout: float
) -> tuple[str, ...]:
    """Unload the models of a server -> those that did not finish their requests within ``timeout`` seconds.

    Once a model is being unloaded, Triton refuses new requests to it and finishes those that it has.
    `plate_recognition` goes first, because it asks the others. Ending the processes of a model, one after the other,
    takes seconds more. Nothing waits for that: when the first process has ended, no request is left.

    ``processes``: the ids of the living processes and their models; a backend may have none.
    """
    deadline = time.monotonic() + timeout
    unfinished: list[str] = []
    with HttpTransport(ServerAccess(parse_url(url), control_key=control_key)) as transport:
        try:
            models = [row["name"] for row in transport.send(repository_index(), timeout) if row.get("state") == "READY"]
        except PlateError:
            return ()  # a server that does not answer has nothing to finish
        whole = [name for name in models if name == PLATE_RECOGNITION.name]
        for group in (whole, [name for name in models if name not in whole]):
            unfinished += _unload(transport, group, processes, deadline)
    return tuple(unfinished)


def _unload(
    transport: Transport, models: Iterable[str], processes: Callable[[], Mapping[int, str]], deadline: float
) -> set[str]:
    living = processes()
    before = {model: {pid for pid, owner in living.items() if owner == model} for model in models}
    for model in before:
        with contextlib.suppress(PlateError):
            transport.send(unload(model), max(0.0, deadline - time.monotonic()))
    waiting = set(before)
    while waiting and time.monotonic() < deadline:
        try:
            index = transport.send(repository_index(), max(0.0, deadline - time.monotonic()))
        except PlateError:
            break
        loaded = {row["name"] for row in index if row.get("state") in _LOADED}
        living = processes()
        waiting = {model for model in waiting & loaded if before[model] <= living.keys()}
        time.sleep(_CHECK_INTERVAL if waiting else 0.0)
    return waiting
