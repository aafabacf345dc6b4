"""The last stage: a page with the curves, the figures of each data set and the worst plates."""

import base64
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import cv2
import jinja2
from matplotlib.figure import Figure
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from plate_nets.evaluation.reading_metrics import ReadingSummary, Share
from plate_nets.whole_file import write_whole
from training.loop import CURVES
from training.reader.lookalikes import pictures_of, worst
from training.reader.trainer import EXACT
from training.recipe.calibrate import Calibrated
from training.recipe.measure import Measured
from training.recipe.recipe import Minimum, Recipe

_TEMPLATE = Path(__file__).with_suffix(".html")
_WORST = 60
"""Plates to show."""


@dataclass
class Findings:
    """What the stages of a run found out."""

    name: str
    recipe: Recipe
    device: str
    steps: int = 0
    minutes: float = 0.0
    temperature: float = 1.0
    calibrations: Sequence[Calibrated] = ()
    quantized: str = ""
    measured: Mapping[str, Measured] = field(default_factory=dict)

    @property
    def faults(self) -> list[str]:
        """The checks that are not met, one line each."""
        return [
            fault
            for name, least in self.recipe.checks.items()
            for fault in _faults(name, least, self.measured.get(name))
        ]


def _faults(name: str, least: Minimum, measured: Measured | None) -> Iterator[str]:
    if measured is None:
        yield f"{name}: no plate was measured; expected some to check"
        return
    for figure, share in figures(measured.summary).items():
        expected = getattr(least, figure)
        if share.value < expected:
            yield f"{name}: {figure}: expected at least {expected:g}, got {share}"


def figures(summary: ReadingSummary) -> dict[str, Share]:
    """The figures of `Minimum` by name."""
    return {"best": summary.best_exact, "text": summary.exact, "right_of_sure": right_of_sure(summary)}


def right_of_sure(summary: ReadingSummary) -> Share:
    """The share of the sure texts that are right."""
    return Share(summary.exact.hits, summary.wrong_of_read.count)


def write_report(found: Findings, out: Path) -> Path:
    """Write the page of a run into its folder -> its path."""
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
    page = environment.from_string(_TEMPLATE.read_text(encoding="utf-8")).render(
        vars(found),
        faults=found.faults,
        rows=[(name, each.summary) for name, each in found.measured.items()],
        right_of_sure=right_of_sure,
        curves=_curves(out / CURVES),
        worst=list(_worst(found.measured)),
    )
    path = out / "report.html"
    write_whole(path, page.encode())
    return path


def _curves(folder: Path) -> str:
    """The loss, and the shares of plates read right, as a picture in base64."""
    events = EventAccumulator(str(folder), size_guidance={"scalars": 0})
    events.Reload()
    picture = Figure((11, 4), layout="constrained")
    left, right = picture.subplots(1, 2)
    left.set(title="loss", xlabel="step", yscale="log")
    right.set(title="best path right", xlabel="step")
    for name in events.Tags()["scalars"]:
        points = events.Scalars(name)
        axes, label = (right, name.removeprefix(EXACT)) if name.startswith(EXACT) else (left, None)
        if label or name == "loss":
            axes.plot(
                [each.step for each in points], [each.value for each in points], label=label, marker=label and "."
            )
    if right.lines:
        right.legend(fontsize=7)
    encoded = io.BytesIO()
    picture.savefig(encoded, format="png", dpi=100)
    return base64.b64encode(encoded.getvalue()).decode()


def _worst(measured: Mapping[str, Measured]) -> Iterator[dict[str, Any]]:
    """The plates that are read worst, of all data sets."""
    rows = [(name, *each) for name, known in measured.items() for each in zip(known.plates, known.crops, strict=True)]
    for place in worst([plate for _, plate, _ in rows], _WORST):
        name, plate, crop = rows[place]
        picture = cv2.imencode(".png", pictures_of(crop)[0])[1].tobytes()
        yield {
            "set": name,
            "label": plate.label,
            "best": plate.best,
            "confidence": plate.reading.confidence if plate.reading else 0.0,
            "picture": base64.b64encode(picture).decode(),
        }
