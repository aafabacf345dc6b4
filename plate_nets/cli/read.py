"""`plates read`: reads the plates of files and folders, with given servers or an embedded one."""

import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from plate_nets.cli.options import (
    Details,
    Local,
    Log,
    ModelRepository,
    Protocol,
    Schemes,
    Sure,
    Timeout,
    Urls,
    Vehicles,
    use_detail,
    use_schemes,
)
from plate_nets.cli.output import (
    CsvOutput,
    JsonOutput,
    LineOutput,
    Output,
    Picture,
    PictureOutput,
    counted,
    is_annotated,
    shown,
)
from plate_nets.cli.readers import frame_limits, open_reader
from plate_nets.common.errors import InputError, PlateError, ServerStartError, ServerUnavailable
from plate_nets.common.extras import needs
from plate_nets.common.intake.files import read_file
from plate_nets.countries.designs import UNKNOWN
from plate_nets.recognition.encoded import SUFFIXES
from plate_nets.recognition.left_out import LeftOut
from plate_nets.recognition.reader import VehicleReader, check_sure
from plate_nets.recognition.reasons import with_sights
from plate_nets.types import Plate

SOME_FAILED = 1


@dataclass(frozen=True)
class Source:
    """A picture to read, and its name within what the user named."""

    path: Path
    name: Path


def read(
    paths: Annotated[
        list[Path], typer.Argument(metavar="PATH...", help="Pictures, or folders of pictures.", readable=False)
    ],
    url: Urls = None,
    protocol: Protocol = "http",
    local: Local = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON array instead of lines.")] = False,
    csv: Annotated[
        Path | None, typer.Option(help="Also write a CSV table to this file, one row per plate.", dir_okay=False)
    ] = None,
    save_annotated: Annotated[
        Path | None,
        typer.Option(help="Also write the pictures, with outlines and texts, to this folder.", file_okay=False),
    ] = None,
    scheme: Schemes = None,
    detail: Details = None,
    vehicles: Vehicles = False,
    sure: Sure = None,
    aspect: Annotated[
        str | None,
        typer.Option(
            help="Shape of the whole pictures as they should look, width:height, such as 16:9, if their pixels are not "
            "square."
        ),
    ] = None,
    timeout: Timeout = 30.0,
    model_repository: ModelRepository = None,
    log: Log = None,
) -> None:
    """Read the plates of pictures. Prints one line per plate: text, confidence, score, box and time.

    Without --url and --local, the command starts a Triton server for as long as it runs. If Triton is not installed, it
    reads in this process.

    Exit code: 0 if all pictures were read, 1 if some failed, 2 if the usage is wrong or no server answers.
    """
    left_out = LeftOut()
    sources = list(find_pictures(paths, left_out))
    if not sources:
        wanted = f"no picture found in {', '.join(map(shown, paths))}; looked for {', '.join(sorted(SUFFIXES))}"
        raise InputError("; ".join(filter(None, (wanted, left_out.note()))))
    if not any(os.path.lexists(source.path) for source in sources):  # checked before a server starts
        raise InputError(f"no such file or folder: {', '.join(map(shown, paths))}")
    if csv:
        keep_inputs(sources, csv)
    if sure is not None:
        check_sure(sure)  # checked before a server starts
    shaped = _shaped(aspect)
    failed = 0
    seen: set[str] = set()
    with ExitStack() as stack:
        use_detail(detail, url)
        schemes = use_schemes(scheme)
        outputs: list[Output] = [stack.enter_context(JsonOutput(schemes) if json else LineOutput(schemes))]
        if csv:
            outputs.append(stack.enter_context(CsvOutput(csv)))
        if save_annotated:
            outputs.append(stack.enter_context(PictureOutput(save_annotated)))
        opened = open_reader(local, url, protocol, timeout, model_repository, log, schemes, patient=True)
        reader = shaped(stack.enter_context(opened))
        for source in _progress(sources):
            picture = read_picture(reader, source, sure, vehicles)
            failed += picture.error is not None
            seen.update(plate.reading.scheme for plate in picture.plates if plate.country not in ("", UNKNOWN))
            for output in outputs:
                output.write(picture)
    if note := left_out.note():
        typer.echo(f"plates: {note}", err=True)
    if len(seen) == 1 and not schemes and not url:
        only = f"--scheme {seen.pop()} reads these alone"
        typer.echo(f"plates: all plates whose country is known are of one: {only}", err=True)
    if failed:
        typer.echo(f"plates: {failed} of {counted(len(sources), 'picture')} failed", err=True)
        raise typer.Exit(SOME_FAILED)


def find_pictures(paths: Iterable[Path], left_out: LeftOut) -> Iterator[Source]:
    """Files as given, whatever their names, and everything below folders that is named like a picture, sorted.

    Links to folders are followed, each folder once. Annotated pictures of an earlier run are skipped. A folder that
    does not open becomes a source that fails.
    """
    for path in paths:
        if not os.path.isdir(path):  # noqa: PTH112  Path.is_dir raises where a folder above may not be entered
            yield Source(path, Path(path.name))
            continue
        for found in sorted(_files_below(path, left_out)):
            if not is_annotated(found):
                yield Source(found, found.relative_to(path))


def _files_below(path: Path, left_out: LeftOut) -> list[Path]:
    found: list[Path] = []
    seen: set[str] = set()

    def closed(error: OSError) -> None:
        found.append(Path(error.filename))

    for folder, folders, files in os.walk(path, followlinks=True, onerror=closed):
        real = os.path.realpath(folder)
        if real in seen:
            folders.clear()
            continue
        seen.add(real)
        found += filter(left_out.takes, (Path(folder, name) for name in files))
    return found


def keep_inputs(sources: Iterable[Source], table: Path) -> None:
    """Raise InputError if a table would overwrite a picture that is read."""
    target = os.path.realpath(table)
    for source in sources:
        if os.path.realpath(source.path) == target:
            raise InputError(f"--csv {shown(source.path)} would overwrite one of the pictures; choose another file")


def read_picture(reader: VehicleReader, source: Source, sure: float | None = None, vehicles: bool = False) -> Picture:
    """Read one picture; an error of this picture alone becomes part of the result.

    If a process of the server died on it, it is not sent again.

    Raises:
        ServerStartError, ServerUnavailable: nothing answers, so no other picture can be read either.
    """
    started = time.perf_counter()
    try:
        encoded = read_file(source.path, frame_limits().max_bytes)
        plates = _with_sights(encoded, reader.read(encoded, sure=sure, vehicles=vehicles, evidence=True))
    except (ServerStartError, ServerUnavailable):
        raise
    except OSError as error:
        return Picture(source.path, source.name, error=f"cannot be opened: {error.strerror}")
    except PlateError as error:
        return Picture(source.path, source.name, error=str(error))
    return Picture(source.path, source.name, encoded, tuple(plates), (time.perf_counter() - started) * 1000)


def _with_sights(encoded: bytes, plates: Sequence[Plate]) -> Sequence[Plate]:
    """The plates of a picture, those without a text with what their pixels say; as they are if it cannot be decoded."""
    try:
        from plate_nets.recognition.images import load_picture  # imported here: needs OpenCV, which a client lacks
    except ImportError:
        return plates
    return with_sights(lambda: load_picture(encoded, frame_limits()), plates)


def _shaped(aspect: str | None) -> Callable[[VehicleReader], VehicleReader]:
    """What makes a reader read pictures of this shape.

    Raises:
        InputError: no such shape.
        MissingExtra: the package that decodes pictures is not installed.
    """
    if aspect is None:
        return lambda reader: reader
    with needs("local", "--aspect"):
        from plate_nets.recognition.square_pixels import AspectReader, parse_aspect
    shape = parse_aspect(aspect)
    return lambda reader: AspectReader(reader, shape, frame_limits())


def _progress(sources: list[Source]) -> Iterator[Source]:
    columns = (TextColumn("Reading"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    bar = Progress(
        *columns,
        console=Console(stderr=True),
        transient=True,
        redirect_stdout=sys.stdout.isatty(),  # otherwise the lines would go to stderr
        disable=len(sources) == 1 or not sys.stderr.isatty(),
    )
    with bar:
        yield from bar.track(sources)
