"""What a worker does: read the photos of one shard and write its file, in full or not at all."""

import io
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import plate_nets
from plate_nets.batch.listing import as_text, shard_names
from plate_nets.batch.manifest import Manifest, shard_file
from plate_nets.batch.readers import ReaderSettings
from plate_nets.batch.rows import ROW, Fetched, fetched, read_photo
from plate_nets.batch.sources import Source
from plate_nets.batch.storage import Folder
from plate_nets.common.errors import BatchError

_AHEAD = 2
"""Photos fetched ahead while one is read."""


@dataclass(frozen=True)
class Job:
    """All that a worker needs to process shards. It is pickled, and holds no photo and no connection."""

    source: Source
    out: Folder
    reader: ReaderSettings
    manifest: Manifest


@dataclass(frozen=True)
class ShardDone:
    shard: int
    photos: int
    failed: int
    plates: int


class ShardWorker:
    """Processes shards one after another with one reader; close it at the end.

    Raises:
        BatchError: its version of this package differs from the one that began the batch.
        PlateError: the reader cannot be opened.
    """

    def __init__(self, job: Job) -> None:
        if plate_nets.__version__ != job.manifest.package:
            raise BatchError(
                f"the worker has plate-nets {plate_nets.__version__}, but {job.manifest.package} began the batch; "
                "install that version on the worker"
            )
        self._job = job
        self._resources = ExitStack()
        self._reader, _ = self._resources.enter_context(job.reader.open())

    def close(self) -> None:
        self._resources.close()

    def do(self, shard: int) -> ShardDone:
        """Read the photos of a shard and write its file.

        Raises:
            PlateError: no photo can be read (see `rows.read_photo`), or the folder cannot be written.
            OSError: the disk is full.
        """
        names = shard_names(self._job.out, shard)
        rows = [self._row(name, photo) for name, photo in _fetched(self._job.source, names)]
        file = io.BytesIO()
        pq.write_table(pa.Table.from_pylist(rows, ROW), file, compression="zstd")
        self._job.out.write(shard_file(shard), file.getvalue())
        failed = sum(row["error"] is not None for row in rows)
        return ShardDone(shard, len(rows), failed, sum(len(row["plates"] or ()) for row in rows))

    def _row(self, name: str, photo: Fetched) -> dict[str, Any]:
        settings = self._job.reader
        row = read_photo(self._reader, photo, settings.sure, settings.vehicles)
        return {"path": as_text(name), **row, "model": self._job.manifest.model}


def _fetched(source: Source, names: list[str]) -> Iterator[tuple[str, Fetched]]:
    """Yield the named photos, or why one is missing; later ones are fetched while earlier ones are read."""
    with ThreadPoolExecutor(1) as fetcher:
        waiting: deque[tuple[str, Future[Fetched]]] = deque()
        try:
            for name in names:
                waiting.append((name, fetcher.submit(fetched, source.read, name)))
                if len(waiting) > _AHEAD:
                    first, photo = waiting.popleft()
                    yield first, photo.result()
            for name, photo in waiting:
                yield name, photo.result()
        finally:
            fetcher.shutdown(wait=False, cancel_futures=True)
