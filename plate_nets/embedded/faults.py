"""The reasons for a failed start, from the server's log."""

import re
from collections.abc import Iterator

_HARMLESS = "CudaDriverHelper has not been initialized."
"""An error line that every start without a GPU writes."""


def faults(log: str, limit: int = 12) -> str:
    """A server's log -> its error lines without time stamps, the last ``limit`` of them."""
    return "\n".join(list(_fault_lines(log))[-limit:]) or log[-2000:] or "(the log is empty)"


def _fault_lines(log: str) -> Iterator[str]:
    # E1121 02:30:00.123456 1234 model_lifecycle.cc:642] "failed to load ..."
    seen = set()
    for line in log.splitlines():
        match = re.match(r"(?:[EF]\d{4} \S+ \d+ \S+\]|\[libprotobuf ERROR .*?\]) (.*)", line)
        text = match.group(1).strip('"') if match else line.strip() if line.startswith("error:") else ""
        if text and text != _HARMLESS and text not in seen:
            seen.add(text)
            yield text
