"""The precisions that were chosen on this processor, in a file, so that each network is measured once."""

import hashlib
import json
import os
import platform
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import get_args

from plate_nets.networks.runtimes.openvino import Precision

CHOICES_VARIABLE = "PLATES_PRECISION_CHOICES"
"""Names the file, which has a line for each choice: a hash of the network and the processor, and the choice as JSON."""


@dataclass(frozen=True)
class Choice:
    precision: Precision
    why: str


def choices_file(environ: Mapping[str, str] = os.environ) -> Path | None:
    """The file of choices, in the user's folder for caches unless `PLATES_PRECISION_CHOICES` names one.

    None if it cannot be written.
    """
    try:
        if named := environ.get(CHOICES_VARIABLE):
            file = Path(named)
        else:
            from platformdirs import user_cache_path  # imported here: a server names its stubs the file

            file = user_cache_path("plates", appauthor=False) / "precision"
            file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        file.open("ab").close()
    except OSError:
        return None
    return file


def remembered(path: Path, measure: Callable[[], Choice], environ: Mapping[str, str] = os.environ) -> Choice:
    """The choice for a converted network on this processor: from the file of choices, else measured and added to it.

    The first process measures, and the others wait for it. Without the file, each measures.
    """
    choices = choices_file(environ)
    try:
        weights = path.read_bytes() + path.with_suffix(".bin").read_bytes()
    except OSError:  # a missing network is reported when it is loaded
        return measure()
    if choices is None:
        return measure()
    key = hashlib.sha256(weights + _processor()).hexdigest()
    with choices.open("a+b", buffering=0) as file:
        if sys.platform != "win32":
            import fcntl

            with suppress(OSError):  # a file system without locks
                fcntl.lockf(file, fcntl.LOCK_EX, 1, int(key[:8], 16))  # for this network, until the file is closed
        file.seek(0)
        lines = file.read().decode("utf-8", "replace").splitlines()
        known = next(filter(None, (_choice(line.removeprefix(key)) for line in lines if line.startswith(key))), None)
        if known is not None:
            return known
        choice = measure()
        with suppress(OSError):  # a full disk
            file.write(f"{key} {json.dumps(asdict(choice))}\n".encode())
    return choice


def _choice(line: str) -> Choice | None:
    """A choice as JSON -> the choice, or None if it is half written or of no use."""
    try:
        known = Choice(**json.loads(line))
    except (ValueError, TypeError):
        return None
    return replace(known, why=f"as chosen before: {known.why}") if known.precision in get_args(Precision) else None


@cache
def _processor() -> bytes:
    """What a choice depends on beside the weights: the processor, and the versions of what computes on it."""
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8", "replace").splitlines()
        about = {line for line in lines if line.startswith(("model name", "flags", "Features", "CPU part"))}
    except OSError:
        about = {platform.processor()}
    limit = os.environ.get("ONEDNN_MAX_CPU_ISA", "")
    return "\n".join((*sorted(about), limit, version("openvino"), version("plate-nets"))).encode()
