"""What a converted file was made from, stored in the file, so that a stale one is recognised without running it."""

import hashlib
import json
import zipfile
from collections.abc import Iterable
from pathlib import Path

from plate_nets.common.errors import ConversionError
from plate_nets.networks.checkpoint import sha256

Provenance = dict[str, str]
"""Inputs of a conversion by name. Equal inputs give equal files."""


def provenance_of(weights: Path, sources: Iterable[Path], **settings: str) -> Provenance:
    """The provenance of a file that is made now.

    "weights" is the SHA-256 of the safetensors file; "source" is the SHA-256 of the modules that describe and convert
    the network: files, or folders of them.
    """
    digest = hashlib.sha256()
    for source in sources:
        for path in sorted(source.glob("*.py")) if source.is_dir() else (source,):
            digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return {"weights": sha256(weights), "source": digest.hexdigest(), **settings}


def archived(path: Path, ending: str, kind: str) -> Provenance | None:
    """The provenance in an archive of torch: its member whose name has this ending; None if it has none.

    ``kind``: of the file, for messages.

    Raises:
        ConversionError: the file is missing or damaged.
    """
    if not path.is_file():
        raise ConversionError(f"{path}: no such file")
    try:
        with zipfile.ZipFile(path) as archive:
            name = next((name for name in archive.namelist() if name.endswith(ending)), None)
            found: Provenance | None = json.loads(archive.read(name)) if name else None
    except (zipfile.BadZipFile, OSError, ValueError) as error:
        raise ConversionError(f"{path}: not a readable {kind}: {error}") from error
    return found
