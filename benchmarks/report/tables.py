"""A report as tables: on the terminal, as CSV beside docs/explanation/performance.md, and a few in that page."""

import csv
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table as RichTable


@dataclass(frozen=True)
class Table:
    """Cells as text; ``name`` identifies the table in the document."""

    name: str
    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]

    def print(self, console: Console) -> None:
        table = RichTable(*self.columns, title=self.title, title_justify="left", box=box.SIMPLE_HEAD)
        for row in self.rows:
            table.add_row(*row)
        console.print(table, markup=False)

    def markdown(self) -> str:
        lines = [self.columns, ["---"] * len(self.columns), *self.rows]
        return "\n".join(f"| {' | '.join(line)} |" for line in lines)

    def csv(self) -> str:
        """The table in CSV, without the title."""
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows([self.columns, *self.rows])
        return text.getvalue()

    def where(self, cells: Mapping[str, str]) -> "Table":
        """Select the rows with these cells, by column name; drop these columns and empty ones."""
        index = {self.columns.index(column): cell for column, cell in cells.items()}
        rows = [row for row in self.rows if all(row[column] == cell for column, cell in index.items())]
        kept = [i for i in range(len(self.columns)) if i not in index and any(row[i] for row in rows)]
        return replace(self, columns=[self.columns[i] for i in kept], rows=[[row[i] for i in kept] for row in rows])


def tables(report: Mapping[str, Any]) -> Iterator[Table]:
    """A report from `python -m benchmarks --json` -> its tables."""
    makers: Mapping[str, Callable[[Any], Table]] = {
        "targets": _targets,
        "workloads": _workloads,
        "overload": _overload,
        "stages": _stages,
        "networks": _networks,
        "detector": _detector,
        "against": _against,
    }
    if loads := report.get("loads"):
        yield _loads(loads)
        models = [row for load in loads if load["models"] for row in _models(load)]
        if models:
            yield Table(
                "models", "Triton's own times: means per request, and the batches as rows x runs", _MODEL, models
            )
    for part, make in makers.items():
        if report.get(part):
            yield make(report[part])


_LOAD = ("variant", "input", "protocol", "plates", "callers", "requests/s")
_MODEL = (*_LOAD, "model", "requests", "runs", "queue ms", "input ms", "compute ms", "output ms", "batches")


def _load(load: Mapping[str, Any]) -> list[str]:
    """The cells that identify a load: ``callers`` if it is closed, ``requests/s`` if it is open."""
    closed = load["rate"] is None
    return [
        load["variant"],
        load["input"],
        load["protocol"],
        "mixed" if load["plates"] is None else str(load["plates"]),
        str(load["concurrency"]) if closed else "",
        "" if closed else f"{load['rate']:g}",
    ]


def _loads(loads: Sequence[Mapping[str, Any]]) -> Table:
    columns = (
        *(*_LOAD, "frames", "errors", "p50 ms", "p90 ms", "p99 ms"),
        *("frames/s", "plates/s", "CPU ms/frame", "MB", "client CPU %"),
    )
    rows = []
    for load in loads:
        server = load["server"] or {}
        rows.append(
            [
                *_load(load),
                str(load["frames"]),
                str(sum(load["errors"].values())),
                *(_number(load.get(key), 1) for key in ("p50_ms", "p90_ms", "p99_ms", "frames_per_s", "plates_per_s")),
                _number(server.get("cpu_ms_per_frame"), 1),
                _number(server["pss_bytes"] / 1e6 if server else None, 0),
                f"{load['client_cpu_share'] * 100:.0f}",
            ]
        )
    return Table("loads", "Loads", columns, rows)


def _models(load: Mapping[str, Any]) -> Iterator[list[str]]:
    for name, model in sorted(load["models"].items(), key=lambda item: -item[1]["total_ms"]):
        batches = ", ".join(f"{size}x{count}" for size, count in model["batches"].items())
        times = [_number(model[f"{phase}_ms"], 2) for phase in ("queue", "input", "infer", "output")]
        yield [*_load(load), name, str(model["requests"]), str(model["executions"]), *times, batches]


def _targets(rows: Sequence[Mapping[str, Any]]) -> Table:
    def cells(row: Mapping[str, Any]) -> list[str]:
        target = met = ""
        if row["target"] is not None:
            target = f"{'<=' if row['at_most'] else '>='} {row['target']:g} {row['unit']}".strip()
            met = "yes" if row["met"] else "no"
        return [row["what"], f"{row['value']:.3g} {row['unit']}".strip(), target, met, row["detail"]]

    return Table("targets", "Targets", ("figure", "measured", "target", "met", "from"), [cells(row) for row in rows])


def _workloads(workloads: Mapping[str, Mapping[str, Any]]) -> Table:
    columns = ("workload", "calls", "p50 ms", "p90 ms", "p99 ms", "calls/s")
    keys = ("p50_ms", "p90_ms", "p99_ms", "frames_per_s")
    rows = [[name, str(each["frames"]), *(_number(each.get(k), 2) for k in keys)] for name, each in workloads.items()]
    return Table("workloads", "What the ratios are computed from, all rounds together", columns, rows)


def _overload(figures: Mapping[str, Any]) -> Table:
    rows = [
        ["answered at best", f"{figures['maximum']:.1f} frames/s"],
        ["offered", f"{figures['offered']:.1f} frames/s"],
        ["answered then", f"{figures['goodput']:.1f} frames/s, {figures['ratio']:.2f} of the best"],
        ["an answer took", "{:.0f} ms, p95 {:.0f} ms".format(*figures["answer_ms"])],
        ["a refusal took", "{:.0f} ms, p95 {:.0f} ms".format(*figures["refusal_ms"])],
        ["refused as too many", str(figures["refused"])],
        ["failed otherwise", "; ".join(figures["failed"]) or "none"],
    ]
    return Table("overload", "Overload", ("figure", "measured"), rows)


def _stages(stages: Mapping[str, Any]) -> Table:
    rows = [[row["stage"], _number(row["ms"], 2), "yes" if row["part"] else "no", row["how"]] for row in stages["rows"]]
    return Table("stages", stages["title"], ("stage", "ms", "part of the whole", "from"), rows)


def _networks(rows: Sequence[Mapping[str, Any]]) -> Table:
    columns = ("network", "input", "device", "form", "ms", "over eager", "largest difference from eager")
    cells = [
        [
            row["network"],
            "x".join(map(str, row["shape"])),
            row["device"],
            row["form"],
            _number(row["ms"], 2),
            _number(row["ratio"], 2),
            f"{row['difference']:.1e}",
        ]
        for row in rows
    ]
    return Table("networks", "Each network alone", columns, cells)


def _detector(figures: Mapping[str, Any]) -> Table:
    rows = [[row["name"], str(row["boxes"]), _number(row["ms"], 2)] for row in figures["rows"]]
    rows.append(["ours over the package's", "", _number(figures["ratio"], 3)])
    return Table("detector", figures["title"], ("detector", "boxes found", "ms a frame"), rows)


def _against(figures: Mapping[str, Any]) -> Table:
    columns = ("load", "p50 ms", "now", "ratio", "spread", "frames/s", "now", "ratio", "spread")
    rows = []
    for row in figures["rows"]:
        cells = [row["load"]]
        for figure, ratio, digits in (("p50_ms", "p50", 1), ("frames_per_s", "frames", 1)):
            spread = " to ".join(_number(value, 2) for value in row[f"{ratio}_spread"])
            cells += [*(_number(value, digits) for value in row[figure]), _number(row[f"{ratio}_ratio"], 2), spread]
        rows.append(cells)
    for what, key, digits in (("start of the server, s", "start_seconds", 1), ("its memory, MB", "megabytes", 0)):
        base, this = figures[key]
        rows.append([what, _number(base, digits), _number(this, digits), _number(this / base, 2), *[""] * 5])
    title = (
        f"This checkout over {figures['base']}; others kept {figures['cores_of_others']:.2f} of {figures['cores']} "
        f"cores busy{'' if figures['ahead_of_others'] else ' and had the same priority'}"
    )
    return Table("against", title, columns, rows)


def _number(value: float | None, digits: int) -> str:
    return "" if value is None else f"{value:.{digits}f}"
