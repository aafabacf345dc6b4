"""What `plates watch` shows: a line for each event, and the status of the cameras below on a terminal."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table

from plate_nets.countries.designs import UNKNOWN

if TYPE_CHECKING:
    from plate_nets.cameras.camera_status import CameraStatus
    from plate_nets.cameras.watcher import Watcher
    from plate_nets.events.event import PlateEvent

_REFRESH = 4
"""Times per second that the terminal's status is redrawn."""
_STATES = {"online": "green", "ended": "dim", "connecting": "yellow", "offline": "red", "failed": "red"}


def event_line(event: "PlateEvent") -> str:
    country = event.country
    words = [
        event.timestamp.isoformat(sep=" ", timespec="milliseconds"),
        event.camera_id,
        event.plate or (f"unsure, perhaps {event.candidates[0].plate}" if event.candidates else "no plate"),
        event.stage,
        f"score {event.score:.3f}",
        event.plate_type,
        f"{country.name} {country.score:.3f}" if country and country.name != UNKNOWN else "",
        event.heading or "",
        *([event.vehicle.type, event.vehicle.side or ""] if event.vehicle else []),
        "parked" if event.is_parked else "",
        *(f"{match.list}: {match.label or match.entry}" for match in event.watch),
    ]
    return "  ".join(word for word in words if word)


@contextmanager
def live_status(watcher: "Watcher", terminal: Console) -> Iterator[None]:
    """Show the cameras' status below the lines, on a terminal."""
    if not terminal.is_terminal:
        yield
        return
    with Live(
        get_renderable=lambda: _table(watcher.status()),
        console=terminal,
        refresh_per_second=_REFRESH,
        redirect_stdout=sys.stdout.isatty(),  # otherwise the lines would go to stderr
    ):
        yield


def _table(cameras: Sequence["CameraStatus"]) -> Table:
    table = Table("camera", "state", "read/s", "analysed/s", "dropped", "age", "progress", box=None, expand=False)
    for each in cameras:
        progress: str | ProgressBar = each.cause or ""
        if each.length:
            progress = ProgressBar(each.length, each.position, width=30)
        table.add_row(
            each.camera_id,
            f"[{_STATES[each.state]}]{each.state}[/]",
            f"{each.read_fps:.1f}",
            f"{each.analysed_fps:.1f}",
            str(each.dropped),
            "" if each.age is None else f"{each.age:.1f} s",
            progress,
        )
    return table
