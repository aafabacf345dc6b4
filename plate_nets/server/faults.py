"""Finds the reason for a failed start in the server's log."""

import re
import signal
from collections.abc import Iterator

_HARMLESS = "CudaDriverHelper has not been initialized."
"""An error line that appears at every start without a GPU."""


_CONSEQUENCES = ("ERROR: Failed to create instance: ", "error: creating server: ")
"""Prefixes of lines that only repeat what another line says better."""

_LONGEST = 500
"""How many characters of a log without any error line are shown."""

_REFUSAL = "TritonModelException"
"""Triton's name for an exception that a model raises while it loads."""


def ending(code: int) -> str:
    """The exit code of a server (128 + the number of a signal that ended it) -> how it ended, in words."""
    try:
        return f"was ended by {signal.Signals(code - 128).name}"
    except ValueError:
        return f"ended with code {code}"


def refused(log: str) -> bool:
    """Whether a model raised an exception while loading, as it would at every start, according to the log."""
    return _REFUSAL in log


def reason(log: str, limit: int = 3) -> str:
    """A server's log -> why it failed, in one line: the first ``limit`` distinct errors."""
    lines = list(_fault_lines(log))
    telling = [line for line in lines if not line.startswith(_CONSEQUENCES)] or lines
    return "; ".join(telling[:limit]) or " ".join(log[-_LONGEST:].split()) or "its log is empty"


def _fault_lines(log: str) -> Iterator[str]:
    # E1121 02:30:00.123456 1234 model_lifecycle.cc:642] "failed to load ..."
    seen = set()
    for line in log.splitlines():
        match = re.match(r"(?:[EF]\d{4} \S+ \d+ \S+\]|\[libprotobuf ERROR .*?\]) (.*)", line)
        text = match.group(1).strip('"') if match else line.strip() if line.startswith("error:") else ""
        text = text.partition(r"\n\nAt:\n")[0]  # drop the traceback; the line before says it better
        text = " ".join(text.replace(r"\n", " ").split())
        if text and text != _HARMLESS and text not in seen:
            seen.add(text)
            yield text
