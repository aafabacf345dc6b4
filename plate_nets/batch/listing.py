"""The photos of a batch, cut into shards that never change: one Parquet file with one row group per shard."""

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
"""Default photos per shard; each result file is then a few hundred kB."""
_LEAST_SHARDS = 16
"""Minimum for smaller batches, so that all workers have work and progress is visible."""
_CHUNK = 1 << 16


@dataclass(frozen=True)
class Listing:
    """The number of photos and shards, and the SHA-256 of the photos' names in order."""

    photos: int
    shards: int
    digest: str


def unlisted(source: Source, out: Folder, begun: int = 0) -> pa.Table:
    """List the photos of a source that are not in the first ``begun`` shards of a batch: each once, sorted by key.

    Takes about 150 bytes of memory per photo.
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
    """Cut photos from `unlisted` into shards and append them to the ``begun`` existing shards, which do not change.

    Photos are cut in the order of their keys, so a photo's shard does not depend on the order of the source.

    Args:
        photos: at least one.
        out: the folder of the batch.
        shard_size: photos per shard; by default `SHARD_SIZE`, or fewer to get at least 16 shards. Photos of one row
            group of a Parquet file stay together.
        begun: number of shards already listed.
    """
    size = shard_size or min(SHARD_SIZE, -(-len(photos) // _LEAST_SHARDS))
    keys = photos["key"].to_numpy()
    places = np.searchsorted(keys, keys) // size  # photos with the same key go where the first one goes
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
    """The names of the photos in a shard."""
    names = pq.ParquetFile(out.open(FILE)).read_row_group(shard)["name"]
    return [name.decode("utf-8", "surrogateescape") for name in names.to_pylist()]


def as_text(name: str) -> str:
    """A name from the source -> the text shown in the rows; bytes that are not UTF-8 are escaped."""
    return _encoded(name).decode("utf-8", "backslashreplace")


def _encoded(name: str) -> bytes:
    return name.encode("utf-8", "surrogateescape")


def _shards(out: Folder, begun: int) -> list[pa.Table]:
    if not begun:
        return []
    listing = pq.ParquetFile(out.open(FILE))
    return [listing.read_row_group(number) for number in range(begun)]


def _chunks(source: Source) -> Iterator[pa.RecordBatch]:
    """Names, and the BLAKE2b hash of each shard key: the photo's name, or its row group in a Parquet file."""
    photos = source.photos()
    while chunk := list(islice(photos, _CHUNK)):
        names = pa.array([_encoded(name) for name, _ in chunk], pa.large_binary())
        hashes = b"".join(hashlib.blake2b(_encoded(key), digest_size=8).digest() for _, key in chunk)
        yield pa.record_batch({"name": names, "key": np.frombuffer(hashes, "<u8")})
