"""The last stage: a page with the curves, the figures of each data set and the worst plates."""

import base64
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import cv2
import jinja2
from matplotlib.figure import Figure
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator  # type: ignore[import-untyped]

from plate_nets.common.atomic_files import write_whole
from plate_nets.common.errors import InputError
from plate_nets.common.intake.files import read_text
from plate_nets.evaluation.reading_metrics import Share
from plate_nets.types import Frame
from training.loop import CURVES
from training.recipe.calibrate import Calibrated
from training.recipe.measure import Measured
from training.recipe.recipe import AnyRecipe

FIGURES = "figures.json"
"""The figures of a run in its folder, for the reports of others."""
_TEMPLATE = Path(__file__).with_suffix(".html")


@dataclass
class Findings:
    name: str
    recipe: AnyRecipe
    device: str
    steps: int = 0
    minutes: float = 0.0
    temperature: float = 1.0
    calibrations: Sequence[Calibrated] = ()
    quantized: str = ""
    measured: Mapping[str, Measured] = field(default_factory=dict)
    beside: Sequence[Mapping[str, Mapping[str, float]]] = ()
    """The figures of other runs of the recipe, by data set."""

    @property
    def faults(self) -> list[str]:
        """The checks that are not met, one line each."""
        return [
            f"{name}: {figure}: expected at least {expected:g}, got {share}"
            for name, least in self.recipe.checks.items()
            for figure, expected in least
            if (share := self._share(name, figure)).value < expected
        ]

    @property
    def figures(self) -> dict[str, dict[str, float]]:
        return {
            name: {figure: share.value for figure, share in each.figures.items()}
            for name, each in self.measured.items()
        }

    @property
    def spread(self) -> list[tuple[str, str, float, float]]:
        """Data set and figure, and the lowest and the highest value of all runs; none without other runs."""
        rows = []
        for name, figures in (self.figures if self.beside else {}).items():
            for figure, own in figures.items():
                all_runs = [own, *(each[name][figure] for each in self.beside if figure in each.get(name, {}))]
                rows.append((name, figure, min(all_runs), max(all_runs)))
        return rows

    def _share(self, name: str, figure: str) -> Share:
        return self.measured[name].figures[figure] if name in self.measured else Share(0, 0)


def read_figures(run: Path) -> dict[str, dict[str, float]]:
    """The folder of another run -> its figures.

    Raises:
        InputError: it has none.
    """
    path = run / FIGURES
    try:
        figures: dict[str, dict[str, float]] = json.loads(read_text(path))
    except ValueError as error:
        raise InputError(f"{path}: expected the figures of a run: {error}") from error
    return figures


def write_report(found: Findings, out: Path) -> Path:
    """Write the figures and the page of a run into its folder -> the path of the page."""
    write_whole(out / FIGURES, json.dumps(found.figures, indent=1).encode())
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
    page = environment.from_string(_TEMPLATE.read_text(encoding="utf-8")).render(
        vars(found),
        faults=found.faults,
        spread=found.spread,
        picture=_picture,
        curves=_curves(out / CURVES),
    )
    path = out / "report.html"
    write_whole(path, page.encode())
    return path


def _curves(folder: Path) -> str:
    """The loss, and the figures of the held-out plates, as a picture in base64."""
    events = EventAccumulator(str(folder), size_guidance={"scalars": 0})
    events.Reload()
    picture = Figure((11, 4), layout="constrained")
    left, right = picture.subplots(1, 2)
    for name in events.Tags()["scalars"]:
        kind, _, label = name.partition("/")
        if label or kind == "loss":
            axes, points = right if label else left, events.Scalars(name)
            axes.set(title=kind, xlabel="step")
            axes.plot(
                [each.step for each in points], [each.value for each in points], label=label, marker="." * bool(label)
            )
    if left.lines and min(left.lines[0].get_ydata()) > 0:  # that of the corners may be below
        left.set(yscale="log")
    if right.lines:
        right.legend(fontsize=7)
    encoded = io.BytesIO()
    picture.savefig(encoded, format="png", dpi=100)
    return base64.b64encode(encoded.getvalue()).decode()


def _picture(picture: Frame) -> str:
    """A picture (H, W, 3) BGR in base64."""
    return base64.b64encode(cv2.imencode(".png", picture)[1].tobytes()).decode()
