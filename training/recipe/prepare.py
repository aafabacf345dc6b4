"""The first stage: the plates of labelled folders, ready to be learnt.

Boxes and loose crops say too little about the position of a plate's characters. Our own detector and CornerNet find
the corners, so that the reader learns from what it will be given; boxes become those around the corners. A part of the
texts is held out, the same in every set. The result is a table per set, so it is found once and kept.
"""

import csv
import hashlib
import io
import logging
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
from rich.progress import track

from benchmarks.measures.other_reader import OtherReader
from plate_nets.common.atomic_files import whole_folder, write_whole
from plate_nets.common.errors import DatasetError
from plate_nets.contract import LATIN
from plate_nets.countries import PlateScheme, load_scheme
from plate_nets.countries.scheme import UNKNOWN
from plate_nets.evaluation.dataset import (
    COLUMNS,
    REQUIRED,
    Label,
    csv_rows,
    load_dataset,
    parse_box,
    read_photo,
)
from plate_nets.evaluation.evaluate import boxes_of
from plate_nets.recognition.geometry import GREY
from plate_nets.recognition.local import LocalReader
from plate_nets.recognition.overlap import iou
from plate_nets.recognition.quads import Quad
from plate_nets.recognition.rectification import quad_boxes
from plate_nets.types import CORNER_COLUMNS, Frame
from training.real import SAME, Example, most_lines, one_each, readable
from training.recipe.recipe import DRAWN, AnyRecipe, DataSet, drawings
from training.synthesis.test_set import write_test_set

Examples = Mapping[str, Sequence[Example]]
"""The plates of each data set, by its name."""

PREPARED, LABELS = "prepared", "labels.csv"
_MARGIN = 0.5
"""Border added around a photo, in its heights: of 60 loose crops of US plates 45 are found with it, 25 without."""
_NEAR = 0.1
"""Minimum overlap (IoU) of a found plate with the box of a loose crop."""
_SHORTEST = 4
"""Minimum number of symbols of a text that a teacher gives: shorter ones may agree by chance."""
_SURE = 0.8
"""Minimum probability of a teacher's region that becomes the country. A guess."""
_DRAWN_SEED = 20_260_000
"""No training uses it."""
_COLUMNS = (*COLUMNS, "country", "lines", "held_out")


def prepare(recipe: AnyRecipe, root: Path, out: Path) -> dict[str, list[Example]]:
    """The data sets of a recipe, in a folder -> their plates; ``out`` keeps them for the next time.

    Raises:
        DatasetError: a folder cannot be used.
    """
    if recipe.network == "detector":  # it learns whole photos
        return {}
    scheme = load_scheme(recipe.scheme if recipe.network == "reader" else LATIN)
    found = {name: prepared(scheme, root / name, each, out) for name, each in recipe.data.items()}
    if recipe.network == "reader" and recipe.calibration and recipe.calibration.drawn:
        folder, count = folder_of(DRAWN, recipe, root, out), recipe.calibration.drawn
        if not folder.exists():
            with whole_folder(folder) as fresh:
                for _ in track(write_test_set(list(drawings(recipe)), fresh, count, _DRAWN_SEED), DRAWN, total=count):
                    pass
        found[DRAWN] = prepared(scheme, folder, DataSet(use="check"), out)
    return found


def folder_of(name: str, recipe: AnyRecipe, root: Path, out: Path) -> Path:
    """The labelled folder of a data set of a recipe, or of what is drawn for it; other drawings are in another one."""
    if name != DRAWN:
        return root / name
    how: tuple[object, ...] = ()
    if recipe.network == "detector":
        how = recipe.streets, recipe.others, recipe.schedule.seed
    elif recipe.network == "reader" and recipe.calibration:
        how = recipe.calibration.drawn, recipe.scheme, *recipe.drawings
    return out / f"{DRAWN}-{hashlib.sha256(repr(how).encode()).hexdigest()[:12]}"


def prepared(scheme: PlateScheme, folder: Path, data: DataSet, out: Path) -> list[Example]:
    """A labelled folder, for the reader of a scheme -> its plates; see `prepare`."""
    symbols = None if UNKNOWN in scheme.alphabet or data.use == "foreign" else scheme.alphabet
    labels = folder / LABELS
    written = labels.read_bytes() if labels.exists() else b""
    how = data.model_dump_json(exclude={"weight"})
    table = out / f"{folder.name}-{hashlib.sha256(written + f'{how}{symbols}'.encode()).hexdigest()[:12]}.csv"
    if not table.exists():
        _write(table, folder, list(_found(folder, data, scheme, symbols)))
    examples = list(_read(table, folder))
    apart = sum(each.held_out for each in examples)
    strange = sum(not set(each.label.text) <= set(scheme.alphabet) for each in examples) if symbols is None else 0
    unknown = f", {strange} with signs that the reader does not know" if strange and data.use != "foreign" else ""
    logging.info("%s: %d plates, %d held out%s", folder.name, len(examples), apart, unknown)
    return examples


def _found(folder: Path, data: DataSet, scheme: PlateScheme, symbols: str | None) -> Iterator[Example]:
    """The plates of a labelled folder, with the corners that are known or found."""
    dataset = load_dataset(folder, symbols=symbols)
    rows = {folder / "images" / row["file"]: row for _, row in csv_rows(folder / LABELS, REQUIRED)}
    valid = {row["text"] for row in rows.values() if row.get("note") == "valid"}  # set aside by the data's source
    reader = LocalReader(threads=1)
    own = LocalReader(scheme=scheme, threads=1)  # loads its networks at its first use, with a teacher alone
    teacher = OtherReader(data.teacher, threads=1) if data.teacher else None
    for path, labels in track(list(dataset.photos()), folder.name):
        country = (rows[path].get("country") or data.country).lower()
        lines = rows[path].get("lines") or str(most_lines(country))
        if lines not in ("1", "2"):
            raise DatasetError(f"{folder / 'labels.csv'} ({path.name}): lines: expected 1 or 2, got {lines!r}")
        counting = [labels[row] for row in one_each(labels, boxes_of(labels))]
        plates = [Example(each, folder.name, country, int(lines), False) for each in counting]
        if teacher:
            plates = list(taught(read_photo(path), plates, own, teacher))
        if data.boxes != "labelled" and any(each.label.quad is None for each in plates if readable(each.label.text)):
            plates = list(located(read_photo(path), plates, reader, tight=data.boxes == "tight"))
        for plate in plates:
            text = plate.label.text
            apart = text in valid if valid else is_held_out(text, data.held_out)
            yield replace(plate, held_out=data.use == "check" or (data.use == "train" and apart))


def is_held_out(text: str, share: float) -> bool:
    """Whether a text is among the share that is not learnt, by its hash."""
    return hashlib.sha256(text.encode()).digest()[0] < round(256 * share)


def located(photo: Frame, plates: Sequence[Example], reader: LocalReader, tight: bool) -> Iterator[Example]:
    """A photo (H, W, 3) BGR and its plates -> the same with corners: the labelled ones, those of the found plate
    nearest to the box or, without one, those that CornerNet sees in the box. Of several labels for the same corners,
    the last counts. ``tight``: drop corners that do not fill the box."""
    pad = round(_MARGIN * photo.shape[0])
    around = np.asarray(
        cv2.copyMakeBorder(photo, pad, pad, pad, pad, cv2.BORDER_CONSTANT, value=(GREY, GREY, GREY)), np.uint8
    )
    seen = reader.read(around)
    boxes = boxes_of([each.label for each in plates]) + np.float32(pad)
    corners = reader.cut(around, boxes).corners
    quads = []
    for plate, inside, overlaps in zip(plates, corners, iou(boxes, boxes_of(seen)), strict=True):
        near = len(seen) > 0 and overlaps.max() > _NEAR
        points = np.array(seen[int(overlaps.argmax())].corners if near else inside, np.float32)
        quads.append(points.reshape(4, 2) - np.float32(pad) if plate.label.quad is None else plate.label.quad)
    for row in one_each([each.label for each in plates], quad_boxes(np.stack(quads))):
        plate, quad = plates[row], quads[row]
        filled = iou(boxes_of([plate.label]), quad_boxes(quad[None]))[0, 0] > SAME
        drop = tight and plate.label.quad is None and not filled
        yield replace(plate, label=replace(plate.label, quad=None if drop else quad))


def taught(photo: Frame, plates: Sequence[Example], reader: LocalReader, teacher: OtherReader) -> Iterator[Example]:
    """Plates -> the same with the texts on which both readers agree where there was none; without one, none.

    The teacher's sure region becomes the country. Nothing of the teacher is shipped.
    """
    yield from (each for each in plates if each.label.text)
    unread = [each for each in plates if not each.label.text]
    if not unread:
        return
    boxes = boxes_of([each.label for each in unread])
    cut, stretched = reader.cut(photo, boxes), teacher.cut(photo, boxes)
    answers = zip(unread, reader.read_crops(cut), cut.corners, strict=True)
    results = zip(answers, teacher.read(stretched), teacher.regions(stretched), strict=True)
    for (plate, reading, points), text, (country, probability) in results:
        if text == reading.best and len(text) >= _SHORTEST and readable(text):
            quad = points.reshape(4, 2)
            unknown = (quad_boxes(quad[None])[0] == boxes_of([plate.label])[0]).all()
            label = replace(plate.label, text=text, quad=None if unknown else quad)
            yield replace(plate, label=label, country=country if probability >= _SURE else "")


def _write(table: Path, folder: Path, examples: Iterable[Example]) -> None:
    """Write plates to a table; the photos stay where they are."""
    text = io.StringIO(newline="")
    rows = csv.writer(text)
    rows.writerow(_COLUMNS)
    for each in examples:
        label, quad = each.label, each.label.quad
        box: list[float] = boxes_of([label])[0].tolist()
        points: list[float | str] = [""] * len(CORNER_COLUMNS)
        if quad is not None:
            found = quad.astype(np.float64).round(2)
            box, points = [*found.min(axis=0), *found.max(axis=0)], [*found.reshape(-1)]
        file = label.photo.relative_to(folder / "images").as_posix()
        rows.writerow([file, *box, label.text, *points, each.country, each.lines, int(each.held_out)])
    table.parent.mkdir(parents=True, exist_ok=True)
    write_whole(table, text.getvalue().encode())


def _read(table: Path, folder: Path) -> Iterator[Example]:
    """The plates of a table that `_write` wrote, perhaps on another machine."""
    for _, row in csv_rows(table, _COLUMNS):
        points: Quad | None = None
        if row[CORNER_COLUMNS[0]]:
            points = np.array([float(row[name]) for name in CORNER_COLUMNS], np.float32).reshape(4, 2)
        label = Label(folder / "images" / row["file"], parse_box(row), row["text"], points)
        yield Example(label, folder.name, row["country"], int(row["lines"]), row["held_out"] == "1")


def marks_of(recipe: AnyRecipe, root: Path) -> str:
    """A line for each data set that a recipe learns, with the SHA-256 of its labels, which tells whether it changed."""
    learnt = (name for name, data in recipe.data.items() if data.use != "check")
    hashes = ((each, hashlib.sha256((root / each / LABELS).read_bytes()).hexdigest()) for each in learnt)
    return "".join(f"\n{name}/{LABELS} of {digest[:12]}" for name, digest in hashes)


def held_out(examples: Examples) -> dict[str, list[Example]]:
    """The plates with a text that are not learnt, by data set."""
    found = {name: [each for each in plates if each.held_out and each.label.text] for name, plates in examples.items()}
    return {name: plates for name, plates in found.items() if plates}


def write_held_out(examples: Examples, root: Path, out: Path) -> None:
    """Write the plates of data sets in ``root`` that are not learnt as labelled folders, for other measurements."""
    for name, plates in held_out(examples).items():
        if name == DRAWN or (out / name).exists():
            continue
        with whole_folder(out / name) as fresh:
            for photo in {each.label.photo for each in plates}:
                copy = fresh / photo.relative_to(root / name)
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(photo, copy)
            _write(fresh / LABELS, root / name, plates)
