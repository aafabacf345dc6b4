"""CornerNet's training on a handful of plates: it learns, resumes exactly, and reports faults clearly."""

import shutil
from itertools import count, islice, product
from pathlib import Path

import cv2
import numpy as np
import pytest
import torch

from plate_nets.countries import main_scheme
from plate_nets.evaluation.corner_metrics import corner_errors, turns
from plate_nets.evaluation.dataset import load_dataset
from plate_nets.networks.checkpoint import read_metadata
from plate_nets.networks.corners import CornerNet
from plate_nets.networks.registry import NETWORKS
from plate_nets.recognition.geometry import GREY
from plate_nets.recognition.quads import quad_size
from plate_nets.recognition.rectification import order_corners
from tests.commands import succeed
from tests.real_plates import write_labels
from training.__main__ import main
from training.corners.samples import Samples, drawn_source, load_sources, make_windows, replaced
from training.corners.trainer import CornerTrainer, corner_loss, corner_state, errors_of, found_by, load_corners
from training.real import Example
from training.recipe.recipe import CornerMixture, Schedule
from training.synthesis import synthesize
from training.synthesis.crops import photograph, stray

CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four photos with a drawn plate of one line each. The corner points of one start at another corner."""
    drawn = (drawn_source(np.random.default_rng(seed)) for seed in count())
    flat = (each for each in drawn if np.divide(*np.ptp(each.corners, axis=0)) > 4)
    photos, rows = {}, []
    for index, source in enumerate(islice(flat, 4)):
        photos[f"{index}.png"] = source.picture
        box = (*source.corners.min(axis=0), *source.corners.max(axis=0))
        quad = np.roll(source.corners, index == 2, axis=0).reshape(-1)
        rows.append(",".join([f"{index}.png", *map(str, box), "A123BC77", *map(str, quad)]))
    return write_labels(tmp_path_factory.mktemp("corners"), photos, rows, ",x1,y1,x2,y2,x3,y3,x4,y4")


@pytest.fixture(scope="module")
def examples(dataset: Path) -> list[Example]:
    """The plates of the folder."""
    return [Example(each, "drawn", "", 2, False) for each in load_dataset(dataset).labels]


def test_samples_are_a_function_of_the_step(examples: list[Example]) -> None:
    sources, chances = load_sources(examples)
    first, again, other = (Samples(sources, chances, batch=8, seed=1)[step] for step in (17, 17, 18))
    assert np.array_equal(first.windows, again.windows) and np.array_equal(first.corners, again.corners)
    assert not np.array_equal(first.windows, other.windows)
    assert first.windows.shape == (8, 3, 64, 128) and first.corners.shape == (8, 4, 2) and first.heights.shape == (8,)
    assert (first.heights > 0).all() and np.isfinite(first.corners).all()


def test_labelled_corners_are_put_in_order(examples: list[Example]) -> None:
    for source in load_sources(examples)[0]:
        assert np.array_equal(source.corners, order_corners(source.corners))
    assert all(np.abs(turns(each.quads)).max() < 1 for each in load_corners(examples))


def test_corners_in_a_window_are_where_the_plate_is() -> None:
    """A white plate on black: bright inside the corners and dark outside, in both windows."""
    source = drawn_source(np.random.default_rng(0))
    picture = np.zeros_like(source.picture)
    cv2.fillPoly(picture, [np.round(source.corners).astype(np.int32)], (255, 255, 255))
    source = type(source)(picture, source.corners, source.base)
    for seed, close in product(range(6), (0.0, 1.0)):
        for window, corners in make_windows(source, np.random.default_rng(seed), CornerMixture(cut=0, close=close)):
            inside = np.zeros((64, 128), np.uint8)
            cv2.fillPoly(inside, [np.round(corners * 16).astype(np.int32)], (1,), shift=4)
            core = cv2.erode(inside, np.ones((5, 5), np.uint8)) > 0
            rim = cv2.dilate(inside, np.ones((9, 9), np.uint8)) == 0
            if core.sum() > 20 and rim.sum() > 20:
                assert np.median(window[:, core]) > np.median(window[:, rim])


def test_other_plates_are_drawn_over_real_ones(examples: list[Example]) -> None:
    source = load_sources(examples)[0][0]
    before = source.picture.copy()
    aspects = []
    for seed in range(30):
        other = replaced(source, np.random.default_rng(seed))
        assert other.picture.shape == before.shape and other.corners.shape == (4, 2)
        heights, widths = quad_size(other.corners[None])
        aspects.append(float(widths[0] / heights[0]))
    assert np.array_equal(source.picture, before)
    assert min(aspects) < 2 and max(aspects) > 4


def test_the_frame_of_a_close_photo_is_near_the_plate_on_all_sides() -> None:
    """What lies beyond the frame is grey in the window, as the finder pads it."""
    source = drawn_source(np.random.default_rng(0))

    def padded(close: float) -> list[float]:
        mixture = CornerMixture(cut=0, close=close)
        firsts = (make_windows(source, np.random.default_rng(seed), mixture)[0][0] for seed in range(12))
        return [float((np.abs(first - (GREY - 127.5) / 128) < 0.002).all(axis=0).mean()) for first in firsts]

    assert max(padded(0.0)) < 0.1 < min(padded(1.0))


def test_plates_of_other_countries_are_drawn_by_their_share() -> None:
    """Their plates have other shapes."""

    def shapes(share: float) -> set[float]:
        drawn = (drawn_source(np.random.default_rng(seed), share).corners for seed in range(30))
        return {round(float(np.divide(*np.ptp(corners, axis=0))), 1) for corners in drawn}

    assert len(shapes(1.0) - shapes(0.0)) >= 5


def test_loss_falls_on_one_batch(examples: list[Example], tmp_path: Path) -> None:
    torch.manual_seed(0)
    samples = Samples(*load_sources(examples), batch=4, seed=7)
    schedule = Schedule(steps=20_000, rate=0.06)  # its first steps learn at 2e-3
    training = CornerTrainer(corner_state(CPU), samples, {}, schedule, tmp_path, device=CPU, workers=0)
    losses = [training.step(samples[0])[0] for _ in range(12)]
    assert losses[-1] < 0.7 * losses[0]


def test_the_loss_is_smallest_for_agreeing_right_votes() -> None:
    corners = torch.tensor([[[16.0, 16.0], [112.0, 16.0], [112.0, 48.0], [16.0, 48.0]]])
    weights = torch.full((1, 4, 5), 0.2)
    right = corners[:, :, None].expand(1, 4, 5, 2)
    sure, heights = torch.tensor([[-4.0]]), torch.tensor([32.0])
    split = right + torch.tensor([[-8.0, 0], [8, 0], [0, -8], [0, 8], [0, 0]])
    off = right + 8.0
    best, divided, wrong = (corner_loss(p, weights, sure, corners, heights).item() for p in (right, split, off))
    assert best < divided < wrong


def test_a_recipe_trains_the_corners_and_the_head_and_measures(tmp_path: Path, dataset: Path) -> None:
    data = tmp_path / "data"
    for name in ("one", "two", "boxes"):
        shutil.copytree(dataset, data / name)
    rows = [line.split(",")[:6] for line in (dataset / "labels.csv").read_text(encoding="utf-8").splitlines()]
    (data / "boxes" / "labels.csv").write_text("\n".join(map(",".join, rows)), encoding="utf-8")  # without corners
    recipe = tmp_path / "tiny.toml"
    recipe.write_text(
        'network = "corners"\ndata.one = {}\ndata.boxes.held_out = 0.5\ndata.two.use = "check"\n'
        "schedule = { steps = 2, batch = 4, every = 2 }\nplate_head = { rendered = 2, epochs = 1 }\n"
        "checks.two.near = 0.0\n"
    )
    succeed(main, recipe, "--data", data, "--out", tmp_path / "run", "--workers", 0)
    weights = tmp_path / "run" / "weights" / "corners.safetensors"
    said = read_metadata(weights)
    assert (said["recipe"], said["steps"], said["data"]) == ("tiny", "2", "one, boxes")
    assert "windows" in said["plate head"]
    NETWORKS["corners"].load(main_scheme(), weights)
    report = (tmp_path / "run" / "report.html").read_text(encoding="utf-8").replace("\n", "")
    assert "<td>two<td>4<td>" in report and report.count(" heights</figcaption>") >= 4


def test_errors_are_shares_of_the_height() -> None:
    quads = np.array([[[0, 0], [100, 0], [100, 20], [0, 20]]], np.float32)
    moved = quads + np.array([[3, 4], [0, 0], [0, 2], [0, 0]], np.float32)
    assert corner_errors(moved, quads)[0] == pytest.approx([0.25, 0, 0.1, 0])


def test_the_validation_measures_four_corners_of_each_plate_on_the_device_of_the_network(
    examples: list[Example],
) -> None:
    class Elsewhere(CornerNet):
        """On a device that holds no numbers, so it answers from here."""

        def forward(self, windows: torch.Tensor) -> torch.Tensor:
            assert windows.device == self.across.device == torch.device("meta")
            return torch.zeros(len(windows), 10)

    known = load_corners(examples)
    assert errors_of(found_by(Elsewhere().to("meta"), known), known).shape == (4, 4)


def test_straightened_crops_for_the_reader() -> None:
    source = drawn_source(np.random.default_rng(2))
    for seed in range(8):
        rng = np.random.default_rng(seed)
        crop = photograph(source.picture, source.corners, rng, float(seed) / 8, "near")
        assert crop.shape == (24, 94, 3) and crop.dtype == np.uint8
        for lines in (1, 2):
            sample = synthesize(main_scheme(), rng, sight="near", lines=lines)
            assert sample.crop.shape == (24, 94, 3) and main_scheme().by_lines[lines].is_plate(sample.text)


def test_corners_stray_by_a_few_hundredths_of_the_height() -> None:
    quad = np.array([[0, 0], [92, 0], [92, 20], [0, 20]], np.float32)
    rng = np.random.default_rng(0)
    errors = np.concatenate([corner_errors(stray(quad, rng)[None], quad[None]) for _ in range(400)])
    assert 0.03 < np.median(errors) < 0.09 and np.quantile(errors, 0.95) < 0.3
