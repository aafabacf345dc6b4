"""Whether a server answers, and which models hang, from metrics in Triton's form."""

from collections.abc import Callable

import pytest

from plate_nets.supervision.progress import Progress

LONGEST = 0.0


class Metrics:
    """Triton's metrics: model -> finished runs and waiting requests."""

    def __init__(self) -> None:
        self.models: dict[str, tuple[int, int]] = {}
        self.frames = 5

    def __call__(self) -> str:
        """The text of the metrics port, for two versions and a GPU."""
        lines = ["# TYPE nv_inference_exec_count counter"]
        for model, (runs, waiting) in self.models.items():
            labels = f'gpu_uuid="GPU-1",model="{model}"'
            lines += [f'nv_inference_exec_count{{{labels},version="{version}"}} {runs}' for version in (1, 2)]
            lines.append(f'nv_inference_pending_request_count{{model="{model}",version="2"}} {waiting}')
        lines += ["# TYPE plates_frames_total counter", f"plates_frames_total {self.frames}"]
        return "\n".join(lines) + "\n"


@pytest.fixture
def metrics() -> Metrics:
    return Metrics()


def test_an_overloaded_server_gets_work_done(metrics: Metrics) -> None:
    progress = Progress(metrics, LONGEST)
    for runs in range(5):
        metrics.models = {"plate_recognition": (runs, 16), "yolo": (runs, 3), "stn": (7, 0)}
        assert progress.check().hanging == ()


def test_a_model_that_ends_no_run_hangs_and_not_the_one_that_waits_for_it(metrics: Metrics) -> None:
    progress = Progress(metrics, LONGEST)
    metrics.models = {"plate_recognition": (9, 16), "yolo": (9, 3), "stn": (7, 0)}
    assert progress.check().hanging == ()
    assert progress.check().hanging == ("yolo",)
    metrics.models = {"plate_recognition": (9, 16), "yolo": (9, 0), "stn": (7, 0)}
    assert progress.check().hanging == ("plate_recognition",)


def test_frames_that_were_answered_since_it_refused_before(metrics: Metrics) -> None:
    progress = Progress(metrics, 1000.0)
    found = []
    for frames in (5, 5, 7, 0, 3):  # a new server starts at 0
        metrics.frames = frames
        found.append(progress.check().answers)
    assert found == [False, False, True, False, True]
    progress.forget()
    assert not progress.check().answers


def test_one_that_had_nothing_to_do_before_does_not_hang(metrics: Metrics) -> None:
    progress = Progress(metrics, LONGEST)
    metrics.models = {"lprnet": (9, 0)}
    progress.check()
    metrics.models = {"lprnet": (9, 1)}
    assert progress.check().hanging == ()


def test_it_takes_time_without_an_answer_in_between(metrics: Metrics) -> None:
    metrics.models = {"yolo": (9, 3)}
    patient = Progress(metrics, 1000.0)
    assert [patient.check().hanging for _ in range(3)] == [()] * 3
    progress = Progress(metrics, LONGEST)
    for _ in range(3):
        assert progress.check().hanging == ()
        progress.forget()


def refuse() -> str:
    raise ConnectionRefusedError


@pytest.mark.parametrize("metrics", [refuse, lambda: "<html>", lambda: "nv_inference_exec_count{"])
def test_metrics_that_cannot_be_read_blame_nobody(metrics: Callable[[], str]) -> None:
    progress = Progress(metrics, LONGEST)
    assert [progress.check().hanging for _ in range(2)] == [()] * 2
