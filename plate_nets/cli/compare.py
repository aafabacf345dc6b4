"""`plates compare`: other readers beside ours, on the same pictures."""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.progress import Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from plate_nets.cli.options import Local, Schemes, Urls, use_schemes
from plate_nets.cli.readers import open_reader
from plate_nets.common.errors import SourceError
from plate_nets.common.extras import needs
from plate_nets.types import Frame

if TYPE_CHECKING:
    from plate_nets.cameras.address import SourceAddress
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
            help="Another reader: http://HOST:8080/v1/plate-reader/ for Plate Recognizer's API, whose token is in "
            f"{TOKEN_VARIABLE}, http://HOST:32168 for CodeProject.AI's, or DETECTOR.onnx,READER.onnx for a pair as "
            "fast-alpr runs it. Repeatable.",
            metavar="URL|FILES",
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

    Ctrl-C ends a comparison of cameras; the page has what was compared until then. It is written each minute.

    Exit code: 0 if there is a page, 2 if a source or a reader failed, or the usage is wrong, 130 after Ctrl-C.
    """
    with needs("watch", "plates compare"):
        from plate_nets.cameras.address import parse_source
        from plate_nets.evaluation.comparison import Comparison
        from plate_nets.evaluation.onnx_pair import SUFFIX, OnnxPair
        from plate_nets.evaluation.other_reader import OtherReader
        from plate_nets.evaluation.patience import Patient

    addresses = [parse_source(each) for each in sources]
    comparison, token = Comparison(out), os.environ.get(TOKEN_VARIABLE, "")
    terminal = Console(stderr=True, highlight=False, soft_wrap=True)
    with ExitStack() as stack:
        opened: list[OnnxPair | OtherReader] = [
            OnnxPair(each) if each.endswith(SUFFIX) else stack.enter_context(OtherReader(each, token))
            for each in dict.fromkeys(others)
        ]
        reader = stack.enter_context(open_reader(local, url, "grpc", _TIMEOUT, None, None, use_schemes(scheme)))
        columns = (TextColumn("{task.completed} pictures compared"), TimeElapsedColumn())
        bar = stack.enter_context(Progress(*columns, console=terminal, transient=True))
        say = partial(bar.console.print, markup=False)
        ours = Patient("our reader", reader.read, 1, say)
        asked = [Patient(other.name, other.read, _PATIENCE, say) for other in opened]
        task = bar.add_task("", total=None)
        stack.callback(_tell, comparison)
        ends = time.monotonic() + (60 * minutes if minutes else float("inf"))
        for address in addresses:
            name = str(address) if address.live else Path(address.location).name
            for frame in _frames(address, every, ends, say):
                comparison.keep()
                if frame is None or (found := ours.read(frame, lasting=address.live)) is None:
                    continue
                for other in asked:
                    if (theirs := other.read(frame, lasting=address.live)) is not None:
                        comparison.add(other.name, name, frame, found, theirs)
                bar.advance(task)
        if not comparison.counts:
            ours.complain()
            for other in asked:
                other.complain()


def _frames(address: "SourceAddress", every: float, ends: float, say: Callable[[str], None]) -> Iterator[Frame | None]:
    """Pictures (H, W, 3) BGR of a source until it ends, or the clock does; None while there is none.

    Raises:
        SourceError: it cannot be read.
    """
    from plate_nets.cameras.capture import Capture, CaptureSettings

    capture = Capture(address, CaptureSettings(fps=None if address.kind == "folder" else 1 / every), say)
    capture.start()
    try:
        while not capture.handover.finished and time.monotonic() < ends:
            capture.watch()
            frame = capture.handover.take(0.5)
            yield frame.bgr() if frame else None
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
