"""Events as lines of JSON, as a table, and as Parquet files."""

import contextlib
import csv
import io
from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from plate_nets.common.atomic_files import whole_file
from plate_nets.common.errors import InputError, SinkError
from plate_nets.common.extras import needs
from plate_nets.events.sinks.base import Record, Sink
from plate_nets.events.sinks.line_file import LineFile, check_regular

_EVENT = '{"schema": "plate-event/'
"""Prefix of every event's JSON."""


class JsonlSink(Sink):
    """Appends events to a file, one line of JSON each."""

    def __init__(self, path: Path) -> None:
        self._file = LineFile(path, "lines of events", _EVENT)

    def send(self, records: Sequence[Record]) -> None:
        self._file.append("".join(f"{record.document}\n" for record in records))

    def close(self) -> None:
        self._file.close()


COLUMNS = (
    "id", "revision", "stage", "camera_id", "timestamp", "timestamp_local", "plate", "reading", "score", "dscore",
    "region", "subject", "plate_type", "xmin", "ymin", "xmax", "ymax", "direction", "heading", "speed", "is_parked",
    "dwell_sec", "lists", "image_plate", "image_frame", "vehicle_type", "vehicle_side", "image_vehicle",
    "zones", "latin",
)  # fmt: skip
"""Columns of tables; cells are those fields of the event; `lists` and `zones` are names, separated by spaces: those of
the watch lists, and those of the zones in the order of entering. Columns are only ever added, at the end."""
_FIRST = COLUMNS[: COLUMNS.index("image_frame") + 1]
"""The columns of 0.3.0."""


def row(event: dict[str, Any]) -> dict[str, Any]:
    """An event's JSON -> its cells by column."""
    box, region, images, vehicle = event["box"], event["region"], event["images"], event.get("vehicle") or {}
    return {name: event[name] for name in COLUMNS if name in event} | {
        "region": region["code"],
        "subject": region["subject"],
        **box,
        "lists": " ".join(sorted({match["list"] for match in event["watch"]})),
        "image_plate": images["plate"],
        "image_frame": images["frame"],
        "vehicle_type": vehicle.get("type"),
        "vehicle_side": vehicle.get("side"),
        "image_vehicle": images.get("vehicle"),
        "zones": " ".join(dict.fromkeys(visit["zone"] for visit in event.get("zones", ()))),
    }


class CsvSink(Sink):
    """Appends events to a table, one row each. A table that an earlier version began keeps its columns."""

    def __init__(self, path: Path) -> None:
        self._columns = _columns_of(path)
        header = csv_lines(self._columns, [{name: name for name in self._columns}])
        self._file = LineFile(path, "a table of events", header, header)

    def send(self, records: Sequence[Record]) -> None:
        self._file.append(csv_lines(self._columns, (row(record.event) for record in records)))

    def close(self) -> None:
        self._file.close()


def _columns_of(path: Path) -> tuple[str, ...]:
    """The columns of the table at a path, which an earlier version may have begun; all of them for a new one."""
    check_regular(path)
    with contextlib.suppress(OSError), path.open("rb") as file:
        line = file.readline(len(",".join(COLUMNS)) + 1).decode("utf-8", "replace")
        names = tuple(line.removesuffix("\n").split(","))
        if line.endswith("\n") and names[: len(_FIRST)] == _FIRST and names == COLUMNS[: len(names)]:
            return names
    return COLUMNS


def csv_lines(columns: Sequence[str], rows: Iterable[dict[str, Any]]) -> str:
    """Cells by column -> lines of CSV, without a header; cells of other columns are left out."""
    text = io.StringIO()
    csv.DictWriter(text, columns, extrasaction="ignore", lineterminator="\n").writerows(rows)
    return text.getvalue()


class ParquetSink(Sink):
    """Parquet files in a folder, one per batch: the table's columns, and the event as ``document``."""

    batch = 10_000
    linger = 60.0

    def __init__(self, folder: Path) -> None:
        with needs("batch", "writing Parquet"):
            import pyarrow as pa
            from pyarrow import parquet
        self._parquet, self._pa = parquet, pa
        kinds = {
            "revision": pa.int64(),
            "is_parked": pa.bool_(),
            "timestamp": pa.timestamp("ms", "UTC"),
            **dict.fromkeys(
                ("score", "dscore", "xmin", "ymin", "xmax", "ymax", "direction", "speed", "dwell_sec"), pa.float64()
            ),
        }
        self._schema = pa.schema([(name, kinds.get(name, pa.string())) for name in (*COLUMNS, "document")])
        self._folder = folder
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"{folder}: {error.strerror}") from error

    def send(self, records: Sequence[Record]) -> None:
        """Write a batch; the file is named after the first record's key, so a repeated batch replaces its file."""
        rows = [row(record.event) | {"document": record.document} for record in records]
        for each in rows:
            each["timestamp"] = datetime.fromisoformat(each["timestamp"])
        path = self._folder / f"{records[0].key}.parquet"
        try:
            with whole_file(path) as fresh:
                self._parquet.write_table(self._pa.Table.from_pylist(rows, self._schema), fresh)
        except OSError as error:
            raise SinkError(f"{path.name}: {error.strerror}") from error
