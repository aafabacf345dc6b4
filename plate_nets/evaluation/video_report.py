"""Figures of clips as JSON and as tables on the terminal."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
from rich.console import Console

from plate_nets.cameras.fusion import FusionSettings
from plate_nets.evaluation.event_scores import BANDS, event_reliability, gate_costs, right_by_height
from plate_nets.evaluation.reading_metrics import Share
from plate_nets.evaluation.report import figure_table
from plate_nets.evaluation.video import VideoOutcome

_TABLES = ("wrong_texts", "gates", "reliability", "heights")
_SCORE = 0.9


def video_figures(outcomes: Mapping[str, VideoOutcome]) -> dict[str, Any]:
    """Outcomes by frames per second -> the figures, JSON-ready."""
    return {"rates": {rate: _figures(outcome) for rate, outcome in outcomes.items()}}


def print_video(console: Console, values: Mapping[str, Any]) -> None:
    table = figure_table("", *values["rates"])
    names = list(next(iter(values["rates"].values())))
    for name in names:
        if name not in _TABLES:
            table.add_row(name.replace("_", " "), *(_cell(row[name]) for row in values["rates"].values()))
    console.print(table)
    for rate, row in values["rates"].items():
        for text in row["wrong_texts"]:
            console.print(f"{rate}: wrong: {text}", soft_wrap=True)
    for rate, row in values["rates"].items():
        _print_scores(console, rate, row)


def _figures(outcome: VideoOutcome) -> dict[str, Any]:
    cars = max(1, outcome.cars)
    right_events = Share(outcome.events - outcome.wrong, outcome.events)
    return {
        "cars": outcome.cars,
        "exact": outcome.exact / cars,
        "exact_interval": list(Share(outcome.exact, cars).interval),
        "most_probable_right": outcome.most_probable_right / cars,
        "exactly_one_event": outcome.once / cars,
        "missed": outcome.missed,
        "events": outcome.events,
        "wrong": outcome.wrong,
        "right_of_events": right_events.value if outcome.events else None,
        "right_of_events_interval": list(right_events.interval) if outcome.events else None,
        "duplicate": outcome.duplicate,
        "seconds_to_first_p50": _percentile(outcome.to_first, 50),
        "seconds_to_first_p95": _percentile(outcome.to_first, 95),
        "seconds_to_final_max": _percentile(outcome.to_final, 100),
        "idf1": outcome.idf1(),
        "provisional": outcome.provisional,
        "changed": outcome.changed,
        "headed": outcome.headed,
        "heading_reported": outcome.heading_reported,
        "heading_right": outcome.heading_right,
        "wrong_from_0.9": sum(not text.right for text in outcome.final_texts if text.probability >= _SCORE),
        "wrong_texts": outcome.wrong_texts,
        "gates": [asdict(each) for each in gate_costs(outcome.final_texts, outcome.cars)],
        "reliability": [asdict(each) for each in event_reliability(outcome.final_texts)],
        "heights": right_by_height(outcome.final_texts, FusionSettings.sure),
    }


def _print_scores(console: Console, rate: str, row: Mapping[str, Any]) -> None:
    table = figure_table(
        "gate", "reported", "wrong", "wrong per 1000 cars", "cars without", title=f"cost of a gate, {rate}"
    )
    for each in row["gates"]:
        costs = (f"{each['wrong_per_thousand']:.1f}", f"{each['unreported']:.3f}")
        table.add_row(f"{each['gate']:g}", str(each["reported"]), str(each["wrong"]), *costs)
    console.print(table)
    table = figure_table("probability", "cars", "mean", "right", title=f"final text of each car, {rate}")
    for each in row["reliability"]:
        hits, count = each["right"]["hits"], each["right"]["count"]
        span = f"{each['low']:g} to {each['high']:g}"
        table.add_row(span, str(count), f"{each['confidence']:.3f}", f"{hits / count:.3f}")
    console.print(table)
    table = figure_table(
        "plate height, px", "cars", "reported", "right of reported", title=f"at {FusionSettings.sure:g}, {rate}"
    )
    for low, high, cars, reported, right in row["heights"]:
        span = f"{low:g} to {high:g}" if high < BANDS[-1] else f"from {low:g}"
        table.add_row(span, str(cars), str(reported), f"{right / reported:.3f}" if reported else "-")
    console.print(table)


def _percentile(times: Sequence[float], percent: float) -> float | None:
    return float(np.percentile(times, percent)) if times else None


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, list):
        return " to ".join(f"{each:.3f}" for each in value)
    return f"{value:.4f}" if isinstance(value, float) else str(value)
