"""Reloads a model of a running server, beside the one that is broken."""

import time

from plate_nets.client import parse_url
from plate_nets.client.transports import ServerAccess
from plate_nets.client.transports.calls import load, model_config
from plate_nets.client.transports.http import HttpTransport

GENERATION = "PLATES_GENERATION"
"""Parameter in a model's config, in capitals and so ignored by the model, that makes Triton see a new config."""


def heal(url: str, control_key: str, model: str, timeout: float) -> float:
    """Reload a model -> the seconds that it took.

    The config gets a new value of `GENERATION`; without a change, Triton would not load it. Triton loads new instances
    beside the old ones, switches over, and then unloads the old ones. So a model with several instances keeps
    answering, and nothing waits for the unload, which takes seconds if a stub is dead.

    Raises:
        ServerError: it cannot be loaded, or not within ``timeout`` seconds; the old instances stay.
    """
    began = time.monotonic()
    with HttpTransport(ServerAccess(parse_url(url), control_key=control_key)) as transport:
        config = transport.send(model_config(model), timeout)
        config.setdefault("parameters", {})[GENERATION] = {"string_value": str(time.time_ns())}
        transport.send(load(model, config), max(0.0, began + timeout - time.monotonic()))
    return time.monotonic() - began
