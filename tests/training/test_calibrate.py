"""The temperature of a reader: how it is chosen, and that the weights contain it."""

from pathlib import Path

import numpy as np
import pytest
import torch

from plate_nets.common.errors import WeightsError
from plate_nets.countries import main_scheme
from plate_nets.evaluation.reading_metrics import ReadPlate
from plate_nets.networks.checkpoint import WEIGHTS, read_metadata
from plate_nets.networks.registry import NETWORKS
from plate_nets.types import Reading
from tests.spelling import spell
from training.recipe.calibrate import LabelledLogits, calibrations, fold, read_at, surprise, with_texts
from training.recipe.measure import TrainedReader
from training.recipe.recipe import ReaderRecipe

RECIPE = ReaderRecipe.model_validate({"scheme": "russia", "schedule": {"steps": 1}})


def told(confidence: float, *, right: bool) -> ReadPlate:
    return ReadPlate("", "A123BC77" if right else "A123BC78", 20.0, Reading("A123BC77", "A123BC77", confidence))


def test_wrong_confidences_give_a_high_surprise() -> None:
    honest = [told(0.75, right=index < 3) for index in range(4)]
    bold = [told(0.99, right=index < 3) for index in range(4)]
    assert surprise(honest) == pytest.approx(0.5623, abs=1e-3) and surprise(bold) > 1


def test_a_higher_temperature_lowers_the_confidence_not_the_text() -> None:
    labelled = LabelledLogits(["A123BC77"], spell("A123BC77"), np.ones(1, np.intp))
    cold, hot = (read_at(main_scheme(), labelled, temperature)[0].reading for temperature in (1.0, 2.0))
    assert cold and hot and cold.best == hot.best == "A123BC77" and hot.confidence < cold.confidence


def test_each_temperature_is_judged_by_the_same_plates() -> None:
    """At a high one, no text of a plate is likely enough to be told."""
    scheme = main_scheme()
    labelled = LabelledLogits(["A123BC77", "A123BC78"], np.concatenate([spell("A123BC77")] * 2), np.ones(2, np.intp))
    assert with_texts(scheme, labelled).texts == labelled.texts
    assert not any(plate.reading and plate.reading.text for plate in read_at(scheme, labelled, 9.0, 0.3))
    cold, hot = calibrations(scheme, labelled, [1.0, 9.0])
    assert hot.surprise < cold.surprise  # half of the texts are wrong


def test_the_weights_contain_the_temperature(tmp_path: Path) -> None:
    fold(TrainedReader(RECIPE, WEIGHTS), 2.0, tmp_path / "once")
    fold(TrainedReader(RECIPE, tmp_path / "once"), 1.5, tmp_path / "twice")
    crops, lprnet, twice = torch.rand(2, 3, 24, 94), NETWORKS["lprnet"], tmp_path / "twice" / "lprnet.safetensors"
    with torch.inference_mode():
        plain, scaled = (lprnet.load(main_scheme(), path)(crops) for path in (lprnet.weights, twice))
    assert torch.allclose(plain / 3, scaled, atol=1e-4)
    before = float(read_metadata(lprnet.weights).get("temperature", "1"))
    assert float(read_metadata(twice)["temperature"]) == pytest.approx(3 * before)


def test_a_reader_that_reads_nothing_is_reported_in_one_line() -> None:
    blank = np.full((2, 23, 18), -20, np.float32)
    blank[:, -1] = 20
    with pytest.raises(WeightsError, match="the reader reads none of 2 plates"):
        calibrations(main_scheme(), LabelledLogits(["A123BC77"] * 2, blank, np.ones(2, np.intp)), [1.0])
