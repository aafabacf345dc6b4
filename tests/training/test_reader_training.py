"""The reader's training on a handful of plates: it learns, resumes exactly, and reports faults clearly."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from plate_nets.common.errors import WeightsError
from plate_nets.countries import load_scheme, main_scheme
from plate_nets.countries.scheme import UNKNOWN
from plate_nets.evaluation.reading_metrics import ReadPlate
from plate_nets.networks.checkpoint import WEIGHTS, read_weights
from plate_nets.networks.registry import NETWORKS
from plate_nets.recognition.ctc import best_path, log_softmax
from plate_nets.recognition.geometry import normalized
from plate_nets.recognition.rectification import RectificationSettings, straighten
from plate_nets.types import Reading
from tests.real_plates import write_labels
from training.reader.samples import Samples, source_shares
from training.reader.state import Reader, ReaderState
from training.reader.trainer import ReaderTrainer, ctc_loss, load_crops, save_reader
from training.real import RealPlate, cut_outs, readable
from training.recipe.measure import worst
from training.recipe.prepare import prepared
from training.recipe.recipe import DataSet, Mixture, Schedule
from training.synthesis.test_set import write_test_set

CPU = torch.device("cpu")
RUSSIA = main_scheme()
FRONT = np.array([[20, 20], [114, 20], [114, 44], [20, 44]], np.float32)


def test_samples_are_a_function_of_the_step() -> None:
    first, again, other = (Samples(RUSSIA, [], [], batch=4, seed=1)[step] for step in (17, 17, 18))
    assert np.array_equal(first.crops, again.crops) and np.array_equal(first.targets, again.targets)
    assert not np.array_equal(first.crops, other.crops)
    assert first.crops.shape == (4, 3, 24, 94) and first.lengths.sum() == len(first.targets)


def test_real_plates_and_empty_regions_are_among_the_samples() -> None:
    plate = RealPlate(np.full((64, 134, 3), 120, np.uint8), FRONT, "A123BC77", exact=False)
    empty = np.zeros((48, 188, 3), np.uint8)
    batch = Samples(RUSSIA, [plate], [empty], batch=40, seed=0, mixture=Mixture(real=0.6, empty=0.4))[0]
    assert set(batch.lengths.tolist()) == {0, 8}


def test_plates_of_other_countries_have_empty_texts(tmp_path: Path) -> None:
    assert list(write_test_set([RUSSIA], tmp_path / "plates", 12, 5))
    examples = prepared(RUSSIA, tmp_path / "plates", DataSet(use="foreign"), tmp_path / "out")
    foreign = [plate for _, plate in cut_outs(examples)]
    assert len(foreign) == 12
    mixture = Mixture(real=0, empty=0, foreign=0.5)
    batch = Samples(RUSSIA, [], [], batch=40, seed=0, mixture=mixture, foreign=foreign)[0]
    assert 10 < list(batch.lengths).count(0) < 30
    assert batch.crops.shape == (40, 3, 24, 94)


def test_hard_plates_are_drawn_more_often() -> None:
    ramp = np.tile(np.arange(134, dtype=np.uint8)[None, :, None] * 37, (64, 1, 3))
    easy = RealPlate(ramp, FRONT, "A123BC77", exact=True)
    turned = RealPlate(ramp, FRONT + np.array([[0, 0], [0, 9], [0, 9], [0, 0]], np.float32), "B123BC77", exact=True)
    dim = RealPlate(np.full_like(ramp, 60), FRONT, "C123BC77", exact=True)
    assert [plate.hard for plate in (easy, turned, dim)] == [False, True, True]
    samples = Samples(RUSSIA, [easy, turned, dim], [], batch=2, seed=0, mixture=Mixture(hard=2))
    assert samples.chances == pytest.approx([0.2, 0.6, 1.0])


def test_each_source_has_its_share_up_to_the_maximum() -> None:
    assert source_shares({"a": 90, "b": 10}, 1.0) == {"a": 0.9, "b": 0.1}
    shares = source_shares({"a": 800, "b": 100, "c": 60, "d": 40}, 1 / 3)
    assert shares == pytest.approx({"a": 1 / 3, "b": 1 / 3, "c": 0.2, "d": 2 / 15})
    assert source_shares({"a": 9, "b": 1}, 0.3) == {"a": 0.5, "b": 0.5}, "two cannot both have less than half"
    plain = np.full((64, 134, 3), 90, np.uint8)
    plates = [RealPlate(plain, FRONT, f"A{number}BC77", exact=True, source="many") for number in range(120, 129)]
    plates.append(RealPlate(plain, FRONT, "A129BC77", exact=True, source="few"))
    weighed = Samples(RUSSIA, plates, [], batch=1, seed=0, weights={"few": 9})
    assert weighed.chances[-2] == pytest.approx(0.5)


def test_schemes_are_drawn_by_their_weights() -> None:
    schemes, latin = [load_scheme(name) for name in ("brazil", "sweden")], load_scheme("latin")
    mixture = Mixture(real=0, empty=0)
    batch = Samples(latin, [], [], batch=60, seed=0, mixture=mixture, drawn=schemes, weights={"sweden": 0.1})[0]
    assert 0.8 < (batch.lengths == 7).mean() < 1, "of Brazil; Sweden has six"
    assert batch.targets.max() < 36


def test_short_plates_of_a_country_without_two_lines_are_cut_as_one(tmp_path: Path) -> None:
    photo, latin = np.random.default_rng(1).integers(0, 255, (80, 160, 3), np.uint8), load_scheme("latin")
    countries = {"us.png": "us", "br.png": "br", "none.png": ""}
    rows = [f"{name},30,15,130,63,ABC1234,30,15,130,15,130,63,30,63,{code}" for name, code in countries.items()]
    write_labels(tmp_path, dict.fromkeys(countries, photo), rows, ",x1,y1,x2,y2,x3,y3,x4,y4,country")
    examples = prepared(latin, tmp_path, DataSet(held_out=0), tmp_path / "out")
    plates = [plate for _, plate in cut_outs(examples)]
    assert [(plate.lines, plate.source) for plate in plates] == [(lines, tmp_path.name) for lines in (1, 2, 2)]
    american, brazilian, unknown = load_crops(latin, examples).crops
    quad = np.array([[30, 15], [130, 15], [130, 63], [30, 63]], np.float32)
    np.testing.assert_array_equal(american, normalized([straighten(photo, quad, 1, RectificationSettings())])[0])
    np.testing.assert_array_equal(brazilian, normalized([straighten(photo, quad, 2, RectificationSettings())])[0])
    np.testing.assert_array_equal(unknown, brazilian)


def test_a_real_plate_of_two_lines_is_always_cropped_along_its_corners() -> None:
    square = np.array([[40, 40], [160, 40], [160, 120], [40, 120]], np.float32)
    picture = np.zeros((160, 200, 3), np.uint8)
    picture[40:80, 40:160] = (0, 0, 255)  # the first line is red
    picture[80:120, 40:160] = (0, 255, 0)
    plate = RealPlate(picture, square, "A123BC77", exact=True)
    assert plate.lines == 2 and replace(plate, exact=False).lines == 1
    batch = Samples(RUSSIA, [plate], [], batch=4, seed=0, mixture=Mixture(real=1, shuffled=0))[0]
    for red, green, _ in batch.crops:
        assert red[8:16, 12:36].mean() > green[8:16, 12:36].mean()
        assert green[8:16, 58:82].mean() > red[8:16, 58:82].mean(), "the second line is laid beside the first"


def test_plates_of_two_lines_are_among_the_samples() -> None:
    batch = Samples(RUSSIA, [], [], batch=6, seed=0, mixture=Mixture(real=0, empty=0, two_lines=1))[0]
    start = 0
    for length in batch.lengths.tolist():
        text = "".join(RUSSIA.alphabet[c] for c in batch.targets[start : start + length])
        assert RUSSIA.by_lines[2].is_plate(text)
        start += length


def test_the_worst_plates_are_read_wrong_or_unsure() -> None:
    answers = (("A123BC77", 0.99), ("A123BC77", 0.6), ("A128BC77", 0.95))
    plates = [ReadPlate("a.jpg", "A123BC77", 20.0, Reading(best, best, sure)) for best, sure in answers]
    assert worst([*plates, replace(plates[0], reading=None)], 3) == [3, 2, 1]


def test_readability_counts_the_blanks_between_equal_neighbours() -> None:
    assert readable("A777AA777")
    assert not readable("7777777777")
    assert not readable("")


def test_loss_falls_to_zero_for_a_certain_reading() -> None:
    logits = torch.full((1, 23, 18), -20.0)
    logits[0, RUSSIA.blank] = 20
    logits[0, :, 3] = -20
    logits[0, 5, 3] = 20
    assert ctc_loss(logits, torch.tensor([5]), torch.tensor([1])).item() < 1e-3
    assert best_path(log_softmax(logits.numpy())[0], RUSSIA).text == "5"
    assert ctc_loss(logits, torch.tensor([6]), torch.tensor([1])).item() <= 12.001


def test_a_training_starts_from_given_weights(tmp_path: Path) -> None:
    torch.manual_seed(5)
    given = Reader(RUSSIA.classes)
    save_reader(given, tmp_path, {}, RUSSIA)
    state = ReaderState(RUSSIA, CPU)
    state.start_from(tmp_path)
    for reader in (state.network, state.average):
        torch.testing.assert_close(reader.state_dict(), given.state_dict(), rtol=0, atol=0)
    assert state.step == 0
    with pytest.raises(WeightsError, match="no such weights file"):
        state.start_from(tmp_path / "nowhere")


def test_a_training_starts_from_weights_with_fewer_signs(tmp_path: Path) -> None:
    former = load_scheme("scripts")
    wider = replace(former, alphabet=former.alphabet + "გდ")
    given, crops = Reader(former.classes).eval(), torch.rand(2, 3, 24, 94)
    save_reader(given, tmp_path, {}, former)
    state = ReaderState(wider, CPU)
    state.start_from(tmp_path)
    with torch.no_grad():
        before, after = given(crops), state.average(crops)
    new = [former.index[UNKNOWN]] * 2
    torch.testing.assert_close(after, before[:, [*range(former.blank), *new, former.blank]])
    with pytest.raises(WeightsError, match="weights of another scheme: scheme_sha256"):
        ReaderState(replace(wider, alphabet="გ" + former.alphabet), CPU).start_from(tmp_path)


def test_a_reader_of_another_alphabet_starts_from_russias_reader(tmp_path: Path) -> None:
    latin = load_scheme("latin")
    state = ReaderState(latin, torch.device("cpu"))
    state.start_beside(WEIGHTS, "lprnet")
    before = {name: value.clone() for name, value in state.network.state_dict().items()}
    samples = Samples(latin, [], [], batch=4, seed=1, drawn=[latin, load_scheme("brazil")])
    ReaderTrainer(state, samples, {}, Schedule(steps=2), tmp_path, device=torch.device("cpu"), workers=0).run()
    after = state.network.state_dict()
    stays = {name for name in before if torch.equal(before[name], after[name])}
    assert {name for name in before if name.startswith("stn.")} <= stays, "Russia's STN serves both"
    assert not {name for name in stays if name.startswith("lprnet.classes")}
    assert [path.name for path in (tmp_path / "last").glob("*.safetensors")] == ["lprnet_latin.safetensors"]
    NETWORKS["lprnet_latin"].load(main_scheme(), tmp_path / "last" / "lprnet_latin.safetensors")
    with pytest.raises(WeightsError, match="weights of another scheme: scheme: expected latin, got russia"):
        NETWORKS["lprnet_latin"].load(main_scheme(), WEIGHTS / "lprnet.safetensors")


def test_the_training_can_continue_from_the_shipped_latin_reader(tmp_path: Path) -> None:
    latin = load_scheme("latin")
    state = ReaderState(latin, CPU)
    state.start_from(WEIGHTS)
    shipped = read_weights(WEIGHTS / "lprnet_latin.safetensors", latin)
    assert all(np.array_equal(value, state.network.lprnet.state_dict()[name]) for name, value in shipped.items())
    assert not state.network.stn_learns and not any(each.requires_grad for each in state.network.stn.parameters())
    save_reader(state.network, tmp_path, {}, latin)
    assert [path.name for path in tmp_path.glob("*.safetensors")] == ["lprnet_latin.safetensors"]
    again = ReaderState(latin, CPU)
    again.start_from(tmp_path, WEIGHTS)
    assert not again.network.stn_learns
    with pytest.raises(WeightsError, match=r"stn\.safetensors: no such weights file"):
        again.start_from(tmp_path)


def test_a_reader_can_learn_without_changing_the_stn_that_others_use(tmp_path: Path) -> None:
    state = ReaderState(main_scheme(), CPU)
    state.start_from(WEIGHTS)
    learnt = state.network.stn_learns
    state.start_from(WEIGHTS, beside=WEIGHTS)
    assert learnt and not state.network.stn_learns
    save_reader(state.network, tmp_path, {}, main_scheme())
    assert [path.name for path in tmp_path.glob("*.safetensors")] == ["lprnet.safetensors"]


def test_plates_of_a_country_without_plates_of_one_line_are_drawn() -> None:
    reader, japan = load_scheme("scripts"), load_scheme("japan")
    batch = Samples(reader, [], [], batch=8, seed=0, drawn=[japan])[0]
    ends = np.cumsum(batch.lengths)[:-1]
    texts = ["".join(reader.alphabet[symbol] for symbol in each) for each in np.split(batch.targets, ends)]
    assert all(map(japan.is_plate, texts))
