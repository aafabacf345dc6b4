"""What the detector learns from and is measured on: photos whose objects other networks name, and drawn pictures."""

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path

from training.detector.drawn import draw
from training.detector.pictures import pictures_of, split_photos
from training.detector.teach import PlateTeacher, VehicleTeacher, teach
from training.detector.views import Example, Views, of_drawn, of_photos
from training.recipe.recipe import DRAWN, DetectorRecipe


def views(recipe: DetectorRecipe, root: Path, out: Path) -> tuple[Views, Mapping[str, Sequence[Example]]]:
    """A recipe and its data -> batches to learn, and what to measure on while it learns; ``out`` keeps what was found.

    Raises:
        DatasetError: a folder cannot be used.
        WeightsError: the teacher cannot be used.
    """
    folders = [root / name for name, data in recipe.data.items() if data.use == "train"]
    chosen, held = split_photos(folders, recipe.held_out)
    out.mkdir(parents=True, exist_ok=True)
    teachers = VehicleTeacher(root / recipe.vehicles), PlateTeacher()
    taught = {each.name: teach(each, teachers, out / f"{each.name}.json") for each in folders}
    pictures = out / DRAWN
    streets, others = of_drawn(pictures, draw(pictures, recipe.streets, recipe.others, recipe.schedule.seed))
    count = f"{len(chosen)} photos, {len(streets)} streets and {len(others)} other drawn pictures"
    logging.info("%s; %d photos held out", count, len(held))
    sources = (of_photos(chosen, taught), streets, others)
    return Views(sources, recipe.schedule.batch, recipe.schedule.seed), {"held out": of_photos(held, taught)}


def known_plates(recipe: DetectorRecipe, root: Path) -> dict[str, list[Example]]:
    """The photos of each data set that are not learnt, with their labelled plates."""
    learnt = [name for name, data in recipe.data.items() if data.use == "train"]
    _, held = split_photos([root / name for name in learnt], recipe.held_out)
    by_name = {name: [each for each in held if each.photo.is_relative_to(root / name)] for name in learnt}
    by_name |= {name: pictures_of(root / name) for name, data in recipe.data.items() if data.use == "check"}
    return {name: of_photos(pictures, {}) for name, pictures in by_name.items() if pictures}
