"""Finds the reason for a failed start in the server's log."""

import re
import signal
from collections.abc import Iterator

_HARMLESS = "CudaDriverHelper has not been initialized."
"""An error line that appears at every start without a GPU."""


_CONSEQUENCES = ("ERROR: Failed to create instance: ", "error: creating server: ")
"""Prefixes of lines that only repeat what another line says better."""

FAILED_LOAD = "failed to load '"
"""What Triton logs about a model that does not load. It then exits, but not always on an overloaded machine."""

_OWN = re.compile(r"[IWEF]\d{4} \S+ \d+ \S+\]|[|+]|error:|\[libprotobuf ")
"""How lines of Triton's own begin: records, tables, its end."""

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


_NOT_HEALTHY = "is not healthy"
"""Triton's words for a stub that died, or that an overloaded machine gave no time to answer."""


def not_healthy(log: str) -> bool:
    """Whether Triton's log has no other error about a model than that its process does not answer."""
    return all(_NOT_HEALTHY in line for line in _fault_lines(log) if line.startswith((FAILED_LOAD, *_CONSEQUENCES)))


def loaded(log: str) -> set[str]:
    """A server's log -> the names of the models that it has loaded."""
    return set(re.findall(r"successfully loaded '([^']+)'", log))


def last_words(log: str) -> str:
    """A server's log -> the last line that is not Triton's own, such as the one that a stub wrote as it died."""
    lines = (line.strip() for line in log.splitlines())
    return next((line for line in reversed([*lines]) if line and not _OWN.match(line)), "")


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
