"""Runs the same loads on two versions of the package, in turn within one run.

Each version has a reading process and a server that run all the time; only one of the four works at once. A ratio is
the median of the rounds' ratios, its spread their minimum and maximum.
"""

import statistics
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.progress import Progress

from benchmarks.callers.caller import InputKind, caller_factory
from benchmarks.callers.pictures import Picture
from benchmarks.callers.version import CHECKOUT, VersionProcess, version_folder, version_process
from benchmarks.load import closed_load
from benchmarks.measures.machine import Others, ahead_of_others
from plate_nets.common.errors import ServerError
from plate_nets.contract import PLATE_RECOGNITION
from plate_nets.triton.backend.quota import usable_cores

ROUNDS = 8
_WARM_UP = 0.5
"""Seconds of each load before the first round, in which networks prepare for new shapes."""


@dataclass(frozen=True)
class Version:
    """The processes of a version: one that reads, and a server."""

    reader: VersionProcess
    server: VersionProcess


@dataclass(frozen=True, eq=False)
class Case:
    """A load: a picture read in process (no callers), or served to several callers. ``file`` holds its bytes."""

    picture: Picture
    file: Path
    callers: int | None

    @property
    def name(self) -> str:
        how = "in process" if self.callers is None else f"served, {self.callers} at once"
        return f"{how}, {self.picture.name}"

    def measure(self, version: Version, seconds: float) -> tuple[float, float]:
        """Run the load for this long -> median latency, ms, and frames per second.

        Raises:
            ServerError: no answer, or too many errors.
        """
        if self.callers is None:
            times = version.reader.read(self.file, seconds)
            return statistics.median(times), 1000 * len(times) / sum(times)
        url = f"http://{version.server.http_url}"
        factory = caller_factory(url, PLATE_RECOGNITION.name, InputKind.encoded)
        load = closed_load(factory, [self.picture], self.callers, seconds)
        if load.stopped or not load.good:
            raise ServerError(f"{self.name}: {load.stopped or 'no answer in its time'}")
        return statistics.median(load.milliseconds), len(load.good) / load.seconds


def measure_against(
    base: str, pictures: Sequence[Picture], callers: Sequence[int], seconds: float, progress: Progress
) -> Iterator[dict[str, Any]]:
    """Another version, as `version_folder` takes it, and this checkout -> the figures so far, after each round.

    Args:
        base: the other version; in a pair of figures its own comes first.
        pictures: each is read in process, and served to each number of callers.
        callers: requests at once.
        seconds: of each load on each version, all rounds together.
        progress: shows how far it is.

    Raises:
        InputError: the other version cannot be had.
        ServerError: one of the two does not start, or fails.
    """
    with ExitStack() as stack:
        folders = (stack.enter_context(version_folder(base)), CHECKOUT)
        versions = [
            Version(*(stack.enter_context(version_process(folder, serve)) for serve in (False, True)))
            for folder in folders
        ]
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        cases = list(_cases(pictures, callers, scratch))
        for case in cases:
            for version in versions:
                case.measure(version, _WARM_UP)
        first, others = stack.enter_context(ahead_of_others()), Others()
        rounds: dict[Case, list[list[tuple[float, float]]]] = {case: [] for case in cases}
        for turn in progress.track(range(ROUNDS), description=f"{len(cases)} loads on two versions in turn"):
            for case in cases:
                order = (0, 1) if turn % 2 == 0 else (1, 0)
                found = {which: case.measure(versions[which], seconds / ROUNDS) for which in order}
                rounds[case].append([found[0], found[1]])
            yield {
                "base": base,
                "ahead_of_others": first,
                "cores": usable_cores(),
                "cores_of_others": others.cores(),
                "start_seconds": [version.server.start_seconds for version in versions],
                "megabytes": [version.server.megabytes() for version in versions],
                "rows": [ratio_row(case.name, found) for case, found in rounds.items()],
            }


def ratio_row(name: str, rounds: Sequence[Sequence[tuple[float, float]]]) -> dict[str, Any]:
    """Latency and throughput of both versions in each round -> their medians, and the ratios this over the other."""
    p50s, rates = ([[figures[which] for figures in pair] for pair in rounds] for which in (0, 1))
    p50_ratios, rate_ratios = ([this / base for base, this in pairs] for pairs in (p50s, rates))
    return {
        "load": name,
        "p50_ms": [statistics.median(values) for values in zip(*p50s, strict=True)],
        "p50_ratio": statistics.median(p50_ratios),
        "p50_spread": [min(p50_ratios), max(p50_ratios)],
        "frames_per_s": [statistics.median(values) for values in zip(*rates, strict=True)],
        "frames_ratio": statistics.median(rate_ratios),
        "frames_spread": [min(rate_ratios), max(rate_ratios)],
    }


def _cases(pictures: Sequence[Picture], callers: Sequence[int], scratch: Path) -> Iterator[Case]:
    for number, picture in enumerate(pictures):
        file = scratch / f"{number}.jpg"
        file.write_bytes(picture.encoded)
        for count in (None, *callers):
            yield Case(picture, file, count)
