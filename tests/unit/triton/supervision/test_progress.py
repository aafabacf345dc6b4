"""Whether a server answers, and which models hang, from metrics in Triton's form."""

from collections.abc import Callable

import pytest

from plate_nets.triton.supervision.progress import Progress

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


def test_a_model_that_finishes_no_run_hangs_but_not_the_one_that_waits_for_it(metrics: Metrics) -> None:
    progress = Progress(metrics, LONGEST)
    metrics.models = {"plate_recognition": (9, 16), "yolo": (9, 3), "stn": (7, 0)}
    assert progress.check().hanging == ()
    assert progress.check().hanging == ("yolo",)
    metrics.models = {"plate_recognition": (9, 16), "yolo": (9, 0), "stn": (7, 0)}
    assert progress.check().hanging == ("plate_recognition",)


def test_frames_answered_between_two_refusals_are_counted(metrics: Metrics) -> None:
    progress = Progress(metrics, 1000.0)
    found = []
    for frames in (5, 5, 7, 0, 3):  # a new server starts at 0
        metrics.frames = frames
        found.append(progress.check().answers)
    assert found == [False, False, True, False, True]
    progress.forget()
    assert not progress.check().answers


def test_a_model_that_was_idle_before_does_not_hang(metrics: Metrics) -> None:
    progress = Progress(metrics, LONGEST)
    metrics.models = {"lprnet": (9, 0)}
    progress.check()
    metrics.models = {"lprnet": (9, 1)}
    assert progress.check().hanging == ()


def test_a_model_hangs_only_after_the_given_time_without_a_run(metrics: Metrics) -> None:
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
def test_unreadable_metrics_blame_no_model(metrics: Callable[[], str]) -> None:
    progress = Progress(metrics, LONGEST)
    assert [progress.check().hanging for _ in range(2)] == [()] * 2
