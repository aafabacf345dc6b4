"""The training of CountryNet: the class of each plate, the weights that it writes, and resuming."""

from pathlib import Path

import numpy as np
import pytest
import torch

from plate_nets.common.errors import DatasetError
from plate_nets.countries import load_scheme, load_schemes
from plate_nets.countries.designs import CLASSES, DESIGNS, GROUNDS, UNKNOWN, design_of, ground_of
from plate_nets.evaluation.dataset import load_dataset
from plate_nets.networks.checkpoint import load_weights, save_weights
from plate_nets.networks.country import CountryNet
from tests.commands import invoke
from tests.real_plates import write_labels
from training.__main__ import main
from training.checkpoint import TrainingState
from training.country import samples
from training.country.samples import NOT_KNOWN, CountryBatch, Samples, drawn_formats, load_real
from training.country.trainer import CountryTrainer, country_state, known_crops
from training.real import Example
from training.recipe.prepare import prepared
from training.recipe.recipe import DataSet
from training.synthesis.crops import without_first_sign


def labelled(folder: Path, rows: dict[str, tuple[str, str]], country: str | None = None) -> list[Example]:
    """Photos of 120 x 60 px with a plate of 100 x 50 px each: name -> its text and its country, or that of all."""
    own, quad = country is None, "10,5,110,5,110,55,10,55"
    lines = [f"{name},10,5,110,55,{text},{quad}" + f",{code}" * own for name, (text, code) in rows.items()]
    photos = dict.fromkeys(rows, np.full((60, 120, 3), 90, np.uint8))
    write_labels(folder, photos, lines, ",x1,y1,x2,y2,x3,y3,x4,y4" + ",country" * own)
    settings = DataSet(held_out=0, country=country or "")
    return prepared(load_scheme("latin"), folder, settings, folder.parent / "prepared")


def test_every_class_is_a_country_of_the_package_and_brazil_has_two() -> None:
    known = load_schemes("world,emirates")
    assert {scheme.country for scheme in known} >= {each[:2] for each in DESIGNS if each != UNKNOWN}, "others: unknown"
    brazil = load_scheme("brazil")
    designs = {each.name.removesuffix(" motorcycle"): design_of(brazil, each) for each in brazil.formats}
    assert len(brazil.formats) == 4
    assert designs == {"Mercosur": "br", "old": "br old"}
    assert {design_of(load_scheme("latin"), each) for each in load_scheme("latin").formats} == {UNKNOWN}
    assert drawn_formats(known).keys() == set(DESIGNS)


def test_real_plates_are_of_the_design_that_their_text_fits(tmp_path: Path) -> None:
    rows = {
        "a.png": ("ABC1D23", "br"),
        "b.png": ("ABC1234", "br"),
        "c.png": ("ABC1234", "us"),
        "d.png": ("ABC12345678", "br"),
        "e.png": ("KL12345", "no"),
        "f.png": ("ABC1234", ""),
    }
    real = load_real(load_schemes("brazil,united_states"), labelled(tmp_path / "crops", rows))
    found = {design: (each.plate.text, each.plate.lines) for design, (each,) in real.items()}
    br, old, us, unknown = ("ABC1D23", 2), ("ABC1234", 2), ("ABC1234", 1), ("KL12345", 2)
    assert found == {"br": br, "br old": old, "us": us, UNKNOWN: unknown}
    without = labelled(tmp_path / "ours", {"a.png": ("ABC1234", "")}, country="US")
    assert list(load_real(load_schemes("united_states"), without)) == ["us"]


def test_a_batch_is_a_function_of_its_step(tmp_path: Path) -> None:
    schemes = load_schemes("brazil,turkey")
    real = load_real(schemes, labelled(tmp_path / "crops", {"a.png": ("ABC1D23", "br")}))
    one, other = (Samples(schemes, real, batch=8, seed=3)[5] for _ in range(2))
    np.testing.assert_array_equal(one.crops, other.crops)
    np.testing.assert_array_equal(one.grounds, other.grounds)
    assert one.crops.shape == (8, 3, 24, 94) and set(one.designs) <= {CLASSES[each] for each in ("br", "br old", "tr")}


def test_a_drawing_is_photographed_several_times_in_different_ways() -> None:
    drawn = Samples(load_schemes("turkey"), {}, batch=32, seed=3)
    crops = np.concatenate((drawn[0].crops, drawn[40].crops))
    known = drawn._drawing.cache_info()
    assert known.hits and known.misses + known.hits == len(np.unique(crops, axis=0)) == 64


@pytest.mark.parametrize(
    ("colour", "name"),
    [
        ("#ecebe8", "white"),
        ("#b8bab8", "white"),
        ("#f0e0c8", "white"),
        ("#f0c428", "yellow"),
        ("#2850a0", "blue"),
        ("#b82020", "red"),
        ("#1c1c1c", "black"),
        ("#206848", "green"),
        ("#ecd8a8", None),
    ],
)
def test_a_ground_is_named_after_its_colour(colour: str, name: str | None) -> None:
    red, green, blue = bytes.fromhex(colour[1:])
    assert ground_of((blue, green, red)) == name


def test_drawings_have_every_ground(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(samples, "drawn_layout", lambda *_: (None, None))  # only the colours, which is fast
    drawn = Samples(load_schemes("world"), {}, batch=64, seed=0)
    assert {drawn._drawing(number).ground for number in range(800)} == {*range(len(GROUNDS)), NOT_KNOWN}


def test_the_ground_of_a_negative_is_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = Samples(load_schemes("turkey"), {}, batch=8, seed=0)
    monkeypatch.setattr(samples, "_NEGATIVE", 0.0)
    usual = drawn[0]
    monkeypatch.setattr(samples, "_NEGATIVE", 1.0)
    negatives = drawn[0]
    assert (negatives.grounds == NOT_KNOWN).all() and not (usual.grounds == NOT_KNOWN).all()
    assert (negatives.designs == usual.designs).all()
    assert negatives.crops.mean() < usual.crops.mean()


def test_the_first_sign_of_a_plate_in_another_script_may_be_hidden() -> None:
    assert Samples(load_schemes("turkey,china"), {}, batch=1, seed=0).scripts == {"cn"}
    plate = np.zeros((60, 200, 3), np.uint8)
    corners = np.array([[40, 10], [140, 10], [140, 40], [40, 40]], np.float32)
    found = [without_first_sign(plate, corners, np.random.default_rng(seed)) for seed in range(20)]
    for picture, rest in found:
        assert picture[25, 48].any() and not picture[25, 65:].any() and not plate.any()
        assert 40 <= rest[0, 0] <= 60 and (rest[0, 0] == rest[3, 0]) and (rest[1:3] == corners[1:3]).all()
    assert {bool(rest[0, 0] > 50) for _, rest in found} == {False, True}, "the corners may include what is hidden"


@pytest.mark.parametrize(
    ("country", "text", "ground"),
    [
        ("ru", "A123BC77", "white"),
        ("ru", "AB123477", None),  # a taxi is yellow, a trailer white
        ("ro", "CJ12ABC", "white"),
        ("vn", "29A12345", None),  # a private car is white, a taxi yellow
    ],
)
def test_a_real_plate_has_a_ground_if_its_formats_agree(
    country: str, text: str, ground: str | None, tmp_path: Path
) -> None:
    examples = labelled(tmp_path / "crops", {"a.png": (text, country)})
    ((known,),) = load_real(load_schemes("world"), examples).values()
    assert known.ground == (NOT_KNOWN if ground is None else GROUNDS.index(ground))


def test_an_unknown_ground_does_not_affect_the_loss() -> None:
    torch.manual_seed(0)
    network = CountryNet().train()
    trainer = CountryTrainer.__new__(CountryTrainer)
    trainer.state, trainer.device = TrainingState("country", network), torch.device("cpu")
    crops, designs = np.zeros((2, 3, 24, 94), np.float32), np.zeros(2, np.int64)
    trainer.loss(CountryBatch(crops, designs, np.full(2, NOT_KNOWN, np.int64))).backward()
    assert all(each.grad is None or not each.grad.any() for each in network.ground.parameters())
    trainer.loss(CountryBatch(crops, designs, np.array([NOT_KNOWN, 2], np.int64))).backward()
    assert all(each.grad is not None and each.grad.any() for each in network.ground[-1].parameters())


@pytest.mark.slow
def test_a_recipe_makes_weights_and_a_report(tmp_path: Path) -> None:
    labelled(tmp_path / "crops", {"a.png": ("ABC1D23", "br"), "b.png": ("34ABC123", "tr")})
    recipe = tmp_path / "tiny.toml"
    recipe.write_text(
        'network = "country"\nscheme = "turkey,brazil"\ndata.crops.held_out = 1.0\nstart.weights = "none"\n'
        "schedule = { steps = 2, batch = 4, every = 1 }\nchecks.crops.ground = 1.0\n"
    )
    done = invoke(main, recipe, "--data", tmp_path, "--out", tmp_path / "out", "--workers", "0")
    assert "step 2," in done.output and "crops design" in done.output and "drawn ground" in done.output
    assert done.exit_code == int("check: crops: ground: expected at least 1, got " in done.output)
    load_weights(CountryNet(), tmp_path / "out" / "weights" / "country.safetensors")
    assert "<td>crops<td>2<td>" in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert len(load_dataset(tmp_path / "out" / "held_out" / "crops").labels) == 2


def test_a_data_set_must_have_plates_of_known_countries(tmp_path: Path) -> None:
    real = load_real(load_schemes("turkey"), labelled(tmp_path / "crops", {"a.png": ("ABC1D23", "")}))
    with pytest.raises(DatasetError, match="crops: expected plates with a known country, got none"):
        known_crops("crops", real)


def test_a_training_starts_from_weights_with_fewer_designs(tmp_path: Path) -> None:
    former = CountryNet(len(DESIGNS) - 2)
    save_weights(former, tmp_path / "country.safetensors", {})
    state = country_state(torch.device("cpu"), tmp_path / "country.safetensors", 0.99)
    crops = torch.rand(2, 3, 24, 94)
    with torch.no_grad():
        before, after = former.eval()(crops), state.network.eval()(crops)
    torch.testing.assert_close(after[:, : len(DESIGNS) - 2], before[:, : len(DESIGNS) - 2])
    torch.testing.assert_close(after[:, len(DESIGNS) - 2 : len(DESIGNS)], before[:, [CLASSES[UNKNOWN]] * 2])
    torch.testing.assert_close(after[:, len(DESIGNS) :], before[:, len(DESIGNS) - 2 :])
