"""The photos of a batch, cut into shards that never change: one Parquet file, a row group a shard."""

import hashlib
import io
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice, pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from plate_nets.batch.sources import Source
from plate_nets.batch.storage import Folder

FILE = "_listing.parquet"
SHARD_SIZE = 1000
"""Photos a shard, where the user does not say; each file of the result is then some hundred kB."""
_LEAST_SHARDS = 16
"""Of a smaller batch, so that all workers have work and progress is seen."""
_CHUNK = 1 << 16


@dataclass(frozen=True)
class Listing:
    """How many photos, in how many shards, and the SHA-256 of their names in order."""

    photos: int
    shards: int
    digest: str


def unlisted(source: Source, out: Folder, begun: int = 0) -> pa.Table:
    """The photos of a source that are in none of the ``begun`` shards of a batch, each once, sorted by their keys.

    Takes some 150 bytes of memory a photo.
    """
    chunks = list(_chunks(source))
    schema = pa.schema({"name": pa.large_binary(), "key": pa.uint64()})
    photos = pa.Table.from_batches(chunks, schema).group_by(["key", "name"], use_threads=False).aggregate([])
    del chunks
    if begun:
        listed = pa.concat_tables(_shards(out, begun))["name"].combine_chunks()
        photos = photos.filter(pc.invert(pc.is_in(photos["name"], value_set=listed)))
    return photos.take(pc.sort_indices(photos, sort_keys=[("key", "ascending"), ("name", "ascending")]))


def write_listing(photos: pa.Table, out: Folder, shard_size: int | None = None, begun: int = 0) -> Listing:
    """Cut photos of `unlisted` into shards, and write them behind the ``begun`` shards there, which stay as they are.

    They are cut in the order of their keys, so a photo's shard does not depend on the order of the source.

    Args:
        photos: one or more.
        out: the folder of the batch.
        shard_size: photos a shard; by default `SHARD_SIZE`, or fewer where that would be less than 16 shards. Photos
            of one row group of a Parquet file stay together.
        begun: shards of the listing there.
    """
    size = shard_size or min(SHARD_SIZE, -(-len(photos) // _LEAST_SHARDS))
    keys = photos["key"].to_numpy()
    places = np.searchsorted(keys, keys) // size  # of photos with one key the first decides
    bounds = [*np.flatnonzero(np.diff(places, prepend=-1)), len(photos)]
    shards = [*_shards(out, begun), *(photos.select(["name"]).slice(a, b - a) for a, b in pairwise(bounds))]
    digest = hashlib.sha256()
    file = io.BytesIO()
    with pq.ParquetWriter(file, pa.schema({"name": pa.large_binary()}), compression="zstd") as writer:
        for shard in shards:
            writer.write_table(shard)
            for name in shard["name"]:
                digest.update(name.as_py() + b"\0")
    out.write(FILE, file.getvalue())
    return Listing(sum(map(len, shards)), len(shards), digest.hexdigest())


def shard_names(out: Folder, shard: int) -> list[str]:
    """The names of the photos of a shard."""
    names = pq.ParquetFile(out.open(FILE)).read_row_group(shard)["name"]
    return [name.decode("utf-8", "surrogateescape") for name in names.to_pylist()]


def as_text(name: str) -> str:
    """A name as the source gives it -> as the rows show it: bytes that are no UTF-8 are escaped."""
    return _encoded(name).decode("utf-8", "backslashreplace")


def _encoded(name: str) -> bytes:
    return name.encode("utf-8", "surrogateescape")


def _shards(out: Folder, begun: int) -> list[pa.Table]:
    if not begun:
        return []
    listing = pq.ParquetFile(out.open(FILE))
    return [listing.read_row_group(number) for number in range(begun)]


def _chunks(source: Source) -> Iterator[pa.RecordBatch]:
    """Names, and the BLAKE2b of what a photo's shard is chosen by: its name, or its row group of a Parquet file."""
    photos = source.photos()
    while chunk := list(islice(photos, _CHUNK)):
        names = pa.array([_encoded(name) for name, _ in chunk], pa.large_binary())
        hashes = b"".join(hashlib.blake2b(_encoded(key), digest_size=8).digest() for _, key in chunk)
        yield pa.record_batch({"name": names, "key": np.frombuffer(hashes, "<u8")})
