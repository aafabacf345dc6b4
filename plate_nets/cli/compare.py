"""`plates compare`: other readers beside ours, on the same pictures."""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.progress import Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from plate_nets.cli.options import Local, Schemes, Urls, use_schemes
from plate_nets.cli.readers import open_reader
from plate_nets.common.errors import ServerUnavailable, SourceError
from plate_nets.common.extras import needs
from plate_nets.types import Frame

if TYPE_CHECKING:
    from plate_nets.evaluation.comparison import Comparison

TOKEN_VARIABLE = "PLATES_COMPARE_TOKEN"
OUT = Path("comparison")
_PATIENCE = 5
"""Pictures in a row that another reader may fail on."""
_TIMEOUT = 30.0


def compare(
    sources: Annotated[
        list[str],
        typer.Argument(metavar="SOURCE...", help="Folders of pictures, video files, streams or /dev/video*."),
    ],
    others: Annotated[
        list[str],
        typer.Option(
            "--with",
            help="Address of another reader: http://HOST:8080/v1/plate-reader/ for Plate Recognizer's API, whose token "
            f"is in {TOKEN_VARIABLE}, or http://HOST:32168 for CodeProject.AI's. Repeatable.",
            metavar="URL",
        ),
    ],
    out: Annotated[Path, typer.Option(help="Folder for the page and its pictures.", file_okay=False)] = OUT,
    every: Annotated[float, typer.Option(help="Seconds of a video between two pictures.", min=0.04)] = 1.0,
    minutes: Annotated[float | None, typer.Option(help="How long to compare. Default: to the end.", min=0.01)] = None,
    url: Urls = None,
    local: Local = False,
    scheme: Schemes = None,
) -> None:
    """Compare our readings with those of other readers, and show where they differ on a page that asks who is right.

    Ctrl-C ends a comparison of cameras; the page has what was compared until then.

    Exit code: 0 if there is a page, 2 if a source or a reader failed, or the usage is wrong, 130 after Ctrl-C.
    """
    with needs("watch", "plates compare"):
        import cv2

        from plate_nets.evaluation.comparison import Comparison
        from plate_nets.evaluation.other_reader import OtherReader

    ends = time.monotonic() + (60 * minutes if minutes else float("inf"))
    comparison, failed = Comparison(out), dict.fromkeys(others, 0)
    silent: ServerUnavailable | None = None
    terminal = Console(stderr=True, highlight=False)
    with ExitStack() as stack:
        asked = {each: stack.enter_context(OtherReader(each, os.environ.get(TOKEN_VARIABLE, ""))) for each in others}
        reader = stack.enter_context(open_reader(local, url, "grpc", _TIMEOUT, None, None, use_schemes(scheme)))
        columns = (TextColumn("{task.completed} pictures compared"), TimeElapsedColumn())
        bar = stack.enter_context(Progress(*columns, console=terminal, transient=True))
        task = bar.add_task("", total=None)
        stack.callback(_tell, comparison)
        for source in sources:
            for frame in _frames(source, every, ends, bar.console.print):
                encoded, ours = cv2.imencode(".jpg", frame)[1].tobytes(), reader.read(frame)
                for each, other in asked.items():
                    try:
                        comparison.add(other.name, Path(source).name, frame, ours, other.read(encoded))
                        failed[each] = 0
                    except ServerUnavailable as error:
                        silent = error
                        failed[each] += 1
                        if failed[each] == _PATIENCE:
                            raise
                bar.advance(task)
        if silent and not comparison.counts:
            raise silent


def _frames(source: str, every: float, ends: float, say: Callable[[str], None]) -> Iterator[Frame]:
    """Pictures (H, W, 3) BGR of a source until it ends, or the clock does.

    Raises:
        SourceError: it cannot be read.
    """
    from plate_nets.cameras.address import parse_source
    from plate_nets.cameras.capture import Capture, CaptureSettings

    address = parse_source(source)
    capture = Capture(address, CaptureSettings(fps=None if address.kind == "folder" else 1 / every), say)
    capture.start()
    try:
        while not capture.handover.finished and time.monotonic() < ends:
            capture.watch()
            if frame := capture.handover.take(0.5):
                yield frame.bgr()
    finally:
        capture.stop()
        capture.join(_TIMEOUT)
    if capture.state == "failed":
        raise SourceError(f"{address}: {capture.cause}")


def _tell(comparison: "Comparison") -> None:
    if not comparison.counts:
        return
    from plate_nets.evaluation.comparison import KINDS

    table = Table("reader", *KINDS, box=None)
    for name, counts in comparison.counts.items():
        table.add_row(name, *(str(counts[kind]) for kind in KINDS))
    Console(soft_wrap=True, highlight=False).print(table)
    typer.echo(comparison.write())
