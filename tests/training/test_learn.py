"""`plates learn`: a training of seconds on drawn plates, what it refuses, and when a reader is better."""

import importlib
import logging
from pathlib import Path

import cv2
import pytest
import torch
from typer.testing import CliRunner

import training.learn
from plate_nets.cli import INTERRUPTED, app
from plate_nets.common.errors import DatasetError, InputError
from plate_nets.countries import load_scheme, main_scheme
from plate_nets.evaluation.reading_metrics import Share
from plate_nets.networks.checkpoint import read_metadata
from plate_nets.networks.registry import NETWORKS
from plate_nets.networks.runtimes.quantization import RANGES
from training.learn import Change, Learnt, learn, recipe_for
from training.reader.samples import Batch
from training.reader.trainer import ReaderTrainer
from training.recipe.load import load_recipe
from training.recipe.measure import Measured
from training.recipe.recipe import drawings
from training.synthesis.test_set import write_test_set


@pytest.fixture(scope="module")
def labels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A labelled folder of drawn plates, too blurred to read; one is labelled twice, and one not at all."""
    folder = tmp_path_factory.mktemp("corrections") / "mine"
    photos = list(write_test_set([main_scheme()], folder, 12, 5))
    for photo in photos:
        cv2.imwrite(str(photo), cv2.GaussianBlur(cv2.imread(str(photo)), (0, 0), 4))
    table = folder / "labels.csv"
    header, *rows = table.read_text().splitlines()
    wrong = rows[0].split(",")
    wrong[5] = "A000AA00"
    blank = rows[1].split(",")
    blank[5] = ""
    outside, foreign = f"{photos[2].name},9000,9000,9100,9100,B222BB22", f"{photos[3].name},0,0,20,20,ЖЖЖ"
    rows[1] = ",".join(blank)
    table.write_text("\n".join([header, ",".join(wrong), *rows, outside, foreign]) + "\n", encoding="utf-8")
    return folder


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Little is enough."""
    for name, value in {"FEWEST": 4, "FEWEST_HELD_OUT": 1, "DRAWINGS": 4, "HELD_OUT": 0.5}.items():
        monkeypatch.setattr(training.learn, name, value)


@pytest.mark.slow
@pytest.mark.usefixtures("few")
def test_a_reader_learns_corrections_and_goes_on_where_it_stopped(
    labels: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    out = tmp_path / "learnt"
    command = ["learn", str(labels), "--out", str(out), "--minutes", "0.02", "--scheme", "russia"]
    with caplog.at_level(logging.WARNING):
        done = CliRunner().invoke(app, command)
    weights = out / "weights" / "lprnet.safetensors"
    assert done.exit_code == (0 if weights.exists() else 1), done.output
    assert "held back: " in done.output and "drawn: 4 plates, right " in done.output
    assert ("better: plates swap lprnet " if weights.exists() else "plates: no better: ") in done.output
    (trained,) = (out / "last").glob("*.safetensors")
    NETWORKS["lprnet"].load(main_scheme(), trained)
    if weights.exists():
        assert RANGES in read_metadata(weights)
    told = "\n".join(caplog.messages)
    for line in (
        "two labels for one plate, 'A000AA00' and ",
        "outside the photo of",
        "unknown character 'Ж'",
        "left out 1 plates of ",
    ):
        assert line in told, told

    finished = (out / "checkpoint.pt").read_bytes()
    again = CliRunner().invoke(app, command)
    assert again.exit_code == done.exit_code and (out / "checkpoint.pt").read_bytes() == finished
    table = labels / "labels.csv"
    table.write_text("\n".join(table.read_text(encoding="utf-8").splitlines()[:-1]) + "\n", encoding="utf-8")
    changed = CliRunner().invoke(app, command)
    assert changed.exit_code == 2
    assert "begun with mine/labels.csv of " in changed.output and "or another folder for --out" in changed.output


@pytest.mark.slow
@pytest.mark.usefixtures("few")
def test_ctrl_c_keeps_what_was_learnt(labels: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    step = ReaderTrainer.step

    def interrupted(trainer: ReaderTrainer, batch: Batch) -> tuple[float, float]:
        if trainer.state.step == 2:
            raise KeyboardInterrupt
        return step(trainer, batch)

    monkeypatch.setattr(ReaderTrainer, "step", interrupted)
    monkeypatch.setattr("training.loop._CHECKPOINT", 0)
    result = CliRunner().invoke(app, ["learn", str(labels), "--out", str(tmp_path), "--scheme", "russia"])
    assert result.exit_code == INTERRUPTED
    assert result.stderr.splitlines()[-1] == "plates: interrupted; the same command goes on"
    assert torch.load(tmp_path / "checkpoint.pt", weights_only=True)["step"] == 2


def test_few_plates_and_other_readers_are_refused(labels: Path, tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match=r"plates to learn and \d of other texts to measure with are too few"):
        learn(labels, "russia", 1, tmp_path / "few")
    with pytest.raises(DatasetError, match=r"labels\.csv: no such file"):
        learn(tmp_path, "russia", 1, tmp_path / "none")
    with pytest.raises(InputError, match="--scheme russia,germany: 2 readers read it; name countries of one"):
        learn(labels, "russia,germany", 1, tmp_path / "two")


def test_the_recipe_has_the_drawings_of_the_reader_and_no_data_but_the_folder() -> None:
    recipe, world = recipe_for("germany,poland", "mine", 7), load_recipe("reader_world")
    assert world.network == "reader"
    assert list(recipe.data) == ["mine"] and recipe.schedule.minutes == 7 and recipe.start.weights == "package"
    assert drawings(recipe) == drawings(world) and len(drawings(recipe)) > 30
    assert recipe.mixture == world.mixture.model_copy(update={"real": recipe.mixture.real})
    assert load_scheme(recipe.scheme).trained_as == "latin" and recipe.read == "germany,poland"
    russia = recipe_for("russia", "mine", 7)
    assert russia.mixture.moving == 0.35 and not russia.phases, "the mixture of its last phase"


def read(text: int, wrong: int, best: int, count: int = 1000) -> Measured:
    shares = {"text": text, "wrong": wrong, "best": best}
    return Measured({name: Share(hits, count) for name, hits in shares.items()}, [])


@pytest.mark.parametrize(
    ("own", "drawn", "fault"),
    [
        (read(600, 50, 700), read(900, 10, 950), ""),
        (read(500, 50, 600), read(900, 10, 950), "the plates held back are read no better"),
        (read(600, 150, 700), read(900, 10, 950), "the plates held back are read no better"),
        (read(600, 50, 700), read(900, 10, 945), ""),
        (read(600, 50, 700), read(900, 10, 944), "the drawings are read worse, by 0.006"),
    ],
)
def test_better_is_more_right_than_wrong_texts_and_nothing_forgotten(
    own: Measured, drawn: Measured, fault: str
) -> None:
    learnt = Learnt("lprnet", Path(), Change(read(500, 50, 600), own), Change(read(900, 10, 950), drawn))
    assert learnt.fault.startswith(fault) and bool(learnt.fault) == bool(fault)


def test_an_installation_without_the_training_says_how_to_get_it(
    labels: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.import_module("plate_nets.cli.learn"), "find_spec", lambda name: None)
    done = CliRunner().invoke(app, ["learn", str(labels), "--scheme", "russia", "--out", str(tmp_path / "out")])
    assert done.exit_code == 2 and not (tmp_path / "out").exists()
    assert "plates learn needs training, which only a checkout of the project has: run `make convert`" in done.output
