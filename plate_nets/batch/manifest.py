"""What a batch is, and which of its shards are done, from the files in its folder."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from plate_nets.batch.storage import Folder
from plate_nets.common.errors import BatchError

MANIFEST = "_manifest.json"
FORMAT = "plate-batch/1"


@dataclass(frozen=True)
class Part:
    """The share of one of several cooperating runs: every ``parts``-th shard, starting at ``number``."""

    number: int
    parts: int

    def __post_init__(self) -> None:
        if self.number >= self.parts:
            raise BatchError(f"--part {self.number}: must be less than --parts {self.parts}")


WHOLE = Part(0, 1)


@dataclass(frozen=True)
class Manifest:
    """What a batch is; a run with a different manifest does not resume it.

    ``listing``: SHA-256 of the photos' names. ``model``: version of the networks. ``sure``, ``vehicles``
    and ``settings``: from `ReaderSettings`.
    """

    source: str
    column: str
    scheme: str
    model: str
    package: str
    photos: int
    shards: int
    listing: str
    format: str = FORMAT
    sure: float | None = None
    vehicles: bool = False
    settings: dict[str, Any] = field(default_factory=dict)

    def missing(self, names: Iterable[str], part: Part = WHOLE) -> list[int]:
        """Names of the existing files -> the shards of a part that are not done."""
        done = set(names)
        return [shard for shard in self.shards_of(part) if shard_file(shard) not in done]

    def shards_of(self, part: Part) -> range:
        return range(part.number, self.shards, part.parts)


def shard_file(shard: int) -> str:
    return f"shard-{shard:06d}.parquet"


def read_manifest(out: Folder) -> Manifest:
    """Read the manifest of the batch in a folder.

    Raises:
        BatchError: there is none, or another version of this package wrote it.
    """
    try:
        return Manifest(**json.loads(out.read(MANIFEST)))
    except FileNotFoundError as error:
        raise BatchError(
            f"{out.address}: holds no batch ({MANIFEST} is missing); check the address, or run without --verify first"
        ) from error
    except (ValueError, TypeError) as error:
        raise BatchError(f"{out.address}: {MANIFEST}: expected {FORMAT}: {error}") from error
