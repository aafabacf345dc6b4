"""Figures of clips as JSON and as tables on the terminal."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from rich.console import Console

from plate_nets.evaluation.reading_metrics import Share
from plate_nets.evaluation.report import figure_table
from plate_nets.evaluation.video import FinalText, VideoOutcome

GATES = (0.5, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.999)
"""Minimum probabilities of a text whose cost is listed."""
_TABLES = ("wrong_texts", "gates")
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
        _print_gates(console, rate, row["gates"])


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
        "gates": [gate_cost(outcome.final_texts, outcome.cars, gate) for gate in GATES],
    }


def gate_cost(texts: Sequence[FinalText], cars: int, gate: float) -> dict[str, float]:
    """Final texts, and the number of readable cars -> the texts that this gate reports, of any car, and what it costs:
    the wrong ones of these, per thousand cars too, and the share of readable cars without their text."""
    reported = [text for text in texts if text.probability >= gate]
    wrong = sum(not text.right for text in reported)
    return {
        "gate": gate,
        "reported": len(reported),
        "wrong": wrong,
        "wrong_per_thousand": 1000 * wrong / max(cars, 1),
        "unreported": 1 - min(1.0, (len(reported) - wrong) / max(cars, 1)),
    }


def _print_gates(console: Console, rate: str, gates: Sequence[Mapping[str, Any]]) -> None:
    table = figure_table(
        "gate", "reported", "wrong", "wrong per 1000 cars", "cars without", title=f"cost of a gate, {rate}"
    )
    for each in gates:
        costs = (f"{each['wrong_per_thousand']:.1f}", f"{each['unreported']:.3f}")
        table.add_row(f"{each['gate']:g}", str(each["reported"]), str(each["wrong"]), *costs)
    console.print(table)


def _percentile(times: Sequence[float], percent: float) -> float | None:
    return float(np.percentile(times, percent)) if times else None


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, list):
        return " to ".join(f"{each:.3f}" for each in value)
    return f"{value:.4f}" if isinstance(value, float) else str(value)
