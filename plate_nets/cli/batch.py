"""`plates batch`: reads the plates of a million photos into Parquet."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from plate_nets.cli.options import Details, Protocol, Schemes, Sure, Timeout, Urls, Vehicles, use_detail
from plate_nets.cli.output import counted
from plate_nets.cli.readers import frame_limits, local_settings
from plate_nets.triton.backend.quota import usable_cores

if TYPE_CHECKING:
    from plate_nets.batch.manifest import Part
    from plate_nets.batch.readers import ReaderSettings
    from plate_nets.batch.storage import Folder
    from plate_nets.batch.verification import Verification
    from plate_nets.batch.work import Job, ShardDone

INCOMPLETE = 1


def batch(
    source: Annotated[
        str,
        typer.Argument(
            help="Folder, photo or Parquet file, an s3:// or gs:// address of one, or a text file with a path per line."
        ),
    ],
    out: Annotated[
        str, typer.Option(help="Folder for the result, also in an object store. Continues with what is there.")
    ],
    engine: Annotated[
        Literal["local", "ray"], typer.Option(help="What runs the workers: processes on this machine, or Ray.")
    ] = "local",
    workers: Annotated[int, typer.Option(help="How many readers run side by side; 0: one per core.", min=0)] = 0,
    ray_address: Annotated[str | None, typer.Option(help="Address of a running Ray cluster, such as auto.")] = None,
    url: Urls = None,
    protocol: Protocol = "http",
    timeout: Timeout = 30.0,
    column: Annotated[str, typer.Option(help="Column of a Parquet file that holds paths or photos.")] = "",
    scheme: Schemes = None,
    sure: Sure = None,
    detail: Details = None,
    vehicles: Vehicles = False,
    shard_size: Annotated[
        int | None,
        typer.Option(help="Photos per file. Default: 1000, or fewer if that makes fewer than 16 files.", min=1),
    ] = None,
    part: Annotated[
        int, typer.Option(help="Which of --parts this run does, counted from 0.", envvar="JOB_COMPLETION_INDEX", min=0)
    ] = 0,
    parts: Annotated[int, typer.Option(help="How many runs share the work. Part 0 lists the photos, once.", min=1)] = 1,
    check: Annotated[bool, typer.Option("--verify", help="Read nothing; count the photos in --out.")] = False,
) -> None:
    """Read the plates of many photos into Parquet files: one row per photo, even if it cannot be read.

    Without --url, it reads in processes on this machine. Run it again after any interruption: it reads what is missing
    or new.

    Exit code: 0 if every photo is there once, 1 if --verify finds that one is not, 2 if the batch cannot continue.
    """
    from plate_nets.batch.engines import local, on_ray
    from plate_nets.batch.manifest import Part
    from plate_nets.batch.readers import ReaderSettings
    from plate_nets.batch.storage import Folder
    from plate_nets.batch.verification import verify

    use_detail(detail, url)
    folder, own = Folder(out), Part(part, parts)
    note = ""
    if not check:
        settings = {"limits": frame_limits()} if url else local_settings()
        cores = usable_cores()
        workers = workers or cores
        threads = max(1, cores // workers)
        reader = ReaderSettings(tuple(url or ()), protocol, timeout, scheme, threads, sure, vehicles, **settings)
        run = partial(local, workers=workers)
        if engine == "ray":
            run = partial(on_ray, workers=workers, address=ray_address)
        note = _read(source, column, folder, reader, shard_size, own, run)
    counts = verify(folder, own)
    _tell(counts, out, note)
    if not counts.complete:
        raise typer.Exit(INCOMPLETE)


def _read(
    source: str,
    column: str,
    folder: "Folder",
    reader: "ReaderSettings",
    shard_size: int | None,
    part: "Part",
    run: "Callable[[Job, Sequence[int]], Iterable[ShardDone]]",
) -> str:
    """Read the shards of a part that are missing -> a note about the files that are no photos."""
    from plate_nets.batch.batch import at_work_in, begin, finish
    from plate_nets.batch.sources import FolderSource, find_source

    console = Console(stderr=True, highlight=False, soft_wrap=True)
    with at_work_in(folder, part):
        with console.status("Waiting for part 0 to list the photos" if part.number else "Listing the photos"):
            photos = find_source(source, column)
            job = begin(photos, source, column, folder, reader, shard_size, part)
        shards = job.manifest.missing(folder.names(), part)
        console.print(
            f"{counted(job.manifest.photos, 'photo')} in {counted(job.manifest.shards, 'shard')}, "
            f"{len(shards)} of them to do",
            markup=False,
        )
        if shards:
            _show(run(job, shards), len(shards), console)
        finish(job)
    return photos.left_out.note() if isinstance(photos, FolderSource) else ""


def _tell(counts: "Verification", out: str, note: str) -> None:
    typer.echo(f"{counts.rows} of {counted(counts.photos, 'photo')}, {counted(counts.plates, 'plate')}")
    for code, count in sorted(counts.errors.items()):
        typer.echo(f"{counted(count, 'photo')} failed: {code}")
    if note:
        typer.echo(f"plates: {note}", err=True)
    if not counts.complete:
        typer.echo(
            f"plates: {out}: {counted(counts.missing, 'photo')} missing, {counts.doubled} doubled, "
            f"{counts.unknown} not listed",
            err=True,
        )


def _show(run: Iterable["ShardDone"], total: int, console: Console) -> None:
    columns = (
        TextColumn("Reading"), BarColumn(), MofNCompleteColumn(), TextColumn("shards, {task.fields[rate]}"),
        TimeRemainingColumn(elapsed_when_finished=True),
    )  # fmt: skip
    photos = failed = 0
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("", total=total, rate="")
        for done in run:
            photos += done.photos
            failed += done.failed
            elapsed = progress.tasks[task].elapsed or 0
            progress.update(task, advance=1, rate=f"{photos / max(elapsed, 1e-9):.1f} photos/s, {failed} failed")
