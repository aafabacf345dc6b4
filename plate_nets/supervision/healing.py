"""Loads a model of a running server anew, beside the one that is broken."""

import time

from plate_nets.client import parse_url
from plate_nets.client.transports import ServerAccess
from plate_nets.client.transports.calls import load, model_config
from plate_nets.client.transports.http import HttpTransport

GENERATION = "PLATES_GENERATION"
"""Parameter in a model's config, in capitals and so ignored by it, that makes Triton take the config for a new one."""


def heal(url: str, control_key: str, model: str, timeout: float) -> float:
    """Load a model anew -> the seconds that it took.

    Its config gets another value of `GENERATION`. Without a change Triton would not load; with one it loads beside
    the instances that are there, puts the new ones in their place and unloads the old ones afterwards. So a model
    with several instances goes on answering, and nobody waits for the unloading, which with a dead stub takes seconds.

    Raises:
        ServerError: it does not load, or not within ``timeout`` seconds; what was there before stays.
    """
    began = time.monotonic()
    with HttpTransport(ServerAccess(parse_url(url), control_key=control_key)) as transport:
        config = transport.send(model_config(model), timeout)
        config.setdefault("parameters", {})[GENERATION] = {"string_value": str(time.time_ns())}
        transport.send(load(model, config), max(0.0, began + timeout - time.monotonic()))
    return time.monotonic() - began
