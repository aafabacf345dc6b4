"""Runs a labelled folder through the pipeline: what is found and what is read."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from plate_nets.common.errors import DatasetError, InputError
from plate_nets.countries import PlateScheme
from plate_nets.evaluation.corner_metrics import corner_errors, turns
from plate_nets.evaluation.dataset import Fault, Label, read_photo
from plate_nets.evaluation.detection_metrics import Detections, match
from plate_nets.evaluation.reading_metrics import ReadPlate
from plate_nets.recognition.encoded import SUFFIXES
from plate_nets.recognition.overlap import stacked
from plate_nets.recognition.quads import lines_of
from plate_nets.recognition.rectification import order_corners
from plate_nets.types import Boxes, Crops, Frame, Plate, PlateCrops, Reading

_AT_ONCE = 64
"""Plates of a photo that are cut and read together; labels may list any number of them."""

LabelledPhoto = tuple[Path, tuple[Label, ...]]
"""A photo and the plates labelled in it, as `Dataset.photos` gives them."""
CropReader = Callable[[PlateCrops[Crops]], Sequence[Reading]]
"""The result of a `Cut` for N plates -> N readings."""
Cut = Callable[[Frame, Boxes], PlateCrops[Crops]]
"""A frame and plate boxes (N, 4) -> as `PlateFinder.cut`, for a `CropReader`."""
FrameReader = Callable[[Frame], list[Plate]]
"""A frame -> its plates, highest detector score first."""


@dataclass
class Outcome:
    scheme: PlateScheme
    plates: list[ReadPlate] = field(default_factory=list)
    crops: list[Crops] = field(default_factory=list)
    """One for each of ``plates`` if they are to be kept, otherwise none: a million take 27 GB."""
    pictures: list[Detections] = field(default_factory=list)
    left_out: int = 0
    """Labels without a text that the reader could give; they count for the detector only."""


def boxes_of(plates: Iterable[Label | Plate]) -> Boxes:
    """Labels or plates -> their boxes (N, 4) xyxy px."""
    return stacked(each.box for each in plates).astype(np.float32)


def plate_height(label: Label) -> float:
    """Height of a plate in the photo, px: mean of its left and right edge, or of its box if corners are unknown."""
    if label.quad is None:
        return label.box.height
    top_left, top_right, bottom_right, bottom_left = label.quad
    return float(np.linalg.norm(bottom_left - top_left) + np.linalg.norm(bottom_right - top_right)) / 2


def read_plate(label: Label, reading: Reading | None, corners: NDArray[np.float32]) -> ReadPlate:
    """Combine a label, its reading and the corners (8,) that were found, if any.

    Without labelled corners the plate counts as one with one line.
    """
    lines, turn, errors = 1, None, ()
    if label.quad is not None:
        quad = order_corners(label.quad)[None]
        lines, turn = int(lines_of(quad)[0]), float(turns(quad)[0])
        if len(corners):
            errors = tuple(corner_errors(corners.reshape(1, 4, 2), quad)[0].tolist())
    return ReadPlate(label.photo.name, label.text, plate_height(label), reading, lines, turn, errors)


def evaluate_given(
    photos: Iterable[LabelledPhoto], cut: Cut, read: CropReader, scheme: PlateScheme, *, keep_crops: bool = False
) -> Outcome:
    """Read every labelled plate, cropped by its labelled box."""
    outcome = Outcome(scheme)
    for path, labels in photos:
        readable = list(_readable(labels, outcome).values())
        photo = read_photo(path) if readable else None
        for start in range(0, len(readable), _AT_ONCE):
            assert photo is not None
            together = readable[start : start + _AT_ONCE]
            crops = cut(photo, boxes_of(together))
            plates = zip(together, crops.crops, crops.corners, read(crops), strict=True)
            for label, crop, points, reading in plates:
                outcome.plates.append(read_plate(label, reading, points))
                if keep_crops:
                    outcome.crops.append(crop[None])
    return outcome


def evaluate_detected(
    photos: Iterable[LabelledPhoto],
    cut: Cut,
    read: FrameReader,
    scheme: PlateScheme,
    score_threshold: float,
    *,
    keep_crops: bool = False,
) -> Outcome:
    """Find and read the plates of every photo.

    ``read`` may return plates with a lower score than ``score_threshold``, for the curves; they do not count as found.
    A labelled plate is found if a box overlaps its box by an IoU of 0.5 or more.
    """
    outcome = Outcome(scheme)
    for path, labels in photos:
        photo = read_photo(path)
        plates = read(photo)
        truth, boxes = boxes_of(labels), boxes_of(plates)
        scores = np.array([plate.score for plate in plates], np.float32)
        outcome.pictures.append(Detections(boxes, scores, truth))
        given = [plate for plate in plates if plate.score >= score_threshold]
        hits = match(boxes[: len(given)], truth)
        found = {int(hit): plate for hit, plate in zip(hits, given, strict=True) if hit >= 0}
        for index, label in _readable(labels, outcome).items():
            plate = found.get(index)
            reading, points = (plate.reading, plate.corners) if plate else (None, ())
            outcome.plates.append(read_plate(label, reading, np.array(points, np.float32)))
            if keep_crops:
                outcome.crops.append(cut(photo, boxes_of([plate or label]))[0])
    return outcome


def read_plate_free(paths: Iterable[Path], read: FrameReader, *, strict: bool) -> tuple[list[list[Plate]], list[Fault]]:
    """Pictures without a plate -> what is still found in each, and the files that were skipped.

    Raises:
        PlateError: with ``strict``, the first that does not open.
    """
    found: list[list[Plate]] = []
    faults: list[Fault] = []
    for path in paths:
        try:
            found.append(read(read_photo(path)))
        except (DatasetError, InputError) as error:
            if strict:
                raise
            faults.append(Fault(path.name, str(error).removeprefix(f"{path}: ")))
    return found, faults


def _readable(labels: Sequence[Label], outcome: Outcome) -> dict[int, Label]:
    """The labels with a text that the reader could give, known and in the scheme's alphabet, by their position."""
    alphabet = set(outcome.scheme.alphabet)
    readable = {index: label for index, label in enumerate(labels) if label.text and not set(label.text) - alphabet}
    outcome.left_out += len(labels) - len(readable)
    return readable


def pictures_below(folder: Path) -> list[Path]:
    """The picture files below a folder.

    Raises:
        DatasetError: there is none.
    """
    found = sorted(p for p in folder.rglob("*") if p.suffix.lower() in SUFFIXES)
    if not found:
        raise DatasetError(f"{folder}: contains no picture")
    return found
