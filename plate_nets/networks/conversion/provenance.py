"""What a converted file was made from, stored in the file, so that a stale one is recognised without running it."""

import hashlib
from collections.abc import Iterable
from pathlib import Path

from plate_nets.networks.checkpoint import sha256

Provenance = dict[str, str]
"""Inputs of a conversion by name. Equal inputs give equal files."""


def provenance_of(weights: Path | None, sources: Iterable[Path], **settings: str) -> Provenance:
    """The provenance of a file that is made now.

    "weights" is the SHA-256 of the safetensors file, empty without one; "source" is the SHA-256 of the modules that
    describe and convert the network: files, or folders of them.
    """
    digest = hashlib.sha256()
    for source in sources:
        for path in sorted(source.glob("*.py")) if source.is_dir() else (source,):
            digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return {"weights": sha256(weights) if weights else "", "source": digest.hexdigest(), **settings}
