"""Runs a batch from start to end: lists and cuts once, processes what is left, marks it as done."""

import dataclasses
import json
import logging
import sqlite3
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from filelock import ReadWriteLock, Timeout

import plate_nets
from plate_nets.batch.listing import FILE as LISTING
from plate_nets.batch.listing import unlisted, write_listing
from plate_nets.batch.manifest import FORMAT, MANIFEST, WHOLE, Manifest, Part, read_manifest
from plate_nets.batch.readers import ReaderSettings
from plate_nets.batch.sources import Source
from plate_nets.batch.storage import Folder
from plate_nets.batch.work import Job
from plate_nets.common.errors import BatchError

_log = logging.getLogger(__name__)

SUCCESS = "_SUCCESS"
_LOCK = "_lock"
_CHECK_INTERVAL = 1.0
"""Seconds between two checks whether another run has begun the batch."""


def begin(
    source: Source,
    address: str,
    column: str,
    out: Folder,
    reader: ReaderSettings,
    shard_size: int | None = None,
    part: Part = WHOLE,
) -> Job:
    """Begin a batch in a folder, or resume the one there; photos that are new in the source are appended.

    With several parts, the first one begins the batch and the others wait for it. The list is then fixed, because
    parts that run side by side would not agree on a longer one.

    Args:
        source: where the photos are.
        address, column: how the user named the source.
        out: the folder of the batch.
        reader: opened here once, for its version.
        shard_size: photos per shard, for new photos; see `write_listing`.
        part: the share of the shards that this run processes.

    Raises:
        BatchError: the folder holds something other than this batch (see `Manifest`), or no photo was found.
        PlateError: the reader cannot be opened.
    """
    with reader.open() as (_, model):
        expected = {
            "format": FORMAT, "source": address, "column": column, "scheme": reader.reads, "model": model,
            "package": plate_nets.__version__, "sure": reader.sure, "settings": reader.settings,
            "vehicles": reader.vehicles,
        }  # fmt: skip
    while MANIFEST not in (names := out.names()) and part.number:
        time.sleep(_CHECK_INTERVAL)
    manifest = _begun(out, names, expected)
    begun = manifest.shards if manifest else 0
    photos = unlisted(source, out, begun) if part.number == 0 else ()
    if manifest is not None and part.parts > 1:
        if len(photos):
            _log.warning("%s: new photos: %d; a run without --parts reads them", address, len(photos))
    elif len(photos):
        listing = write_listing(photos, out, shard_size, begun)
        manifest = Manifest(**expected, photos=listing.photos, shards=listing.shards, listing=listing.digest)
        out.remove(SUCCESS)
        out.write(MANIFEST, json.dumps(dataclasses.asdict(manifest), indent=2).encode())
    if manifest is None:
        raise BatchError(f"{address}: contains no photo; check the address and the names of the files")
    return Job(source, out, reader, manifest)


def _begun(out: Folder, names: Collection[str], expected: Mapping[str, Any]) -> Manifest | None:
    """The batch in a folder with files of these names, if there is one. Raises BatchError if it is not as expected."""
    if MANIFEST not in names:
        if any(name.endswith(".parquet") and not name.startswith("_") for name in names):
            raise BatchError(f"{out.address}: holds other Parquet files; choose an empty folder")
        return None
    manifest = read_manifest(out)
    for key, value in expected.items():
        if (stored := getattr(manifest, key)) != value:
            raise BatchError(
                f"{out.address}: holds a batch with {key} {stored!r}, this run has {value!r}; "
                "expected the same, or another folder"
            )
    return manifest


@contextmanager
def at_work_in(out: Folder, part: Part = WHOLE) -> Iterator[None]:
    """Lock a local folder against runs other than those of its parts.

    A run that is alone removes what killed workers left behind, and the folder itself if no batch has begun in it.
    An object store has no lock: two runs process the same shards twice, with the same rows.

    Raises:
        BatchError: another run is writing here.
    """
    if not out.is_local:
        yield
        return
    folder = Path(out.address)
    created = [each for each in (folder, *folder.parents) if not each.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / _LOCK).touch()  # with the rights that the user's other files get
    with closing(_lock_of(folder)) as lock:
        if part.parts > 1:
            lock.acquire_read()
        elif not _alone(lock):
            raise BatchError(f"{out.address}: another run is already writing here")
        else:
            out.remove_unfinished()
        try:
            yield
        finally:
            if part.parts > 1:
                lock.release()
            if alone := _alone(lock):
                out.remove_unfinished()
            if empty := alone and MANIFEST not in out.names():
                out.remove(LISTING)
            lock.close()  # Windows removes no file that is open
            if empty:
                out.remove(_LOCK)
                with suppress(OSError):  # something else is in it
                    for each in created:
                        each.rmdir()


def _lock_of(folder: Path) -> ReadWriteLock:
    try:
        return ReadWriteLock(folder / _LOCK, is_singleton=False)
    except (ValueError, sqlite3.Error) as error:
        raise BatchError(f"{folder / _LOCK}: cannot be locked: {error}") from error


def _alone(lock: ReadWriteLock) -> bool:
    try:
        lock.acquire_write(blocking=False)
    except Timeout:
        return False
    return True


def finish(job: Job) -> None:
    """Mark a batch with ``_SUCCESS`` once all of its shards are done, by this run or others."""
    names = job.out.names()
    if SUCCESS not in names and not job.manifest.missing(names):
        job.out.write(SUCCESS, b"")
