"""What a gate for the score of events costs; and stored evidence."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from plate_nets.common.errors import DatasetError
from plate_nets.evaluation.calibration import log_loss
from plate_nets.evaluation.evidence import ReadFrame, load_evidence, save_evidence, stored_or_read
from plate_nets.evaluation.video import FinalText
from plate_nets.evaluation.video_report import gate_cost
from tests.commands import invoke
from tests.unit.cameras.traffic import plate
from training.calibrate_events import main

TEXTS = [FinalText(0.999, True), FinalText(0.97, True), FinalText(0.93, False), FinalText(0.4, False)]


def test_a_lower_threshold_reports_more_cars_and_more_wrong_texts() -> None:
    surest, sure, unsure = (gate_cost(TEXTS, 4, gate) for gate in (0.99, 0.95, 0.9))
    assert (surest["reported"], surest["wrong"], surest["unreported"]) == (1, 0, 0.75)
    assert (sure["reported"], sure["unreported"]) == (2, 0.5)
    assert (unsure["reported"], unsure["wrong"], unsure["wrong_per_thousand"]) == (3, 1, 250.0)


def test_the_loss_is_smallest_for_calibrated_scores() -> None:
    honest, boastful = ([(score, right) for right in (True, True, True, False)] for score in (0.75, 0.99))
    assert log_loss(honest) < log_loss(boastful)


def test_stored_evidence_is_unchanged(tmp_path: Path) -> None:
    frames = [ReadFrame(0.0, (plate("A123BC77", 300), plate("X900KO99", 900))), ReadFrame(0.04, ())]
    save_evidence(tmp_path / "clip.safetensors", frames)
    back = load_evidence(tmp_path / "clip.safetensors")
    assert back == frames
    for one, other in zip(frames[0].plates, back[0].plates, strict=True):
        assert one.logits is not None and other.logits is not None and np.array_equal(one.logits, other.logits)


def test_evidence_of_plates_of_several_readers_is_stored(tmp_path: Path) -> None:
    russian = plate("A123BC77", 300)
    assert russian.logits is not None
    turkish = replace(russian, logits=np.zeros((48, russian.logits.shape[1]), np.float32))
    save_evidence(tmp_path / "clip.safetensors", [ReadFrame(0.0, (russian, turkish))])
    (frame,) = load_evidence(tmp_path / "clip.safetensors")
    first, second = (plate.logits for plate in frame.plates)
    assert first is not None and np.array_equal(first[: len(russian.logits)], russian.logits)
    assert second is not None and turkish.logits is not None and np.array_equal(second, turkish.logits)


def test_stored_evidence_is_not_read_again(tmp_path: Path) -> None:
    path = tmp_path / "version" / "clip.safetensors"
    frames = [ReadFrame(0.0, (plate("A123BC77", 300),))]
    assert stored_or_read(path, iter(frames)) == frames
    again = iter(frames)
    assert stored_or_read(path, again) == frames
    assert list(again) == frames, "they were not asked for"


def test_a_damaged_file_of_evidence_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "clip.safetensors"
    for content in (b"", b"no zip at all"):
        path.write_bytes(content)
        with pytest.raises(DatasetError, match="expected a file of evidence"):
            load_evidence(path)


@pytest.mark.slow
def test_the_command_fits_a_temperature_and_reads_each_clip_once(
    drive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("training.calibrate_events.TEMPERATURES", (1.0, 1.5))
    arguments = [drive.parent, "--evidence", tmp_path / "kept", "--rate", 5, "--scheme", "russia"]
    first = invoke(main, *arguments)
    assert first.exit_code == 0, first.output
    assert re.search(r"temperature: 1(\.5)?, 1 clip", first.output)
    (kept,) = (tmp_path / "kept").rglob("*.safetensors")
    written = kept.stat().st_mtime_ns
    assert invoke(main, *arguments).output.splitlines()[-1] == first.output.splitlines()[-1]
    assert kept.stat().st_mtime_ns == written
