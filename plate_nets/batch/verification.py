"""Checks that the folder of a batch holds every photo of its listing exactly once."""

from collections import Counter
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.parquet as pq

from plate_nets.batch.listing import as_text, shard_names
from plate_nets.batch.manifest import WHOLE, Part, read_manifest, shard_file
from plate_nets.batch.storage import Folder
from plate_nets.common.errors import BatchError


@dataclass
class Verification:
    """Photos listed; rows and plates found; rows by error code; photos missing, duplicated, or not listed."""

    photos: int = 0
    rows: int = 0
    missing: int = 0
    doubled: int = 0
    unknown: int = 0
    plates: int = 0
    errors: Counter[str] = field(default_factory=Counter)

    @property
    def complete(self) -> bool:
        return not (self.missing or self.doubled or self.unknown)


def verify(out: Folder, part: Part = WHOLE) -> Verification:
    """Compare the rows of a batch, or of a part of it, with its listing, shard by shard.

    Raises:
        BatchError: there is no batch, or a file is not Parquet.
    """
    manifest = read_manifest(out)
    existing = out.names()
    counts = Verification()
    for shard in manifest.shards_of(part):
        listed = set(map(as_text, shard_names(out, shard)))
        counts.photos += len(listed)
        if shard_file(shard) not in existing:
            counts.missing += len(listed)
            continue
        try:
            table = pq.read_table(out.open(shard_file(shard)), columns=["path", "error", "plates"])
        except pa.ArrowException as error:
            raise BatchError(f"{out.address}: {shard_file(shard)}: {error}") from error
        paths = table["path"].to_pylist()
        counts.rows += len(paths)
        counts.doubled += len(paths) - len(set(paths))
        counts.missing += len(listed - set(paths))
        counts.unknown += len(set(paths) - listed)
        counts.plates += sum(len(plates or ()) for plates in table["plates"].to_pylist())
        counts.errors.update(table["error"].drop_null().to_pylist())
    return counts
