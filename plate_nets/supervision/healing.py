"""Loads a model of a running server anew, beside the one that is broken."""

import http.client
import json
import time
from typing import Any

from plate_nets.control_key import headers
from plate_nets.errors import ServerError

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
    started = time.monotonic()
    config = _ask(url, "GET", f"/v2/models/{model}/config", control_key, timeout)
    config.setdefault("parameters", {})[GENERATION] = {"string_value": str(time.time_ns())}
    body = json.dumps({"parameters": {"config": json.dumps(config)}})
    _ask(url, "POST", f"/v2/repository/models/{model}/load", control_key, timeout, body)
    return time.monotonic() - started


def _ask(url: str, method: str, path: str, key: str, timeout: float, body: str | None = None) -> Any:
    connection = http.client.HTTPConnection(url, timeout=timeout)
    try:
        connection.request(method, path, body, headers(key))
        answer = connection.getresponse()
        text = answer.read()
    except (OSError, http.client.HTTPException) as error:
        raise ServerError(f"{url}{path}: {error or type(error).__name__}") from error
    finally:
        connection.close()
    if answer.status != http.HTTPStatus.OK:
        raise ServerError(f"{url}{path}: {text.decode('utf-8', 'replace')}")
    return json.loads(text or "null")
