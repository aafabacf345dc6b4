"""A report as a picture: latency and throughput over concurrency, the wirings, where the milliseconds go."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

_STYLES = ("-", "--", "-.", ":")


def save_plot(report: Mapping[str, Any], path: Path) -> bool:
    """A report as `plates bench --json` writes it -> a PNG; False where it holds nothing that is drawn."""
    closed = [run for run in report.get("runs", ()) if run["concurrency"] is not None and run["frames"]]
    stages = report.get("stages")
    if not closed and not stages:
        return False
    kinds = sorted({run["input"] for run in closed})
    rows = len(kinds) + bool(stages)
    figure = Figure(figsize=(14, 5 * rows), layout="constrained")
    grid = figure.add_gridspec(rows, 2)
    for row, kind in enumerate(kinds):
        lines = _lines([run for run in closed if run["input"] == kind])
        latency, throughput = (figure.add_subplot(grid[row, column]) for column in (0, 1))
        for line in lines:
            line.draw(latency, "p50_ms", up_to="p99_ms")
            line.draw(throughput, "frames_per_s")
        latency.set(xlabel="requests at once", ylabel="ms", title=f"{kind}: p50, shaded up to p99", yscale="log")
        throughput.set(xlabel="requests at once", ylabel="frames/s", title=f"{kind}: throughput", ylim=(0, None))
        throughput.legend(fontsize=7, loc="center left", bbox_to_anchor=(1, 0.5))  # beside the lines, not on them
        for axes in (latency, throughput):
            axes.set_xticks(sorted({run["concurrency"] for run in closed}))
    if stages:
        _draw_stages(figure.add_subplot(grid[rows - 1, :]), stages)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=100)
    return True


@dataclass
class _Line:
    """One wiring with one number of plates over the concurrency."""

    label: str
    colour: str
    style: str
    runs: list[Mapping[str, Any]]

    def draw(self, axes: Axes, key: str, up_to: str | None = None) -> None:
        x, y = [run["concurrency"] for run in self.runs], [run[key] for run in self.runs]
        axes.plot(x, y, marker="o", color=self.colour, linestyle=self.style, label=self.label)
        if up_to is not None:
            axes.fill_between(x, y, [run[up_to] for run in self.runs], color=self.colour, alpha=0.07)


def _lines(runs: Sequence[Mapping[str, Any]]) -> list[_Line]:
    """Runs of one kind of input -> lines; the colour tells wirings apart, or else numbers of plates."""
    wirings = list(dict.fromkeys(run["wiring"] for run in runs))
    counts = list(dict.fromkeys(run["plates"] for run in runs))
    lines: dict[tuple[str, int | None], _Line] = {}
    for run in runs:
        wiring, plates = run["wiring"], run["plates"]
        first, second = wirings.index(wiring), counts.index(plates)
        colour = f"C{first if len(wirings) > 1 else second}"
        style = _STYLES[second % len(_STYLES)] if len(wirings) > 1 else "-"
        label = f"{wiring}, {'mixed' if plates is None else f'{plates} plates'}"
        lines.setdefault((wiring, plates), _Line(label, colour, style, [])).runs.append(run)
    return list(lines.values())


def _draw_stages(axes: Axes, stages: Mapping[str, Any]) -> None:
    left = 0.0
    for row in stages["rows"]:
        if not row["part"]:
            continue
        axes.barh([0], [row["ms"]], left=left, label=f"{row['stage']} {row['ms']:.1f} ms")
        left += max(0.0, row["ms"])
    axes.set(xlabel="ms", yticks=[], title=stages["title"])
    axes.legend(ncols=5, fontsize=7, loc="upper center")
