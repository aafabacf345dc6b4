"""Figures of an evaluation as JSON, as tables on the terminal, and as curves."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from plate_nets.common.atomic_files import whole_file
from plate_nets.evaluation.calibration import ConfidenceBin, calibration_error
from plate_nets.evaluation.detection_metrics import (
    Detections,
    average_precision,
    found,
    judged,
    mean_average_precision,
    precision_recall,
    recall_by_height,
)
from plate_nets.evaluation.evaluate import Outcome
from plate_nets.evaluation.reading_metrics import ReadingSummary, Share, by_format, by_height, by_turn, summarize

SCORES = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7)
"""Minimum scores for which recall and precision are listed."""
TRADE_THRESHOLDS = (0.0, 0.3, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99)


def figures(outcome: Outcome, score_threshold: float, plate_free: Sequence[tuple[int, int]]) -> dict[str, Any]:
    """An outcome -> its figures, JSON-ready.

    Top level: ``plates`` (count), ``exact``, ``wrong``, ``unread``, ``characters`` (shares of the plates, judged by the
    sure text), and further tables. ``plate_free``: the boxes and the texts found in each picture without a plate.
    """
    whole = summarize(outcome.plates)
    result: dict[str, Any] = {
        **_summary(whole),
        "by_height": {name: _summary(s) for name, s in by_height(outcome.plates).items()},
        "by_turn": {name: _summary(s) for name, s in by_turn(outcome.plates).items()},
        "by_format": {name: _summary(s) for name, s in by_format(outcome.plates, outcome.scheme).items()},
        "labels_without_readable_text": outcome.left_out,
    }
    if outcome.pictures:
        result["detection"] = detection_figures(outcome.pictures, score_threshold)
    if plate_free:
        boxes, texts = np.array(plate_free).T
        result["plate_free"] = {
            "pictures": len(plate_free),
            "boxes_per_picture": float(boxes.mean()),
            "texts_per_picture": float(texts.mean()),
            "with_box": float((boxes > 0).mean()),
            "with_text": float((texts > 0).mean()),
        }
    return result


def figure_table(name: str, *columns: str, title: str | None = None, caption: str | None = None) -> Table:
    """A table whose figures fit on a terminal of 80 columns, or into a pipe; only names are wrapped."""
    table = Table(name, title=title, caption=caption, box=SIMPLE_HEAD, padding=0)
    for column in columns:
        table.add_column(column, justify="right", no_wrap=True)
    return table


def print_figures(
    console: Console,
    values: Mapping[str, Any],
    trade: Sequence[tuple[float, float, float]],
    bins: Sequence[ConfidenceBin],
) -> None:
    if values["plates"]:
        _print_readings(console, values)
    if trade:
        title = "cost of a threshold, per 1,000 plates"
        table = figure_table("minimum confidence", "wrong texts", "plates without a text", title=title)
        for threshold, wrong, without in trade:
            table.add_row(f"{threshold:.2f}", f"{1000 * wrong:.0f}", f"{1000 * without:.0f}")
        console.print(table)
    if bins:
        _print_calibration(console, bins)
    if detection := values.get("detection"):
        print_detection(console, detection)
    if plate_free := values.get("plate_free"):
        console.print(
            f"{plate_free['pictures']} plate-free pictures: {plate_free['boxes_per_picture']:.4f} boxes and "
            f"{plate_free['texts_per_picture']:.4f} texts per picture; {plate_free['with_box']:.4f} with a box, "
            f"{plate_free['with_text']:.4f} with a text",
            soft_wrap=True,
        )


def _print_readings(console: Console, values: Mapping[str, Any]) -> None:
    table = figure_table("plates", "count", "exact", "95 %", "wrong", "unread", "best\nexact", "charac-\nters")
    caption = "median and 95th percentile, as shares of the plate's height"
    corners = figure_table("corners", "error", "95 %", caption=caption)
    for group in ({"all": values}, values["by_height"], values["by_turn"], values["by_format"]):
        for name, row in group.items():
            low, high = row["exact_interval"]
            exact, *shares = (f"{row[key]:.4f}" for key in ("exact", "wrong", "unread", "best_exact", "characters"))
            table.add_row(name, str(row["plates"]), exact, f"{low:.3f} to {high:.3f}", *shares)
            if row["corner_errors"]:
                corners.add_row(name, *(f"{error:.3f}" for error in row["corner_errors"]))
        table.add_section()
        corners.add_section()
    console.print(table)
    if corners.row_count:
        console.print(corners)


def _print_calibration(console: Console, bins: Sequence[ConfidenceBin]) -> None:
    table = figure_table(
        "confidence", "texts", "mean confidence", "right", "95 %", title="calibration of the confidence"
    )
    for each in bins:
        low, high = each.right.interval
        table.add_row(
            f"{each.low:g} to {each.high:g}",
            str(each.right.count),
            f"{each.confidence:.3f}",
            f"{each.right.value:.3f}",
            f"{low:.3f} to {high:.3f}",
        )
    table.caption = f"expected calibration error {calibration_error(bins):.4f}"
    console.print(table)


def print_detection(console: Console, values: Mapping[str, Any]) -> None:
    table = figure_table("detection", "value")
    for name in ("labelled", "score_threshold", "precision", "recall", "ap50", "ap50_95"):
        table.add_row(name, f"{values[name]:.4g}")
    for row in values["recall_by_height"]:
        table.add_row(f"recall, {row['from']:g} px and more ({row['plates']})", f"{row['recall']:.4f}")
    console.print(table)
    table = figure_table("minimum score", "recall", "precision", "false boxes per photo")
    for row in values["by_score"]:
        table.add_row(
            f"{row['score']:.2f}", f"{row['recall']:.4f}", f"{row['precision']:.4f}", f"{row['beside_a_photo']:.3f}"
        )
    console.print(table)


def save_curves(
    path: Path,
    pictures: Sequence[Detections],
    trade: Sequence[tuple[float, float, float]],
    bins: Sequence[ConfidenceBin],
    score_threshold: float,
) -> None:
    """Draw detections, the trade-off of the threshold and the calibration bins into one PNG."""
    from matplotlib.figure import Figure  # imported here: takes a second to import

    figure = Figure(figsize=(17, 4), layout="constrained")
    reading, diagram, detection, heights = figure.subplots(1, 4)
    reading.plot([row[2] for row in trade], [row[1] for row in trade], marker=".")
    for threshold, wrong, without in trade:
        reading.annotate(f"{threshold:g}", (without, wrong), fontsize=7)
    reading.set(xlabel="plates without a text", ylabel="wrong texts", title="threshold of the confidence")
    shares = [each.right.value for each in bins]
    ends = np.array([each.right.interval for each in bins]).reshape(-1, 2).T
    diagram.plot([0, 1], [0, 1], linewidth=0.7)
    diagram.errorbar([each.confidence for each in bins], shares, np.abs(ends - shares), marker="o", linestyle="none")
    for each, share in zip(bins, shares, strict=True):
        diagram.annotate(f" {each.right.count}", (each.confidence, share), fontsize=7)
    diagram.set(xlabel="mean confidence", ylabel="share right, 95 %", title="reliability", ylim=(-0.02, 1.02))
    if pictures:
        curve = precision_recall(pictures)
        detection.plot(curve.recall, curve.precision)
        detection.set(xlabel="recall", ylabel="precision", title="detection, IoU 0.5", xlim=(0, 1.01), ylim=(0, 1.01))
        rows = recall_by_height(pictures, score_threshold)
        heights.bar([f"{low:g}" for low, *_ in rows], [row[3] for row in rows])
        heights.set(
            xlabel="plate height from, px",
            ylabel="recall",
            title=f"recall by height, score {score_threshold:g}",
            ylim=(0, 1.01),
        )
    with whole_file(path) as fresh:
        figure.savefig(fresh, dpi=110, format="png")  # whatever the suffix


def _summary(summary: ReadingSummary) -> dict[str, Any]:
    return {
        "plates": summary.plates,
        "exact": summary.exact.value,
        "exact_interval": list(summary.exact.interval),
        "wrong": summary.wrong.value,
        "unread": summary.unread.value,
        "wrong_of_read": summary.wrong_of_read.value,
        "best_exact": summary.best_exact.value,
        "characters": summary.characters,
        "corner_errors": summary.corner_errors,
    }


def detection_figures(pictures: Sequence[Detections], score_threshold: float) -> dict[str, Any]:
    """Found boxes of each picture, including low scores -> the detector's figures, JSON-ready."""
    chosen = _at_score(pictures, score_threshold)
    flags = found(pictures, score_threshold)
    return {
        "labelled": len(flags),
        "score_threshold": score_threshold,
        "precision": chosen["precision"],
        "recall": chosen["recall"],
        "recall_interval": list(Share(int(flags.sum()), len(flags)).interval),
        "by_score": [_at_score(pictures, score) for score in SCORES],
        "ap50": average_precision(pictures),
        "ap50_95": mean_average_precision(pictures),
        "recall_by_height": [
            {"from": low, "to": None if np.isinf(high) else high, "plates": plates, "recall": share}
            for low, high, plates, share in recall_by_height(pictures, score_threshold)
        ],
    }


def _at_score(pictures: Sequence[Detections], score: float) -> dict[str, float]:
    """Recall, precision and false boxes per photo, ignoring boxes below a score."""
    flags = found(pictures, score)
    hits, given = int(flags.sum()), sum(int((p.scores >= score)[judged(p)[1]].sum()) for p in pictures)
    return {
        "score": score,
        "recall": hits / max(1, len(flags)),
        "precision": hits / max(1, given),
        "beside_a_photo": (given - hits) / len(pictures),
    }
