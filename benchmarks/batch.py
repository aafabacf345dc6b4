"""`python -m benchmarks.batch`: measures the overhead of distributing shards to workers, as ratios within one run."""

import os
import resource
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import pyarrow.parquet as pq
import typer
from rich.console import Console

from plate_nets.batch.batch import begin
from plate_nets.batch.engines import local, on_ray
from plate_nets.batch.listing import unlisted, write_listing
from plate_nets.batch.readers import ReaderSettings
from plate_nets.batch.sources import Source, find_source
from plate_nets.batch.storage import Folder
from plate_nets.batch.work import Job, ShardDone, ShardWorker
from plate_nets.cli import guarded
from plate_nets.triton.backend.quota import usable_cores
from plate_nets.types import Frame, Plate

_SLEEP = 0.02
_WORKERS, _SHARD = 2, 50
"""Processes side by side, and photos of a shard."""
_LISTED = 1_000_000
"""Empty files to list."""


@dataclass(frozen=True)
class SleepingReaderSettings(ReaderSettings):
    """A reader that only waits, so that only the engine's own work remains."""

    @contextmanager
    def open(self) -> Iterator[tuple["_Sleeper", str]]:
        yield _Sleeper(), "sleeps"


class _Sleeper:
    def read(
        self, image: Frame | bytes, *, evidence: bool = False, sure: float | None = None, vehicles: bool = False
    ) -> list[Plate]:
        time.sleep(_SLEEP)
        return []


def measure(
    photos: Annotated[Path, typer.Argument(help="Folder of photos.", exists=True, file_okay=False)],
    ray: Annotated[bool, typer.Option("--ray", help="Also compare Ray with processes.")] = False,
) -> None:
    """Time batches over photos against a plain loop in one process, with the same number of threads."""

    def found(more: Mapping[str, float]) -> None:
        for name, value in more.items():
            Console(highlight=False).print(f"{name:45} {value:12.3f}")

    with tempfile.TemporaryDirectory() as scratch:
        source = find_source(str(photos))
        cores = usable_cores()

        def job(name: str, reader: ReaderSettings, size: int = _SHARD) -> Job:
            return begin(source, str(photos), "", Folder(f"{scratch}/{name}"), reader, size)

        def pool(job: Job, processes: int) -> float:
            return _working(local(job, job.manifest.missing(()), processes), job)

        one = job("loop", ReaderSettings(threads=cores))
        count = one.manifest.photos
        loop = _loop(one)
        found({"photos": count, "loop ms a photo": 1000 * loop / count})
        each = ReaderSettings(threads=max(1, cores // _WORKERS))
        several = pool(job("pool", each), _WORKERS)
        found({f"{_WORKERS} processes over a loop": several / loop})
        found({"core hours a million photos": several / count * 1e6 * min(_WORKERS, cores) / 3600})
        found(_storage(Path(scratch, "pool")))
        if ray:
            of_ray = job("ray", each)
            spent = _working(on_ray(of_ray, of_ray.manifest.missing(()), _WORKERS), of_ray)
            found({"Ray over processes": spent / several})
        found({f"{_WORKERS} processes over one, speed": pool(job("single", each), 1) / several})
        sleeper = SleepingReaderSettings()
        alone, eight = (pool(job(f"sleep{count}", sleeper, 10), count) for count in (1, 8))
        found({"8 readers that wait, share of linear": alone / eight / 8})
        found(_second_run(one))
        found(_listing(Path(scratch) / "many", Folder(f"{scratch}/listing")))


def _loop(job: Job) -> float:
    worker = ShardWorker(job)
    worker.do(0)  # loads the networks
    started = time.perf_counter()
    rows = sum(worker.do(shard).photos for shard in range(job.manifest.shards))
    elapsed = time.perf_counter() - started
    assert rows == job.manifest.photos
    worker.close()
    return elapsed


def _working(run: Iterator[ShardDone], job: Job) -> float:
    """Seconds for all shards, without the start: extrapolated from what follows the first quarter of them."""
    moments = [(time.perf_counter(), 0)]
    for done in run:
        moments.append((time.perf_counter(), done.photos))
    begin_at = len(moments) // 4
    photos = sum(count for _, count in moments[begin_at + 1 :])
    return (moments[-1][0] - moments[begin_at][0]) * job.manifest.photos / photos


def _second_run(job: Job) -> dict[str, float]:
    started = time.perf_counter()
    again = begin(job.source, job.manifest.source, "", job.out, job.reader, 1)
    assert not again.manifest.missing(job.out.names())
    return {"second run of a finished job, s": time.perf_counter() - started}


def _storage(out: Path) -> dict[str, float]:
    """Size of the photos that were read, and of the result, in bytes."""
    written = sum(path.stat().st_size for path in out.glob("*.parquet"))
    sizes = pq.read_table(out, columns=["size"])["size"].to_numpy()
    return {"kB of a photo": sizes.mean() / 1000, "bytes written a photo": written / len(sizes)}


def _listing(folder: Path, out: Folder) -> dict[str, float]:
    for below in range(0, _LISTED, 10_000):
        (folder / str(below)).mkdir(parents=True)
        for number in range(below, below + 10_000):
            os.close(os.open(f"{folder}/{below}/{number}.jpg", os.O_CREAT))
    source: Source = find_source(str(folder))
    started = time.perf_counter()
    listing = write_listing(unlisted(source, out), out)
    assert listing.photos == _LISTED
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"paths listed": _LISTED, "listing, s": time.perf_counter() - started, "driver's peak memory, MB": peak}


if __name__ == "__main__":
    typer.run(guarded(measure))
