"""What a converted file was made from, kept inside the file, so that a stale one is known without running it."""

import hashlib
from dataclasses import asdict, dataclass
from pathlib import Path

import torch

import plate_nets.nets
from plate_nets.nets.checkpoint import sha256


@dataclass(frozen=True)
class Origin:
    """The weights and the code behind a converted file. Equal origins give equal files."""

    weights: str
    """SHA-256 of the safetensors file; empty where there is none."""
    source: str
    """SHA-256 over the networks' and the converters' source files."""
    mode: str
    torch: str

    @property
    def values(self) -> dict[str, str]:
        return asdict(self)


def origin_of(weights: Path | None, mode: str) -> Origin:
    """The origin that a file converted now from ``weights`` has."""
    return Origin(sha256(weights) if weights else "", _source(), mode, str(torch.__version__))


def _source() -> str:
    digest = hashlib.sha256()
    for folder in (Path(plate_nets.nets.__path__[0]), Path(__file__).parent):
        for path in sorted(folder.glob("*.py")):
            digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()
