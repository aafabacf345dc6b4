"""The test set, street scenes and the command line of the synthesis."""

from pathlib import Path

import cv2
import numpy as np
import pytest
from typer.testing import CliRunner

from plate_nets.common.errors import DatasetError
from plate_nets.countries import load_schemes, main_scheme
from plate_nets.evaluation.dataset import Label, load_dataset, read_photo
from plate_nets.recognition.quads import lines_of
from tests.commands import Result
from training.synthesis.__main__ import app
from training.synthesis.scene import render_scene
from training.synthesis.test_set import write_test_set

pytestmark = pytest.mark.slow

SMALL = (320, 180)


def draw(*arguments: object) -> Result:
    """`python -m training.synthesis`."""
    return CliRunner().invoke(app, [*map(str, arguments)])


RUSSIA = main_scheme()
KINDS = {each.name for each in RUSSIA.formats}


@pytest.mark.parametrize("lines", [1, 2])
def test_the_test_set_is_a_dataset_and_reproducible(lines: int, tmp_path: Path) -> None:
    for name in ("one", "two"):
        assert len(list(write_test_set([RUSSIA], tmp_path / name, count=40, seed=3, lines=lines))) == 40
    scheme = RUSSIA.by_lines[lines]
    dataset = load_dataset(tmp_path / "one", symbols=RUSSIA.alphabet, strict=True)
    assert not dataset.faults and len(dataset.labels) == 40
    for label in dataset.labels:
        photo = read_photo(label.photo)
        kind = label.photo.name.rpartition("_")[0].replace("_", " ")
        assert kind in {each.name for each in scheme.formats_of(label.text)}
        assert label.quad is not None
        assert label.quad.min() > 0 and (label.quad.max(axis=0) < [photo.shape[1], photo.shape[0]]).all()
        assert np.array_equal(photo, read_photo(tmp_path / "two" / "images" / label.photo.name))
    quads = np.stack([label.quad for label in dataset.labels if label.quad is not None])
    assert (lines_of(quads) == lines).mean() > 0.9, "all but a few that are seen from far aside"
    assert (tmp_path / "one" / "labels.csv").read_bytes() == (tmp_path / "two" / "labels.csv").read_bytes()


def test_a_folder_in_use_is_not_written_to(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(DatasetError, match="not empty"):
        next(write_test_set([RUSSIA], tmp_path))


@pytest.mark.parametrize("plates", [0, 1, 3])
def test_a_scene_shows_the_plates_it_names(plates: int) -> None:
    for seed in range(3):
        scene = render_scene(RUSSIA, np.random.default_rng(seed), SMALL, plates)
        assert scene.frame.shape == (SMALL[1], SMALL[0], 3) and scene.frame.dtype == np.uint8
        assert len(scene.plates) <= plates and bool(scene.plates) == bool(plates)
        for plate in scene.plates:
            box = plate.box
            assert RUSSIA.is_plate(plate.text) and plate.kind in KINDS
            assert 0 <= box.xmin < box.xmax <= SMALL[0] and 0 <= box.ymin < box.ymax <= SMALL[1]
            assert 2.5 < box.width / box.height < 6


def test_the_cars_of_a_scene_have_plates_of_several_countries_in_their_shapes() -> None:
    countries = load_schemes("germany,united_states")
    far, near = render_scene(countries, np.random.default_rng(9), plates=2).plates
    assert countries[0].is_plate(far.text) and countries[1].is_plate(near.text)
    assert far.box.width / far.box.height > 3.5 > 2.5 > near.box.width / near.box.height


def test_the_generator_determines_a_scene() -> None:
    first, again, other = (render_scene(RUSSIA, np.random.default_rng(seed), SMALL, 2).frame for seed in (4, 4, 5))
    assert np.array_equal(first, again) and not np.array_equal(first, other)


def test_plates_of_other_countries_have_no_text() -> None:
    scene = render_scene(RUSSIA, np.random.default_rng(6), SMALL, 3, foreign=1.0)
    assert scene.plates and all(plate.text == "" and plate.kind == "foreign" for plate in scene.plates)


@pytest.mark.parametrize(("scheme", "kind"), [("russia", "taxi"), ("japan", "four digits")])
def test_the_command_line_names_the_files_that_it_writes(scheme: str, kind: str, tmp_path: Path) -> None:
    sheet, folder = tmp_path / "sheet.png", tmp_path / "set"
    result = draw("--scheme", scheme, "--sheet", sheet, "--kind", kind, "--test-set", folder, "--count", 3)
    assert result.exit_code == 0, result.output
    assert cv2.imread(str(sheet)) is not None
    assert len(list((folder / "images").iterdir())) == 3


def test_a_test_set_may_have_several_countries_as_infrared_light_shows_them(tmp_path: Path) -> None:
    def brightness(label: Label) -> float:
        box = label.box
        return float(np.median(read_photo(label.photo)[int(box.ymin) : int(box.ymax), int(box.xmin) : int(box.xmax)]))

    several = ("--scheme", "finland,argentina", "--count", 8, "--seed", 1)
    assert draw(*several, "--test-set", tmp_path / "light").exit_code == 0
    assert draw(*several, "--test-set", tmp_path / "dark", "--inverted").exit_code == 0
    light, dark = (load_dataset(tmp_path / name).labels for name in ("light", "dark"))
    assert [each.text for each in light] == [each.text for each in dark]
    assert load_schemes("finland")[0].is_plate(light[0].text) and load_schemes("argentina")[0].is_plate(light[1].text)
    plates, negatives = (np.mean([*map(brightness, labels)]) for labels in (light, dark))
    assert plates > negatives + 20


def test_something_may_hide_the_first_sign_of_a_test_set(tmp_path: Path) -> None:
    assert draw("--scheme", "china", "--count", 4, "--test-set", tmp_path / "whole").exit_code == 0
    assert draw("--scheme", "china", "--count", 4, "--test-set", tmp_path / "hidden", "--hidden").exit_code == 0
    for whole, hidden in zip(*(load_dataset(tmp_path / name).labels for name in ("whole", "hidden")), strict=True):
        assert whole.text == hidden.text
        differs = (read_photo(whole.photo) != read_photo(hidden.photo)).any(axis=(0, 2))
        assert differs[int(whole.box.xmin) : int(whole.box.xmin + 0.1 * whole.box.width)].mean() > 0.9


@pytest.mark.parametrize(
    "arguments",
    [
        "no/such/folder/sheet.png",
        "sheet.png --kind tractor",
        "sheet.png --scheme none.toml",
        "sheet.png --inverted",
        "sheet.png --hidden",
    ],
)
def test_the_command_line_reports_an_error_in_one_line(
    arguments: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = draw("--sheet", *arguments.split())
    assert result.exit_code == 1
    assert result.stderr.startswith("error: ")
    assert result.stderr.count("\n") == 1


def test_only_a_street_scene_has_plates_of_several_countries(tmp_path: Path) -> None:
    scene, several = tmp_path / "scene.png", ("--scheme", "germany,brazil")
    assert draw("--scene", scene, "--plates", 2, "--reach", 12, *several).exit_code == 0
    assert scene.is_file()
    result = draw("--sheet", tmp_path / "sheet.png", *several)
    assert result.exit_code == 1 and "only --scene and --test-set have plates of several countries" in result.stderr
