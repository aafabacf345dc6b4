"""A report as tables: on the terminal, and as Markdown for `docs/performance.md`."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table as RichTable


@dataclass(frozen=True)
class Table:
    """Cells as text; ``name`` is how the document asks for it."""

    name: str
    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]

    def print(self, console: Console) -> None:
        """Print it."""
        table = RichTable(*self.columns, title=self.title, title_justify="left", box=box.SIMPLE_HEAD)
        for row in self.rows:
            table.add_row(*row)
        console.print(table, markup=False)

    def markdown(self) -> str:
        """The same in Markdown, its title left out."""
        lines = [self.columns, ["---"] * len(self.columns), *self.rows]
        return "\n".join(f"| {' | '.join(line)} |" for line in lines)


_MODEL = ("asked", "model", "requests", "runs", "queue ms", "input ms", "compute ms", "output ms", "batches")


def tables(report: Mapping[str, Any]) -> Iterator[Table]:
    """A report as `plates bench --json` writes it -> the tables of what it holds."""
    runs = report.get("runs", ())
    if runs:
        yield _loads("runs", "Loads", runs)
        models = [row for run in runs if run["models"] for row in _models(run)]
        if models:
            columns = (
                "asked",
                "model",
                "requests",
                "runs",
                "queue ms",
                "input ms",
                "compute ms",
                "output ms",
                "batches",
            )
            yield Table(
                "models", "Triton's own times, means a request, and rows x runs of the batches", columns, models
            )
    if report.get("reach"):
        yield _reach(report["reach"])
    if report.get("sides"):
        yield _sides(report["sides"])
    if report.get("overload"):
        yield _overload(report["overload"])
    if report.get("stages"):
        yield _stages(report["stages"])
    if report.get("networks"):
        yield _networks(report["networks"])
    if report.get("detector"):
        yield _detector(report["detector"])
    if report.get("cache"):
        yield _cache(report["cache"])


def _loads(name: str, title: str, runs: Sequence[Mapping[str, Any]]) -> Table:
    columns = (
        *("wiring", "input", "plates", "load", "frames", "errors", "p50 ms", "p90 ms", "p99 ms"),
        *("frames/s", "plates/s", "CPU ms/frame", "MB", "client CPU"),
    )
    rows = []
    for run in runs:
        server = run["server"] or {}
        rows.append(
            [
                run["wiring"],
                f"{run['input']} {run['protocol']}",
                "mixed" if run["plates"] is None else str(run["plates"]),
                _asking(run),
                str(run["frames"]),
                str(sum(run["errors"].values())),
                *(_number(run.get(key), 1) for key in ("p50_ms", "p90_ms", "p99_ms", "frames_per_s", "plates_per_s")),
                _number(server.get("cpu_ms_per_frame"), 1),
                _number(server["pss_bytes"] / 1e6 if server else None, 0),
                f"{run['client_cpu_share']:.0%}",
            ]
        )
    return Table(name, title, columns, rows)


def _models(run: Mapping[str, Any]) -> Iterator[list[str]]:
    asked = f"{run['wiring']} {run['input']}, {run['plates']} plates, {_asking(run)}"
    for name, model in sorted(run["models"].items(), key=lambda item: -item[1]["total_ms"]):
        batches = ", ".join(f"{size}x{count}" for size, count in model["batches"].items())
        times = [_number(model[f"{phase}_ms"], 2) for phase in ("queue", "input", "infer", "output")]
        yield [asked, name, str(model["requests"]), str(model["executions"]), *times, batches]
        asked = ""


def _reach(rows: Sequence[Mapping[str, Any]]) -> Table:
    def cells(row: Mapping[str, Any]) -> list[str]:
        if row["reach"] is None:
            reach, met = "show", ""
        else:
            reach = f"{'<=' if row['at_most'] else '>='} {row['reach']:g} {row['unit']}".strip()
            met = "met" if row["met"] else "not met"
        return [row["what"], f"{row['value']:.3g} {row['unit']}".strip(), reach, met, row["detail"]]

    return Table("reach", "Reach", ("", "measured", "reach", "", "from"), [cells(row) for row in rows])


def _sides(sides: Mapping[str, Mapping[str, Any]]) -> Table:
    columns = ("side", "calls", "p50 ms", "p90 ms", "p99 ms", "calls/s")
    rows = [
        [name, str(side["frames"]), *(_number(side.get(k), 2) for k in ("p50_ms", "p90_ms", "p99_ms", "frames_per_s"))]
        for name, side in sides.items()
    ]
    return Table("sides", "What the ratios are made of, all rounds together", columns, rows)


def _overload(found: Mapping[str, Any]) -> Table:
    rows = [
        ["answered at best", f"{found['maximum']:.1f} frames/s"],
        ["offered", f"{found['offered']:.1f} frames/s"],
        ["answered then", f"{found['goodput']:.1f} frames/s, {found['ratio']:.2f} of the best"],
        ["an answer took", "{:.0f} ms, p95 {:.0f} ms".format(*found["answer_ms"])],
        ["a refusal took", "{:.0f} ms, p95 {:.0f} ms".format(*found["refusal_ms"])],
        ["refused as too many", str(found["refused"])],
        ["failed otherwise", "; ".join(found["failed"]) or "none"],
    ]
    return Table("overload", "More load than it can carry", ("", "found"), rows)


def _stages(stages: Mapping[str, Any]) -> Table:
    rows = [[row["stage"], _number(row["ms"], 2), row["how"]] for row in stages["rows"]]
    return Table("stages", stages["title"], ("stage", "ms", "how it is known"), rows)


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
    return Table("networks", "The networks by themselves", columns, cells)


def _detector(found: Mapping[str, Any]) -> Table:
    rows = [[row["name"], str(row["boxes"]), _number(row["ms"], 2)] for row in found["rows"]]
    rows.append(["ours over the package's", "", _number(found["ratio"], 3)])
    return Table("detector", found["title"], ("detector", "boxes found", "ms a frame"), rows)


def _cache(cache: Mapping[str, Any]) -> Table:
    rows = [[row["what"], row["found"]] for row in cache["rows"]]
    return Table("cache", "Triton's local response cache", ("", "found"), rows)


def _asking(run: Mapping[str, Any]) -> str:
    return f"{run['rate']:g}/s" if run["rate"] is not None else f"{run['concurrency']} at once"


def _number(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:.{digits}f}"
