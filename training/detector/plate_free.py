"""`python -m training.detector.plate_free`: writes pictures without a plate, to count false detections.

Sample photos of scikit-image and scikit-learn and crops of them, posters with signs, noise, and the parts of labelled
photos well above every plate. Such a part of a street photo may contain an unlabelled plate, so inspect what is found
there before you call it false.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import cv2
import numpy as np
import skimage
import sklearn.datasets
import typer
from rich.console import Console
from rich.progress import track

from plate_nets.errors import PlateError
from plate_nets.evaluation.dataset import load_dataset, read_photo
from plate_nets.types import Boxes, Frame
from training.detector.signs import with_signs

_SIZE = (480, 640)
_NO_PLATES: Boxes = np.zeros((0, 4), np.float32)


def main(
    out: Annotated[Path, typer.Option(help="Folder for the pictures.")],
    data: Annotated[list[Path], typer.Option(help="Labelled folder whose photos are cropped above their plates.")] = [],  # noqa: B006
    cuts: Annotated[int, typer.Option(min=0, help="Crops of each sample photo.")] = 4,
    posters: Annotated[int, typer.Option(min=0)] = 150,
    noise: Annotated[int, typer.Option(min=0)] = 40,
    seed: int = 0,
) -> None:
    """Write pictures without a plate as JPEG."""
    rng = np.random.default_rng(seed)
    out.mkdir(parents=True, exist_ok=True)
    count = 0
    try:
        for name, picture in track(_pictures(rng, data, cuts, posters, noise), "writing", console=Console(stderr=True)):
            if not cv2.imwrite(str(out / f"{name}.jpg"), picture):
                raise OSError(f"{out / name}.jpg: could not be written")
            count += 1
    except (PlateError, OSError) as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(1) from error
    typer.echo(f"{count} pictures in {out}")


def _pictures(
    rng: np.random.Generator, data: list[Path], cuts: int, posters: int, noise: int
) -> Iterator[tuple[str, Frame]]:
    samples = dict(sample_photos())
    for name, photo in samples.items():
        yield f"sample_{name}", photo
        for index in range(cuts):
            yield f"sample_{name}_{index}", _cut(photo, rng)
    grounds = list(samples.values())
    for index in range(posters):
        ground = _cut(grounds[int(rng.integers(len(grounds)))], rng)
        yield f"poster_{index:03d}", with_signs(rng, ground, _NO_PLATES, most=5)
    for index in range(noise):
        yield f"noise_{index:03d}", _noise(rng)
    for folder in data:
        for path, labels in load_dataset(folder).photos():
            # well above: one and a half plate heights, so that no edge of a plate is left
            top = min(label.box.ymin - 1.5 * label.box.height for label in labels)
            photo = read_photo(path)
            if top >= photo.shape[0] / 4:
                yield f"above_{folder.name}_{path.stem}", photo[: int(top)]


def sample_photos() -> Iterator[tuple[str, Frame]]:
    """The colour and grey photos that scikit-image and scikit-learn carry in their packages, as BGR frames."""
    for path in sorted((Path(skimage.__file__).parent / "data").iterdir()):
        photo = cv2.imread(str(path)) if path.suffix in {".png", ".jpg", ".jpeg", ".tif", ".tiff"} else None
        if photo is not None and min(photo.shape[:2]) >= 100:
            yield path.stem, np.asarray(photo, np.uint8)
    loaded = sklearn.datasets.load_sample_images()
    for name, rgb in zip(loaded.filenames, loaded.images, strict=True):
        yield Path(name).stem, np.ascontiguousarray(rgb[:, :, ::-1])


def _cut(photo: Frame, rng: np.random.Generator) -> Frame:
    """A random part of a photo, a third of its sides or more, in a common size."""
    height, width = photo.shape[:2]
    h, w = int(height * rng.uniform(0.34, 0.9)), int(width * rng.uniform(0.34, 0.9))
    y, x = int(rng.integers(0, height - h + 1)), int(rng.integers(0, width - w + 1))
    return np.asarray(cv2.resize(photo[y : y + h, x : x + w], _SIZE[::-1]), np.uint8)


def _noise(rng: np.random.Generator) -> Frame:
    """Noise of a random grain and contrast around a random grey."""
    grain = int(rng.integers(1, 40))
    coarse = rng.normal(0, rng.uniform(10, 90), (_SIZE[0] // grain + 1, _SIZE[1] // grain + 1, 3))
    fine = cv2.resize(coarse, _SIZE[::-1], interpolation=cv2.INTER_CUBIC)
    return np.clip(fine + rng.uniform(40, 215), 0, 255).astype(np.uint8)


if __name__ == "__main__":
    typer.run(main)
