"""Events and tracks of invented clips against their truth."""

import json
from dataclasses import replace
from pathlib import Path
from unittest.mock import Mock

import pytest
from typer.testing import CliRunner

from plate_nets.cli import app
from plate_nets.common.errors import DatasetError
from plate_nets.countries import main_scheme
from plate_nets.evaluation.clips import Clip, at_rate, count_frames, find_clips, read_clip
from plate_nets.evaluation.evidence import ReadFrame
from plate_nets.evaluation.video import VideoOutcome, judge
from plate_nets.evaluation.video_truth import TrueFrame, TruePlate, load_truth
from plate_nets.types import Plate
from tests.unit.cameras.traffic import plate

RUSSIA = main_scheme()
ONE, OTHER = "A123BC77", "X900KO99"


def true(seen: Plate, car: int, text: str, visible: float = 1.0) -> TruePlate:
    box = seen.box
    corners = (box.xmin, box.ymin, box.xmax, box.ymin, box.xmax, box.ymax, box.xmin, box.ymax)
    return TruePlate(car, text, (box.xmin, box.ymin, box.xmax, box.ymax), corners, visible)


def clip_of(shown: list[list[Plate]], texts: list[str], rate: float = 10) -> tuple[Clip, list[ReadFrame]]:
    """The plates of frames, with the cars in a fixed order, and the cars' true texts."""
    truth = tuple(
        TrueFrame(index / rate, tuple(true(each, car, texts[car]) for car, each in enumerate(plates)))
        for index, plates in enumerate(shown)
    )
    frames = [ReadFrame(index / rate, tuple(plates)) for index, plates in enumerate(shown)]
    return Clip(Path("clip.mp4"), truth, frozenset(texts)), frames


def judged(clip: Clip, frames: list[ReadFrame]) -> VideoOutcome:
    outcome = VideoOutcome()
    judge(clip, frames, range(len(frames)), RUSSIA, outcome)
    return outcome


def two_cars(first: str = ONE, second: str = OTHER) -> list[list[Plate]]:
    return [[plate(first, 100 + 20 * index), plate(second, 900 - 20 * index, 500)] for index in range(20)]


def test_cars_reported_correctly_count_as_exact_once() -> None:
    outcome = judged(*clip_of(two_cars(), [ONE, OTHER]))
    assert (outcome.cars, outcome.exact, outcome.once, outcome.events) == (2, 2, 2, 2)
    assert (outcome.missed, outcome.wrong, outcome.duplicate, outcome.most_probable_right) == (0, 0, 0, 2)
    assert outcome.idf1() == 1.0
    assert len(outcome.to_first) == 2 and max(outcome.to_first) < 0.5


def test_the_headings_of_approaching_and_leaving_cars_are_counted() -> None:
    def frame(index: int) -> list[Plate]:
        grow = 1.05**index
        return [plate(ONE, 300, 300, 20 * grow), plate(OTHER, 900, 300, 50 / grow)]

    shown = [frame(index) for index in range(20)]
    clip, frames = clip_of(shown, [ONE, OTHER])
    outcome = judged(clip, frames)
    assert (outcome.headed, outcome.heading_reported, outcome.heading_right) == (2, 2, 2)
    backwards = replace(clip, truth=tuple(replace(each, plates=was.plates) for each, was in zip(
        clip.truth, clip.truth[::-1], strict=True)))  # fmt: skip
    outcome = judged(backwards, frames)
    assert (outcome.headed, outcome.heading_right) == (2, 0)
    assert len(outcome.distances) == 1, "only one car comes closer"
    outcome = judged(*clip_of(two_cars(), [ONE, OTHER]))
    assert outcome.headed == len(outcome.distances) == 0, "cars that neither come nor go"


def test_the_distance_of_a_car_at_its_first_event_is_a_share_of_the_first() -> None:
    clip, frames = clip_of([[plate(ONE, 300, 300, 20 * 1.05**index)] for index in range(20)], [ONE])
    outcome = judged(clip, frames)
    frame = round(10 * outcome.to_first[0])
    assert 0 < frame < 20 and outcome.distances == [pytest.approx(1.05**-frame)]


def test_at_a_cut_the_cars_end() -> None:
    clip, frames = clip_of([*two_cars(), *two_cars()], [ONE, OTHER])
    frames[20] = replace(frames[20], cut=True)
    reported = judge(clip, frames, range(0, len(frames), 3), RUSSIA, VideoOutcome())
    assert {each.event.plate for each in reported if each.event.stage == "final" and each.time == frames[21].time} == {
        ONE,
        OTHER,
    }


def test_a_wrong_text_counts_as_wrong_and_its_car_as_missed() -> None:
    outcome = judged(*clip_of(two_cars(), [ONE, "X900KO98"]))
    assert (outcome.exact, outcome.missed, outcome.wrong) == (1, 1, 1)
    assert outcome.wrong_texts == ["clip.mp4: X900KO99 (really X900KO98)"]


def test_an_event_without_a_car_counts_as_wrong() -> None:
    clip, frames = clip_of([[plate(ONE, 100 + 20 * index)] for index in range(20)], [ONE])
    ghost = tuple(replace(each, plates=(*each.plates, plate(OTHER, 900, 600))) for each in frames)
    outcome = judged(clip, list(ghost))
    assert (outcome.events, outcome.wrong, outcome.missed) == (2, 1, 0)


def test_the_most_probable_text_of_a_car_counts_even_if_unreported() -> None:
    outcome = judged(*clip_of([[plate(ONE, 300, doubts={3: ("8", 8.0)})]] * 20, [ONE]))
    assert (outcome.events, outcome.missed, outcome.most_probable_right) == (0, 1, 1)


def test_two_events_of_a_car_are_a_duplicate() -> None:
    shown = [[plate(ONE if index < 10 else OTHER, 100, peak=12.0)] for index in range(20)]
    outcome = judged(*clip_of(shown, [ONE]))
    assert (outcome.exact, outcome.once, outcome.duplicate, outcome.wrong) == (1, 0, 1, 1)


def test_a_car_that_is_too_small_or_hidden_is_not_expected() -> None:
    shown = [[plate(ONE, 100 + 20 * index, height=10)] for index in range(20)]
    outcome = judged(*clip_of(shown, [ONE]))
    assert (outcome.cars, outcome.events, outcome.wrong) == (0, 1, 0)


def test_an_unreported_car_counts_as_missed_and_so_does_its_track() -> None:
    clip, frames = clip_of(two_cars(), [ONE, OTHER])
    outcome = judged(clip, [replace(each, plates=each.plates[:1]) for each in frames])
    assert (outcome.exact, outcome.missed) == (1, 1)
    assert outcome.idf1() == pytest.approx(2 / 3)


def test_a_clip_with_known_texts_only_is_judged_by_its_texts() -> None:
    _, frames = clip_of(two_cars(), [ONE, OTHER])
    outcome = judged(Clip(Path("clip.mp4"), (), frozenset({ONE})), frames)
    assert (outcome.cars, outcome.exact, outcome.wrong, outcome.idf1()) == (1, 1, 1, None)


def test_a_slower_reader_takes_the_next_frame_when_it_is_free() -> None:
    frames = [ReadFrame(index / 25, ()) for index in range(50)]
    assert at_rate(frames, float("inf")) == list(range(50))
    assert at_rate(frames, 5) == list(range(0, 50, 5))
    jumping = [ReadFrame(time, ()) for time in (0.0, 0.1, 3.0, 3.1, 3.2, 3.3)]
    assert at_rate(jumping, 5) == [0, 2, 4]


def test_a_folder_holds_clips_with_truth_beside_them_or_labels(tmp_path: Path) -> None:
    (tmp_path / "a.mp4").touch()
    (tmp_path / "b.mkv").touch()
    (tmp_path / "labels.csv").write_text(f"file,text\na.mp4,{ONE}\n", encoding="utf-8")
    (tmp_path / "b.jsonl").write_text(clip_of(two_cars(), [ONE, OTHER])[0].truth[0].to_json() + "\n", encoding="utf-8")
    first, second = find_clips(tmp_path, None)
    assert not first.truth and first.texts == {ONE}
    assert len(second.truth) == 1 and second.texts == {ONE, OTHER}


def test_missing_clips_and_invalid_truth_are_reported(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="contains no video"):
        find_clips(tmp_path, None)
    (tmp_path / "a.mp4").touch()
    with pytest.raises(DatasetError, match=r"a\.jsonl: No such file"):
        find_clips(tmp_path, None)
    (tmp_path / "a.jsonl").write_text('{"time": 0, "plates": []}\n{"time": 1}\n', encoding="utf-8")
    with pytest.raises(DatasetError, match=r"a\.jsonl:2: expected a frame"):
        load_truth(tmp_path / "a.jsonl")


@pytest.mark.slow
def test_the_command_reads_a_clip_and_judges_it(drive: Path, tmp_path: Path) -> None:
    figures, evidence = tmp_path / "figures.json", tmp_path / "evidence"
    arguments = ["evaluate", "--video", str(drive), "--rates", "all,5", "--json", str(figures)]
    result = CliRunner().invoke(app, [*arguments, "--evidence", str(evidence)])
    assert result.exit_code == 0, result.output
    first = json.loads(figures.read_text())
    for row in first["rates"].values():
        assert (row["cars"], row["exact"], row["wrong"], row["duplicate"]) == (1, 1.0, 0, 0)
    (stored,) = evidence.rglob("*.safetensors")
    written = stored.stat().st_mtime_ns
    assert CliRunner().invoke(app, [*arguments, "--evidence", str(evidence)]).exit_code == 0
    assert json.loads(figures.read_text()) == first and stored.stat().st_mtime_ns == written


def test_only_the_frames_that_a_rate_takes_are_read(drive: Path) -> None:
    frames = list(read_clip(drive, Mock(read=lambda *_, **__: [plate(ONE, 300)]), [5, 2]))
    assert len(frames) == count_frames(drive)
    taken = {*at_rate(frames, 5), *at_rate(frames, 2)}
    assert 0 < len(taken) < len(frames)
    assert taken == {index for index, frame in enumerate(frames) if frame.plates}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--video", "none.mp4"], "none.jsonl: No such file"),
        (["--video", "clip.mp4", "--rates", "fast"], "--rates: expected frames per second"),
        (["--video", "clip.mp4"], "expected a video"),
        (["--video", "clip.mp4", "--truth", "other.jsonl"], "other.jsonl: No such file"),
        ([], "or --video CLIP"),
    ],
)
def test_the_command_reports_an_error_in_one_line(
    arguments: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "clip.mp4").write_bytes(b"no video")
    (tmp_path / "clip.jsonl").write_text('{"time": 0, "plates": []}\n', encoding="utf-8")
    result = CliRunner().invoke(app, ["evaluate", *arguments])
    assert result.exit_code == 2 and message in result.stderr
