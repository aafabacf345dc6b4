"""A batch from begin to end: list and cut once, do what is not done, mark it as done."""

import dataclasses
import fcntl
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import plate_nets
from plate_nets.batch.listing import write_listing
from plate_nets.batch.manifest import FORMAT, MANIFEST, Manifest, read_manifest
from plate_nets.batch.readers import ReaderSettings
from plate_nets.batch.sources import Source
from plate_nets.batch.storage import Folder
from plate_nets.batch.work import Job
from plate_nets.errors import BatchError

SUCCESS = "_SUCCESS"
_LOCK = "_lock"


def begin(source: Source, address: str, column: str, out: Folder, reader: ReaderSettings, shard_size: int) -> Job:
    """Begin a batch in a folder, or go on with the one there.

    ``address``, ``column``: how the user named the source; ``shard_size``: photos a shard, of a batch that begins.

    Raises:
        BatchError: the folder holds a batch of another source, scheme or version, or anything else; no photo found.
        PlateError: the reader cannot be opened.
    """
    with reader.open() as opened:
        model = opened.version
    wanted = {
        "format": FORMAT, "source": address, "column": column, "scheme": reader.scheme, "model": model,
        "package": plate_nets.__version__,
    }  # fmt: skip
    names = out.names()
    if MANIFEST in names:
        manifest = read_manifest(out)
        for key, value in wanted.items():
            if (there := getattr(manifest, key)) != value:
                raise BatchError(
                    f"{out.address}: holds a batch with {key} {there!r}, this run has {value!r}; "
                    "expected the same, or another folder"
                )
    else:
        if any(name.endswith(".parquet") and not name.startswith("_") for name in names):
            raise BatchError(f"{out.address}: holds Parquet files of something else; expected an empty folder")
        listing = write_listing(source, out, shard_size)
        if not listing.photos:
            raise BatchError(f"{address}: no photo in it")
        manifest = Manifest(**wanted, photos=listing.photos, shards=listing.shards, listing=listing.digest)
        out.write(MANIFEST, json.dumps(dataclasses.asdict(manifest), indent=2).encode())
    return Job(source, out, reader, manifest)


@contextmanager
def alone_in(out: Folder) -> Iterator[None]:
    """No other run works in this folder meanwhile, where it is on a disk; what killed workers leave there is removed.

    In an object store two runs do the same shards twice, with the same rows.

    Raises:
        BatchError: another run is at work.
    """
    if not out.is_local:
        yield
        return
    folder = Path(out.address)
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / _LOCK).open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise BatchError(f"{out.address}: another run is at work here") from error
        out.remove_unfinished()
        try:
            yield
        finally:
            out.remove_unfinished()


def finish(job: Job) -> None:
    """Mark a batch, all of whose shards are done, with ``_SUCCESS``."""
    job.out.write(SUCCESS, b"")
