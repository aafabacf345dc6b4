"""The photos of a batch, cut into shards once and for all: one Parquet file, a row group a shard."""

import hashlib
import io
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice, pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from plate_nets.batch.sources import Source
from plate_nets.batch.storage import Folder

FILE = "_listing.parquet"
_CHUNK = 1 << 16
_LEAST_SHARDS = 16
"""Small batches are cut finer, so that all workers have work and progress is seen."""


@dataclass(frozen=True)
class Listing:
    """How many photos, in how many shards, and the SHA-256 of their names in order."""

    photos: int
    shards: int
    digest: str


def write_listing(source: Source, out: Folder, shard_size: int) -> Listing:
    """List a source and write who belongs to which shard; a photo that is named twice counts once.

    Shard = BLAKE2b of the name (of rows of a Parquet file: their row group) mod the number of shards, so a photo's
    shard does not depend on the order of the listing. Takes some 150 bytes of memory a photo.
    """
    chunks = list(_chunks(source))
    names = pa.chunked_array([name for name, _ in chunks], pa.large_binary())
    keys = np.concatenate([key for _, key in chunks]) if chunks else np.empty(0, np.uint64)
    del chunks
    shards = max(-(-len(names) // shard_size), min(len(names), _LEAST_SHARDS), 1)
    table = pa.table({"name": names, "shard": (keys % np.uint64(shards)).astype(np.int32)})
    table = table.group_by(["shard", "name"], use_threads=False).aggregate([])
    table = table.take(pc.sort_indices(table, sort_keys=[("shard", "ascending"), ("name", "ascending")]))
    bounds = np.searchsorted(table["shard"].to_numpy(), np.arange(shards + 1))
    digest = hashlib.sha256()
    file = io.BytesIO()
    with pq.ParquetWriter(file, pa.schema({"name": pa.large_binary()}), compression="zstd") as writer:
        for begin, end in pairwise(bounds):
            rows = table.select(["name"]).slice(begin, end - begin)
            writer.write_table(rows)
            for name in rows["name"]:
                digest.update(name.as_py() + b"\0")
    out.write(FILE, file.getvalue())
    return Listing(len(table), shards, digest.hexdigest())


def shard_names(out: Folder, shard: int) -> list[str]:
    """The names of the photos of a shard."""
    names = pq.ParquetFile(out.open(FILE)).read_row_group(shard)["name"]
    return [name.decode("utf-8", "surrogateescape") for name in names.to_pylist()]


def as_text(name: str) -> str:
    """A name as the source gives it -> as the rows show it: bytes that are no UTF-8 are escaped."""
    return _encoded(name).decode("utf-8", "backslashreplace")


def _encoded(name: str) -> bytes:
    return name.encode("utf-8", "surrogateescape")


def _chunks(source: Source) -> Iterator[tuple[pa.Array, NDArray[np.uint64]]]:
    photos = source.photos()
    while chunk := list(islice(photos, _CHUNK)):
        hashes = (hashlib.blake2b(_encoded(key), digest_size=8).digest() for _, key in chunk)
        yield pa.array([_encoded(name) for name, _ in chunk], pa.large_binary()), np.frombuffer(b"".join(hashes), "<u8")
