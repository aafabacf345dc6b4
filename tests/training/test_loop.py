"""The loop of all trainings: it resumes exactly, and its checkpoints are safe and refuse those of others."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from plate_nets.common.errors import WeightsError
from plate_nets.countries import main_scheme
from tests.schemes import make_testland
from training.checkpoint import TrainingState
from training.corners.samples import Samples as CornerSamples
from training.corners.trainer import CornerTrainer, corner_state
from training.loop import Trainer, learning_rate
from training.reader.samples import Samples as ReaderSamples
from training.reader.state import ReaderState
from training.reader.trainer import ReaderTrainer
from training.recipe.recipe import Schedule

CPU = torch.device("cpu")
RUSSIA = main_scheme()
AnyTrainer = Trainer[Any, Any, Any]


def reader(out: Path) -> AnyTrainer:
    samples, later = (ReaderSamples(RUSSIA, [], [], batch=2, seed=seed) for seed in (7, 8))
    state, then = ReaderState(RUSSIA, CPU), [(0.25, later)]
    return ReaderTrainer(state, samples, {}, Schedule(steps=4), out, then=then, device=CPU, workers=0)


def test_later_samples_take_their_turn(tmp_path: Path) -> None:
    trainer = reader(tmp_path)
    seen = []
    for batch in trainer.batches():
        seen.append(batch.crops)
        trainer.state.step += 1
    expected = [trainer.samples[0], *(trainer.then[0][1][step] for step in (1, 2, 3))]
    assert [bool((one == other.crops).all()) for one, other in zip(seen, expected, strict=True)] == [True] * 4


def corners(out: Path) -> AnyTrainer:
    samples = CornerSamples([], np.zeros(0), batch=4, seed=7)
    return CornerTrainer(corner_state(CPU), samples, {}, Schedule(steps=4), out, device=CPU, workers=0)


@pytest.mark.parametrize("start", [reader, corners])
def test_resumed_training_is_the_uninterrupted_one(
    start: Callable[[Path], AnyTrainer], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    torch.manual_seed(3)
    whole = start(tmp_path / "whole")
    whole.run()
    assert ": not measured: no plates held out\n" in capsys.readouterr().out
    torch.manual_seed(3)
    stopped = start(tmp_path / "part")
    batches = stopped.batches()
    for _ in range(2):
        stopped.step(next(batches))
    checkpoint = tmp_path / "checkpoint.pt"
    stopped.state.save(checkpoint)
    resumed = start(tmp_path / "part")
    resumed.state.load(checkpoint)
    resumed.run()
    for part in ("network", "average"):
        expected, got = (getattr(each.state, part).state_dict() for each in (whole, resumed))
        assert all(torch.equal(value, got[name]) for name, value in expected.items()), part


def test_a_checkpoint_of_another_architecture_or_scheme_is_refused(tmp_path: Path) -> None:
    path, state = tmp_path / "checkpoint.pt", ReaderState(RUSSIA, CPU)
    path.write_bytes(b"nothing")
    with pytest.raises(WeightsError, match="not a readable checkpoint"):
        state.load(path)
    corner_state(CPU).save(path)
    with pytest.raises(WeightsError, match="checkpoint of 'corners/1', expected"):
        state.load(path)
    ReaderState(make_testland(tmp_path), CPU).save(path)
    with pytest.raises(WeightsError, match=r"checkpoint of the scheme .*testland.*, expected .*russia"):
        state.load(path)


def test_full_disk_keeps_the_last_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    state: TrainingState[Any] = corner_state(CPU)
    path = tmp_path / "checkpoint.pt"
    state.save(path)
    before = path.read_bytes()

    def full(_: object, target: Path) -> None:
        target.write_bytes(b"half")
        raise RuntimeError("PytorchStreamWriter failed writing file: No space left on device")

    monkeypatch.setattr(torch, "save", full)
    with pytest.raises(OSError, match="could not be written"):
        state.save(path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["checkpoint.pt"]


def test_parts_learn_at_their_share_of_the_rate() -> None:
    state = ReaderState(RUSSIA, CPU)
    state.set_rate(0.3)
    slow, usual = state.optimizer.param_groups
    assert (slow["lr"], usual["lr"]) == pytest.approx((0.09, 0.3))
    assert len(slow["params"]) == len(list(state.network.stn.parameters()))


def test_schedule_rises_and_falls() -> None:
    assert learning_rate(1.0, 0.01) < learning_rate(1.0, 0.03) == pytest.approx(1.0)
    assert learning_rate(1.0, 1.0) == pytest.approx(0.01)
