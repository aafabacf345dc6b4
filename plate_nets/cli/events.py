"""`plates events export`: turns manual corrections into labels for training, in the project's dataset format."""

import csv
import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Annotated

import typer

from plate_nets.cli.options import Schemes
from plate_nets.cli.output import counted
from plate_nets.common.atomic_files import whole_folder
from plate_nets.common.errors import InputError
from plate_nets.common.extras import needs
from plate_nets.countries import DEFAULT_SCHEMES, joined, load_schemes
from plate_nets.events.sinks.sqlite_file import reason

events = typer.Typer(help="Turn corrected events of cameras into labels for training.", no_args_is_help=True)


def export(
    labels: Annotated[Path, typer.Option(help="New folder for images/ and labels.csv.", file_okay=False)],
    events: Annotated[
        Path, typer.Option(help="SQLite file of the events, as in `plates web --events`.", exists=True, dir_okay=False)
    ] = Path("plates-events.sqlite"),
    pictures: Annotated[
        Path,
        typer.Option(
            help="Folder with the events' pictures, as in `plates web --pictures`.", exists=True, file_okay=False
        ),
    ] = Path("pictures"),
    scheme: Schemes = None,
    any_text: Annotated[
        bool, typer.Option("--any-text", help="Also export corrections that fit no format of --scheme.")
    ] = False,
) -> None:
    """Export events that were corrected by hand, and whose frames are kept, as labelled photos."""
    with needs("web", "plates events"):
        from plate_nets.evaluation.dataset import COLUMNS
        from plate_nets.web.labels import label_rows
        from plate_nets.web.store import EventStore

    formats = None if any_text else joined(load_schemes(DEFAULT_SCHEMES if scheme is None else scheme))
    left_out: Counter[str] = Counter()
    written = 0
    try:
        with closing(EventStore(events, new=False)) as store, whole_folder(labels) as fresh:
            images = fresh / "images"
            images.mkdir()
            with (
                (fresh / "labels.csv").open("w", encoding="utf-8", newline="") as file,
                closing(store.corrected()) as corrected,  # closed before the store, which waits for its readers
            ):
                rows = csv.DictWriter(file, COLUMNS, lineterminator="\n")
                rows.writeheader()
                for row in label_rows(corrected, pictures, images, formats):
                    if isinstance(row, str):
                        left_out[row] += 1
                    else:
                        written += 1
                        rows.writerow(row)
    except sqlite3.Error as error:
        raise InputError(f"--events {events}: {reason(error)}") from error
    except OSError as error:
        raise InputError(f"--labels {labels}: {error.strerror}") from error
    reasons = "".join(f"; {count} left out: {reason}" for reason, count in left_out.items())
    typer.echo(f"wrote {labels}: {counted(written, 'label')}{reasons}")
