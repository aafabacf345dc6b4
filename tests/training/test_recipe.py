"""Recipes: their keys, and a run of seconds from drawn data through every stage to weights that can be published."""

from pathlib import Path
from typing import get_args

import numpy as np
import pytest
import torch

from plate_nets.common.errors import InputError
from plate_nets.countries import load_scheme, main_scheme
from plate_nets.networks.checkpoint import WEIGHTS, read_metadata, read_weights
from plate_nets.networks.registry import NETWORKS
from plate_nets.networks.runtimes.quantization import RANGES
from tests.commands import invoke
from tests.disk import small_files
from training.__main__ import main
from training.recipe.load import BUILT_IN, load_recipe
from training.recipe.networks import starts
from training.recipe.recipe import AnyRecipe, Part, drawings
from training.synthesis.test_set import write_test_set

pytestmark = pytest.mark.slow

RECIPE = """\
scheme = "russia"
data.one.held_out = 0.3
data.two.use = "check"
data.others.use = "foreign"
schedule = { steps = 3, batch = 4, every = 2 }
mixture = { straightened = 0.8, foreign = 0.1 }
calibration.drawn = 2
quantization = { pictures = ["one"], count = 2 }
checks.two.best = 0.5

[[phases]]
share = 1

[[phases]]
share = 1
mixture = { two_lines = 0.5 }
"""


def test_the_recipes_of_the_package_draw_countries_of_their_reader_and_check_what_they_know() -> None:
    names = {path.stem for path in BUILT_IN.glob("*.toml")}
    readers = {"reader_russia", "reader_scripts", "reader_world"}
    assert names == readers | {"country", "corners", "detector", "detector_fast"}
    for name in names:
        recipe = load_recipe(name)
        assert recipe.checks and recipe.schedule.minutes is not None and recipe.schedule.minutes <= 180
        if recipe.network == "reader":
            scheme = load_scheme(recipe.scheme)
            others = {each.trained_as for each in drawings(recipe)} - {scheme.trained_as}
            assert others == ({"latin", "russia"} if name == "reader_scripts" else set()), name
            assert recipe.calibration


def test_every_key_says_what_it_is() -> None:
    parts = [*Part.__subclasses__(), *get_args(AnyRecipe)]
    silent = {key for part in parts for key, field in part.model_fields.items() if not field.description}
    named = {"data", "start", "schedule", "mixture", "averaging", "calibration", "quantization", "plate_head"}
    assert silent == named, "these are parts"


def test_settings_change_single_keys() -> None:
    settings = ["schedule.minutes=20", "data.br_crops.weight=3", "data.mine.boxes=tight", "phases=[]", "read=brazil"]
    recipe = load_recipe("reader_world", settings)
    assert recipe.network == "reader"
    assert recipe.schedule.minutes == 20 and recipe.schedule.batch == 64 and recipe.read == "brazil"
    assert recipe.data["br_crops"].weight == 3 and recipe.data["br_crops"].boxes == "tight" == recipe.data["mine"].boxes


def test_a_phase_names_only_what_differs() -> None:
    recipe = load_recipe("reader_russia")
    assert recipe.network == "reader"
    assert [phase.mixture.far for phase in recipe.phases] == [0, 0.45, 0.42]
    assert {phase.mixture.foreign for phase in recipe.phases} == {recipe.mixture.foreign} == {0.08}
    assert starts(recipe.phases) == pytest.approx([0.3, 0.7])


@pytest.mark.parametrize(
    ("setting", "fault"),
    [
        ("schedule.minuts=20", "schedule.minuts: unknown key; did you mean schedule.minutes?"),
        ("minutes=20", "minutes: unknown key; did you mean schedule.minutes?"),
        ("data.br_crops.wieght=3", "data.br_crops.wieght: unknown key; did you mean data.br_crops.weight?"),
        ("drawings.germny=2", "drawings.germny: unknown key; did you mean drawings.germany?"),
        ("read=brasil", "read: expected algeria, .*, got 'brasil'"),
        ("scheme=world", "scheme: expected algeria or .*, got 'world'"),
        ("mixture.fra=0.1", "mixture.fra: unknown key; did you mean mixture.far?"),
        ("phases=[{share = 1, mixture = 3}]", "phases.0.mixture: Input should be a valid dictionary"),
        ("mixture.far=1.5", "mixture.far: Input should be less than or equal to 1, got 1.5"),
        ("schedule.steps=many", "schedule.steps: Input should be a valid integer, unable to parse string"),
        ("checks.tr_crop.text=0.9", "expected the name of a data set, tr_crops, .*, got tr_crop"),
        ("schedule.minutes", "--set: expected KEY=VALUE, such as schedule.minutes=20, got 'schedule.minutes'"),
    ],
)
def test_a_wrong_setting_is_named(setting: str, fault: str) -> None:
    with pytest.raises(InputError, match=fault.replace("?", r"\?")):
        load_recipe("reader_world", [setting])


@pytest.mark.parametrize(
    ("recipe", "setting", "fault"),
    [
        ("detector", "data.world_boxes.weight=5", "data.world_boxes.weight: this network has no use for it"),
        ("detector", "data.world_boxes.held_out=0.5", "data.world_boxes.held_out: this network has no use for it"),
        ("detector", "data.world_boxes.use=foreign", "data.world_boxes.use: expected train or check, got foreign"),
        ("detector", "start.features=nonsense", "start.features: this network has no use for it"),
        ("corners", "data.ru_train.weight=5", "data.ru_train.weight: this network has no use for it"),
        ("country", "start.stn=learns", "start.stn: this network has no use for it"),
        ("reader_russia", "drawings.germany=1", "germany: expected symbols of 0123456789ABEKMHOPCTYX, got DFGIJ"),
    ],
)
def test_a_setting_that_does_not_suit_the_network_is_refused(recipe: str, setting: str, fault: str) -> None:
    with pytest.raises(InputError, match=fault):
        load_recipe(recipe, [setting])


def test_an_unknown_recipe_is_told_the_known_ones() -> None:
    known = "corners, country, detector, detector_fast, reader_russia, reader_scripts, reader_world"
    with pytest.raises(InputError, match=f"reader: no such recipe; expected {known}, or a TOML file"):
        load_recipe("reader")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recipe, and the drawn plates that it names."""
    folder = tmp_path_factory.mktemp("recipe")
    for seed, name in enumerate(("one", "two", "others")):
        assert list(write_test_set([main_scheme()], folder / "data" / name, 4, seed))
    (folder / "tiny.toml").write_text(RECIPE)
    return folder


def train(folder: Path, out: Path, *settings: str, beside: Path | None = None, code: int = 0) -> str:
    """Run the recipe of a folder, which must end with this exit code -> its output."""
    options = [option for each in settings for option in ("--set", each)]
    options += ["--beside", str(beside)] if beside else []
    machine = ("--workers", "0", "--threads", "1")
    done = invoke(main, folder / "tiny.toml", "--data", folder / "data", "--out", out, *options, *machine)
    assert done.exit_code == code, done.output
    return done.output


def test_a_recipe_makes_weights_to_publish_and_a_report(folder: Path, tmp_path: Path) -> None:
    train(folder, tmp_path, "schedule.seed=3")
    (weights,) = (tmp_path / "weights").glob("*.safetensors")
    NETWORKS["lprnet"].load(main_scheme(), weights)
    said = read_metadata(weights)
    assert (said["recipe"], said["seed"], said["steps"], said["data"]) == ("tiny", "3", "3", "one")
    assert RANGES in said and float(said["temperature"]) > 0
    report = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "tiny: 3 steps" in report and "All checks are met" in report and "int8: the ranges of 26 layers" in report
    assert all(f"<td>{name}<td>" in report for name in ("two", "drawn")) and report.count("data:image/png") > 5
    assert list((tmp_path / "curves").iterdir())

    finished = (tmp_path / "checkpoint.pt").read_bytes()
    missed = train(folder, tmp_path, "schedule.seed=3", "checks.two.best=0.5", "checks.others.text=0.9", code=1)
    assert (tmp_path / "checkpoint.pt").read_bytes() == finished, "it is not trained again"
    assert "check: others: text: expected at least 0.9, got 0.0000 [0.000, 1.000] 0/0" in missed
    assert "runs</h2>" not in (tmp_path / "report.html").read_text(encoding="utf-8")
    train(folder, tmp_path, "schedule.seed=3", beside=tmp_path)
    report = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "Lowest and highest of 2 runs" in report and "<td>two<td>right of sure<td>" in report
    assert f"{folder / 'figures.json'}: " in train(folder, tmp_path, "schedule.seed=3", beside=folder, code=1)
    other = train(folder, tmp_path, "schedule.seed=4", code=1)
    assert 'begun with "seed": 3, now "seed": 4; use the same settings, or another folder' in other


def test_the_result_may_be_a_mean_with_the_weights_at_the_start(folder: Path, tmp_path: Path) -> None:
    train(folder, tmp_path, "averaging.start=1", "calibration.drawn=0", "checks={}")
    before, after = (read_weights(each / "lprnet.safetensors") for each in (WEIGHTS, tmp_path / "last"))
    assert all(np.allclose(after[name], before[name], atol=1e-6) for name in before if "num_batches" not in name)
    checkpoint = torch.load(tmp_path / "checkpoint.pt", weights_only=True)
    assert not np.allclose(checkpoint["average"]["lprnet.classes.weight"], before["classes.weight"], atol=1e-6)


def test_after_a_full_disk_the_same_command_goes_on_also_elsewhere(folder: Path, tmp_path: Path) -> None:
    quick = ("calibration.drawn=0", "start.weights=none", "start.stn=learns", "data.one.held_out=0", "checks={}")
    typo = train(folder, tmp_path / "part", *quick, "data.tow={}", code=1)
    assert "tow/labels.csv: no such file" in typo.replace("\n", "")
    with small_files(1 << 20):
        stopped = train(folder, tmp_path / "part", *quick, code=1)
    assert "checkpoint.pt: could not be written" in stopped
    assert stopped.strip().splitlines()[-1].startswith("error: ")
    assert not list((tmp_path / "part").rglob("*.safetensors"))
    moved = (tmp_path / "part").rename(tmp_path / "another machine")
    train(folder, moved, *quick)
    assert {path.stem for path in (moved / "weights").glob("*.safetensors")} == {"stn", "lprnet"}
