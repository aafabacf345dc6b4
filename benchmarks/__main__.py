"""`python -m benchmarks`: how fast a server is, and why."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from benchmarks.callers.caller import CLIENT_CHAIN, InputKind, caller_factory
from benchmarks.callers.pictures import FULL_HD, drawn_picture, folder_pictures
from benchmarks.measures.against import measure_against
from benchmarks.measures.loads import Run, grid, measure
from benchmarks.measures.overload import measure_overload
from benchmarks.report.report import Report
from benchmarks.server.server import MeasuredServer, measured_server
from benchmarks.variants.contract import VARIANTS
from plate_nets.cli import guarded
from plate_nets.cli.options import Url
from plate_nets.common.errors import InputError, PlateError, ServerError
from plate_nets.contract import MODELS, PLATE_RECOGNITION

IN_PART = 1
NOTHING = 2
WIDTH = 160
"""Width of the tables in a file or pipe, characters."""


def bench(
    url: Url = None,
    frames: Annotated[
        Path | None, typer.Option(help="Folder of pictures to send instead of drawn ones.", file_okay=False)
    ] = None,
    plates: Annotated[str, typer.Option(help="Plates on each drawn frame, if there is no --frames.")] = "0,1,4,16",
    concurrency: Annotated[str, typer.Option(help="Callers at once, in a closed load.")] = "1,2,4,8",
    rate: Annotated[float | None, typer.Option(help="Requests per second, in an open load.", min=0.01)] = None,
    kinds: Annotated[
        list[InputKind], typer.Option("--input", help="How to send pictures. Repeatable for several ways.")
    ] = [InputKind.encoded],  # noqa: B006
    seconds: Annotated[float, typer.Option(help="Length of each load (seconds).", min=0.1, max=600)] = 5.0,
    variants: Annotated[
        bool, typer.Option("--variants", help="Also measure the other ways to build the pipeline.")
    ] = False,
    targets: Annotated[
        bool, typer.Option("--targets", help="Measure the figures that the project has targets for.")
    ] = False,
    overload: Annotated[
        bool, typer.Option("--overload", help="Measure 4 times the load that the server can carry.")
    ] = False,
    stages: Annotated[bool, typer.Option("--stages", help="Measure where the milliseconds of one frame go.")] = False,
    networks: Annotated[
        bool, typer.Option("--networks", help="Measure each network eager, traced, scripted and frozen.")
    ] = False,
    against: Annotated[
        str | None,
        typer.Option(
            metavar="VERSION",
            help="Also run the loads on another version, in turn with this one: a commit, a wheel, or a folder "
            "that is converted.",
        ),
    ] = None,
    json_file: Annotated[
        Path | None, typer.Option("--json", help="Write the figures to this file.", dir_okay=False)
    ] = None,
) -> None:
    """Measure latency, throughput, CPU and memory of a server, and what its models do under the load.

    Without --url, an embedded server runs for the duration. --targets, --overload, --stages, --networks and --against
    replace the grid of loads. Exit code: 0 all was measured, 1 a part of it, 2 nothing.
    """
    callers, counts = numbers("--concurrency", concurrency, 1), numbers("--plates", plates, 0)
    groups = [folder_pictures(frames)] if frames is not None else [[drawn_picture(count)] for count in counts]
    console, errors = Console(highlight=False), Console(stderr=True, highlight=False, soft_wrap=True)
    if not console.is_terminal:
        console.width = WIDTH
    options = {"plates": plates, "concurrency": concurrency, "rate": rate, "seconds": seconds}
    report = Report(options, json_file)
    loads = not (targets or overload or stages or networks or against)
    failure: PlateError | None = None
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    try:
        with Progress(*columns, console=errors, transient=True, disable=not errors.is_terminal) as progress:
            if networks:
                from benchmarks.measures.networks import measure_networks  # late, as two below: imports torch

                report.set("networks", measure_networks(seconds, progress))
            if against is not None:
                pictures = [group[0] for group in groups] + [drawn_picture(1, FULL_HD)] * (frames is None)
                for found in measure_against(against, pictures, callers, seconds, progress):
                    report.set("against", found)
            if targets or overload or stages or loads:
                if url is None:
                    progress.console.print("no --url: running an embedded server", style="dim")
                with measured_server(url, variants=variants) as server:
                    report.set("server", server.facts())
                    if not loads:
                        server.need(list(MODELS))
                    if targets:
                        from benchmarks.measures.targets import measure_targets

                        measure_targets(server, report, progress, variants, seconds)
                    if overload:
                        factory = caller_factory(server.url, PLATE_RECOGNITION.name, InputKind.encoded)
                        report.set("overload", measure_overload(factory, groups[-1], seconds))
                    if stages:
                        from benchmarks.measures.stages import measure_stages

                        report.set("stages", measure_stages(server, seconds, progress))
                    if loads:
                        names = [PLATE_RECOGNITION.name]
                        if variants:
                            server.need(VARIANTS, load=True)
                            names += [*VARIANTS, CLIENT_CHAIN]
                        _loads(report, progress, server, list(grid(names, kinds, groups, callers, rate, seconds)))
    except PlateError as error:
        failure = error
        report.set("error", str(error))
    finally:
        report.print(console)
    if failure is not None:
        errors.print(f"plates: {failure}", markup=False)
        raise typer.Exit(NOTHING if report.empty else IN_PART) from failure


def numbers(option: str, text: str, minimum: int) -> list[int]:
    """``1,2,4`` -> [1, 2, 4].

    Raises:
        InputError: not whole numbers of at least ``minimum``.
    """
    try:
        found = [int(each) for each in text.split(",")]
    except ValueError:
        found = []
    if not found or min(found) < minimum:
        raise InputError(f"{option}: expected numbers of {minimum} or more with commas between them, got {text!r}")
    return found


def _loads(report: Report, progress: Progress, server: MeasuredServer, runs: Sequence[Run]) -> None:
    server.need(sorted({run.variant for run in runs} - {CLIENT_CHAIN} | set(MODELS)))
    failed = 0
    for run in progress.track(runs, description="loads"):
        found = measure(server, run)
        report.add_load(found)
        failed += sum(found["errors"].values())
        if found["stopped"] and not server.answers():
            raise ServerError(f"stopped after {len(report.values['loads'])} of {len(runs)} loads: {found['stopped']}")
    if failed:
        raise ServerError(f"{failed} requests failed; see the report")


if __name__ == "__main__":
    app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
    app.command()(guarded(bench))
    app(prog_name="python -m benchmarks")
