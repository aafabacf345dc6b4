"""The reasons for a failed start, from the server's log."""

import re
import signal
from collections.abc import Iterator

_HARMLESS = "CudaDriverHelper has not been initialized."
"""An error line that every start without a GPU writes."""


_CONSEQUENCES = ("ERROR: Failed to create instance: ", "error: creating server: ")
"""How lines begin that only repeat what another line says better."""

_LONGEST = 500
"""Characters of a log without any error line that are shown."""

_REFUSAL = "TritonModelException"
"""How Triton calls an exception that a model raises while it is loaded."""


def ending(code: int) -> str:
    """The exit code of a server, 128 and the number of the signal where one ended it -> how it ended, in words."""
    try:
        return f"was ended by {signal.Signals(code - 128).name}"
    except ValueError:
        return f"ended with code {code}"


def refused(log: str) -> bool:
    """A server's log -> whether a model of it raised an exception as it was loaded, as it will at every start."""
    return _REFUSAL in log


def reason(log: str, limit: int = 3) -> str:
    """A server's log -> why it failed, in one line: its first ``limit`` errors that say something of their own."""
    lines = list(_fault_lines(log))
    telling = [line for line in lines if not line.startswith(_CONSEQUENCES)] or lines
    return "; ".join(telling[:limit]) or " ".join(log[-_LONGEST:].split()) or "its log is empty"


def _fault_lines(log: str) -> Iterator[str]:
    # E1121 02:30:00.123456 1234 model_lifecycle.cc:642] "failed to load ..."
    seen = set()
    for line in log.splitlines():
        match = re.match(r"(?:[EF]\d{4} \S+ \d+ \S+\]|\[libprotobuf ERROR .*?\]) (.*)", line)
        text = match.group(1).strip('"') if match else line.strip() if line.startswith("error:") else ""
        text = text.partition(r"\n\nAt:\n")[0]  # where in our code, which the line before says better
        text = " ".join(text.replace(r"\n", " ").split())
        if text and text != _HARMLESS and text not in seen:
            seen.add(text)
            yield text
