"""The processes of the Python models, which Triton calls stubs."""

from pathlib import Path

import psutil

from plate_nets.triton.server.installation import STUB


def stub_model(process: psutil.Process) -> str | None:
    """A process -> the model that it serves, from the model file that is its first argument; None if it is no stub."""
    command = process.cmdline()
    if len(command) < 2 or Path(command[0]).name != STUB:
        return None
    return Path(command[1]).parent.parent.name  # <repository>/<model>/<version>/<file>
