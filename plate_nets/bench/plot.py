"""A report as a picture: latency and throughput over concurrency, the wirings, where the milliseconds go."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure


def save_plot(report: Mapping[str, Any], path: Path) -> bool:
    """A report as `plates bench --json` writes it -> a PNG; False where it holds nothing that is drawn."""
    closed = [run for run in report.get("runs", ()) if run["concurrency"] is not None and run["frames"]]
    stages = report.get("stages")
    if not closed and not stages:
        return False
    lines: dict[str, list[Mapping[str, Any]]] = {}
    for run in closed:
        plates = "mixed" if run["plates"] is None else f"{run['plates']} plates"
        lines.setdefault(f"{run['wiring']}, {run['input']}, {plates}", []).append(run)
    kinds = sorted({run["input"] for run in closed})
    rows = max(1, len(kinds)) + bool(stages and closed)
    figure = Figure(figsize=(14, 5 * rows), layout="constrained")
    grid = figure.add_gridspec(rows, 2)
    for row, kind in enumerate(kinds):
        chosen = {name: runs for name, runs in lines.items() if runs[0]["input"] == kind}
        _draw_latency(figure.add_subplot(grid[row, 0]), chosen, kind)
        _draw_throughput(figure.add_subplot(grid[row, 1]), chosen, kind)
    if stages:
        _draw_stages(figure.add_subplot(grid[rows - 1, :]), stages)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=100)
    return True


def _draw_latency(axes: Axes, lines: Mapping[str, Sequence[Mapping[str, Any]]], kind: str) -> None:
    for name, runs in lines.items():
        x = [run["concurrency"] for run in runs]
        (line,) = axes.plot(x, [run["p50_ms"] for run in runs], marker="o", label=name)
        axes.fill_between(
            x, [run["p50_ms"] for run in runs], [run["p99_ms"] for run in runs], color=line.get_color(), alpha=0.1
        )
    axes.set(xlabel="requests at once", ylabel="ms", title=f"{kind}: p50, shaded up to p99", yscale="log")
    axes.legend(fontsize=6)


def _draw_throughput(axes: Axes, lines: Mapping[str, Sequence[Mapping[str, Any]]], kind: str) -> None:
    for name, runs in lines.items():
        axes.plot([run["concurrency"] for run in runs], [run["frames_per_s"] for run in runs], marker="o", label=name)
    axes.set(xlabel="requests at once", ylabel="frames/s", title=f"{kind}: throughput", ylim=(0, None))


def _draw_stages(axes: Axes, stages: Mapping[str, Any]) -> None:
    left = 0.0
    for row in stages["rows"]:
        if not row["part"]:
            continue
        axes.barh([0], [row["ms"]], left=left, label=f"{row['stage']} {row['ms']:.1f} ms")
        left += max(0.0, row["ms"])
    axes.set(xlabel="ms", yticks=[], title=stages["title"])
    axes.legend(ncols=5, fontsize=7, loc="upper center")
