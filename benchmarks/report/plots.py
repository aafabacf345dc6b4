"""Tables as plots of a few lines, each with its name at its end."""

from collections.abc import Callable, Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks.report.tables import Table

_GAP = 0.06
"""Minimum distance of two names at the ends of lines, as a share of the axes' height."""

Points = list[tuple[float, float]]


def plot_loads(table: Table) -> Figure:
    """Loads -> throughput and latency by the number of requests at once, one line per number of plates in the frame."""
    encoded = _closed(table.where({"variant": "plate_recognition", "input": "encoded"}))
    return _throughput_and_latency(
        encoded, lambda row: f"{row['plates']} plate{'s' * (row['plates'] != '1')}", "A 1280x720 JPEG over HTTP"
    )


def plot_variants(table: Table) -> Figure:
    """Loads of all variants -> throughput and latency by the number of requests at once, one line per variant."""
    names = {
        "plate_recognition": "BLS (production)",
        "plate_recognition_ensemble": "ensemble",
        "plate_recognition_python": "one Python model",
        "client_chain": "client's chain",
    }
    four = [row for row in _closed(table.where({"input": "encoded", "plates": "4"})) if row["variant"] in names]
    return _throughput_and_latency(four, lambda row: names[row["variant"]], "A 1280x720 JPEG with 4 plates over HTTP")


def plot_stages(table: Table) -> Figure:
    """Stages of a frame -> one bar each; a part of the whole begins where the one before ends."""
    figure = Figure(figsize=(9, 5.5), layout="constrained")
    axes = figure.add_subplot()
    left = 0.0
    for place, (stage, text, part, _) in enumerate(table.rows):
        ms = float(text)
        start = left if part == "yes" else 0.0
        within = stage in _NETWORKS
        axes.barh(place, ms, left=start, color="C0" if within else "C7" if part == "no" else "C1")
        axes.annotate(f"{ms:.1f}", (start + max(ms, 0), place), (4, 0), textcoords="offset points", va="center")
        if part == "yes":
            left += ms
    axes.set_yticks(range(len(table.rows)), [row[0] for row in table.rows])
    axes.invert_yaxis()
    axes.margins(x=0.08)
    axes.set(xlabel="ms", title=f"{table.title}\n(blue: a network; orange: around the networks; grey: sums)")
    _bare(axes)
    return figure


PLOTS: Mapping[str, Callable[[Table], Figure]] = {
    "loads": plot_loads,
    "variants": plot_variants,
    "stages": plot_stages,
}
"""The name of a table's CSV file and of its plot -> the function that draws it."""

_NETWORKS = ("detector", "stn", "lprnet")


def _closed(table: Table) -> list[dict[str, str]]:
    """The closed loads of a table with any answers, by column name."""
    rows = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
    return [row for row in rows if row["callers"] and row["p50 ms"]]


def _throughput_and_latency(
    rows: Sequence[Mapping[str, str]], name: Callable[[Mapping[str, str]], str], title: str
) -> Figure:
    figure = Figure(figsize=(11, 4.5), layout="constrained")
    figure.suptitle(title)
    for axes, column, label in zip(
        figure.subplots(1, 2), ("frames/s", "p50 ms"), ("frames/s", "median latency, ms"), strict=True
    ):
        lines: dict[str, Points] = {}
        for row in rows:
            lines.setdefault(name(row), []).append((float(row["callers"]), float(row[column])))
        _draw(axes, lines)
        axes.set(xlabel="requests at once", ylabel=label)
    return figure


def _draw(axes: Axes, lines: Mapping[str, Points]) -> None:
    """Lines from 0 up, each with its name at its end; overlapping names are moved apart."""
    ticks = sorted({x for points in lines.values() for x, _ in points})
    top = 1.05 * max(y for points in lines.values() for _, y in points)
    axes.set(xticks=ticks, ylim=(0, top))
    colours = {name: f"C{number}" for number, name in enumerate(lines)}
    place = -1.0
    for name, points in sorted(lines.items(), key=lambda line: line[1][-1][1]):
        axes.plot(*zip(*points, strict=True), marker="o", color=colours[name])
        place = max(points[-1][1] / top, place + _GAP)
        axes.text(1.02, place, name, color=colours[name], va="center", transform=axes.transAxes)
    _bare(axes)


def _bare(axes: Axes) -> None:
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="both", alpha=0.3)
    axes.set_axisbelow(True)
