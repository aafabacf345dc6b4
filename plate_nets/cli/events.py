"""`plates events export`: corrections by hand as labels for training, in the project's own dataset format."""

import csv
import sqlite3
from pathlib import Path
from typing import Annotated

import typer

from plate_nets.errors import InputError
from plate_nets.extras import needs

events = typer.Typer(help="What was seen by cameras.", no_args_is_help=True)


def export(
    labels: Annotated[Path, typer.Option(help="New folder that gets images/ and labels.csv.", file_okay=False)],
    events: Annotated[Path, typer.Option(help="SQLite file of the events.", exists=True, dir_okay=False)] = Path(
        "plates-events.sqlite"
    ),
    pictures: Annotated[
        Path, typer.Option(help="Folder of the events' pictures.", exists=True, file_okay=False)
    ] = Path("pictures"),
) -> None:
    """Write the events that were corrected by hand, and whose frames are kept, as labelled photos."""
    with needs("web", "plates events"):
        from plate_nets.evaluation.dataset import COLUMNS
        from plate_nets.web.labels import label_rows
        from plate_nets.web.store import EventStore

    images = labels / "images"
    try:
        images.mkdir(parents=True)
    except OSError as error:
        raise InputError(f"--labels {labels}: {error.strerror}") from error
    store = EventStore(events)
    try:
        with (labels / "labels.csv").open("w", encoding="utf-8", newline="") as file:
            rows = csv.DictWriter(file, COLUMNS, lineterminator="\n")
            rows.writeheader()
            left_out = written = 0
            for row in label_rows(store.corrected(), pictures, images):
                if row is None:
                    left_out += 1
                else:
                    written += 1
                    rows.writerow(row)
    except sqlite3.Error as error:
        raise InputError(f"--events {events}: {error}") from error
    finally:
        store.close()
    typer.echo(f"wrote {labels}: {written} labels; {left_out} left out, as no frame of them is kept")
