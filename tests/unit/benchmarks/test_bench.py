"""`plates bench` without a server: figures, differences, ratios, tables, and what it says where there is none."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from typer.testing import CliRunner

from benchmarks.callers import InputKind, subject
from benchmarks.document import fill
from benchmarks.frames import drawn_picture, known_crops
from benchmarks.load import Load, Sample
from benchmarks.plot import save_plot
from benchmarks.reach import CASES, ROUNDS, ratios, reached, wiring_ratios
from benchmarks.report import Report
from benchmarks.runs import figures, grid, latency
from benchmarks.server_side import by_model, difference
from benchmarks.stages import attribute
from benchmarks.tables import tables
from plate_nets.cli import app
from plate_nets.errors import InputError


def test_latency_is_in_percentiles() -> None:
    assert latency([]) == {}
    found = latency(range(101))
    assert (found["p50_ms"], found["p90_ms"], found["p99_ms"], found["max_ms"]) == (50, 90, 99, 100)


def test_figures_count_answers_apart_from_failures() -> None:
    samples = [Sample(0.01, 2), Sample(0.03, 4), Sample(9.0, error="no memory"), Sample(8.0, error="no memory")]
    found = figures(Load(samples, seconds=2.0, client_cpu=0.5))
    assert (found["frames"], found["errors"]) == (2, {"no memory": 2})
    assert (found["frames_per_s"], found["plates_per_s"], found["client_cpu_share"]) == (1, 3, 0.25)
    assert found["p50_ms"] == pytest.approx(20)


def stats(name: str, executions: int, batches: dict[int, int], version: str = "1") -> dict[str, Any]:
    """As Triton gives them: over gRPC numbers come as text, and zeros are left out."""
    rows = sum(size * count for size, count in batches.items())
    times = {"count": str(executions), "ns": str(executions * 3_000_000)}
    return {
        "name": name,
        "version": version,
        "inference_count": str(rows),
        "execution_count": str(executions),
        "inference_stats": {"success": times, "queue": times, "compute_infer": times, "fail": {}, "cache_hit": {}},
        "batch_stats": [
            {"batch_size": str(size), "compute_infer": {"count": str(count), "ns": "1"}}
            for size, count in batches.items()
        ],
    }


def test_statistics_are_of_the_run_alone() -> None:
    before = by_model([stats("stn", 3, {1: 3}), stats("yolo", 5, {1: 5})])
    after = by_model([stats("stn", 7, {1: 4, 2: 2, 16: 1}), stats("yolo", 5, {1: 5}), stats("lprnet", 2, {4: 2})])
    found = difference(before, after)
    assert set(found) == {"stn", "lprnet"}
    assert found["stn"]["batches"] == {"1": 1, "2": 2, "16": 1}
    assert (found["stn"]["requests"], found["stn"]["executions"], found["stn"]["rows"]) == (4, 4, 21)
    assert (found["stn"]["queue_ms"], found["stn"]["infer_ms"], found["stn"]["output_ms"]) == (3.0, 3.0, 0.0)


def test_statistics_of_all_versions_are_added_up() -> None:
    both = by_model([stats("stn", 3, {1: 3}), stats("stn", 4, {1: 2, 2: 2}, version="2")])
    assert (both["stn"]["executions"], both["stn"]["batches"]) == (7, {1: 5, 2: 2})


def test_a_grid_has_every_combination() -> None:
    groups = [[drawn_picture(plates, (96, 160))] for plates in (0, 1)]
    closed = list(grid(["a", "b"], [InputKind.raw, InputKind.encoded], groups, [1, 4], None, 1.0))
    assert len(closed) == len({(r.wiring, r.kind, r.plates, r.concurrency) for r in closed}) == 16
    (opened,) = grid(["a"], [InputKind.raw], groups[:1], [1, 4], 7.5, 1.0)
    assert (opened.rate, opened.concurrency, opened.plates) == (7.5, None, 0)


def test_shared_memory_is_for_the_production_wiring() -> None:
    with pytest.raises(InputError, match="only plate_recognition is asked so, not client_chain"):
        subject("localhost:1", "client_chain", InputKind.shm)


def rounds(**sides: float) -> dict[str, list[Load]]:
    """Sides with the same latency, ms, in every request; the machine gets slower from round to round."""
    return {
        name: [
            Load([Sample(ms / 1000 * (1 + turn))] * 10, seconds=10 * ms / 1000 * (1 + turn)) for turn in range(ROUNDS)
        ]
        for name, ms in sides.items()
    }


def test_ratios_do_not_see_a_machine_that_slows_down() -> None:
    sides = {
        "served, 1 plate": 24.0,
        "in process, 1 plate": 20.0,
        "bare yolo on OpenVINO": 10.0,
        "bare stn on TorchScript": 1.0,
        "bare lprnet on TorchScript": 4.0,
        "served raw, 0 plates": 21.0,
        "yolo raw, 0 plates": 20.0,
        "served, 16 plates": 60.0,
        "served, 1 plate, 4 at once": 12.0,
        "served 1920x1080": 30.0,
        "served raw 1920x1080": 20.0,
    }
    rows = ratios(rounds(**sides))
    assert [round(row["value"], 3) for row in rows] == [1.2, 1.6, 1.05, 2.5, 2.0, 1.5]
    assert [row["met"] for row in rows] == [True, True, True, False, True, None]


def test_production_is_held_against_the_best_other_wiring() -> None:
    wirings = ("plate_recognition", "slow", "fast")
    sides = {}
    for plates, askers in CASES:
        for name, ms in zip(wirings, (11.0, 30.0, 10.0), strict=True):
            sides[f"{name}, {plates} plate{'s' * (plates != 1)}, {askers} at once"] = ms
    rows = wiring_ratios(rounds(**sides), wirings[1:])
    assert all(row["value"] == pytest.approx(1.1) and "fast" in row["detail"] for row in rows)
    assert [row["met"] for row in rows] == [askers == 1 for _, askers in CASES]
    assert wiring_ratios({}, []) == []


@pytest.mark.parametrize(
    ("value", "most", "met"), [(2, True, True), (2.01, True, False), (2, False, True), (1.9, False, False)]
)
def test_a_reach_is_met_at_its_very_value(value: float, most: bool, met: bool) -> None:
    assert reached("x", value, 2.0, "", most=most)["met"] is met


def test_parts_of_a_frame_add_up_to_the_whole() -> None:
    names = ("decode", "letterbox", "detector", "NMS", "crop", "stn", "lprnet", "CTC")
    alone = dict(zip(names, (4.0, 1.0, 20.0, 0.5, 0.5, 1.0, 3.0, 0.2), strict=True))
    models = {
        "plate_recognition": {"total_ms": 36.0},
        "yolo": {"total_ms": 28.0},
        "stn": {"total_ms": 1.5},
        "lprnet": {"total_ms": 3.4},
    }
    rows = attribute(alone, models, 37.5, "HTTP")
    assert sum(row["ms"] for row in rows if row["part"]) == pytest.approx(37.5)
    found = {row["stage"]: row["ms"] for row in rows}
    assert found["hand-over within yolo"] == pytest.approx(2.0)
    assert found["hand-over around the models"] == pytest.approx(36.0 - 32.9 - 0.2)
    assert found["HTTP"] == pytest.approx(1.5)


RUN = {
    "wiring": "plate_recognition",
    "input": "encoded",
    "protocol": "http",
    "pictures": ["1 plate"],
    "plates": 1,
    "concurrency": 1,
    "rate": None,
    "server": {"cpu_seconds": 1.0, "cpu_ms_per_frame": 40.0, "pss_bytes": 900e6},
    "models": difference({}, by_model([stats("stn", 2, {1: 2})])),
    **figures(Load([Sample(0.02, 1), Sample(0.03, 1)], 0.05, 0.01)),
}


def test_a_report_is_kept_as_it_grows_and_shown(tmp_path: Path) -> None:
    path = tmp_path / "new" / "report.json"
    report = Report({"seconds": 1.0}, path)
    assert report.empty
    report.add_run(RUN)
    report.set("reach", [reached("16 plates over 1", 2.5, 2.0, "p50")])
    report.set("stages", {"title": "One frame", "rows": [{"stage": "decode", "ms": 4.0, "how": "", "part": True}]})
    kept = json.loads(path.read_text(encoding="utf-8"))
    assert kept["runs"][0]["frames"] == 2
    assert kept["hardware"]["cores"] >= 1
    assert {"numpy", "tritonclient", "python"} <= set(kept["versions"])
    shown = io.StringIO()
    console = Console(width=160, file=shown)
    for table in tables(kept):
        table.print(console)
        assert all(len(row) == len(table.columns) for row in table.rows)
        assert table.markdown().count("\n") == len(table.rows) + 1
    assert "not met" in shown.getvalue()
    assert "1x2" in shown.getvalue()
    assert save_plot(kept, tmp_path / "plot.png")
    assert (tmp_path / "plot.png").read_bytes().startswith(b"\x89PNG")
    assert not save_plot(Report({}).values, tmp_path / "none.png")


def test_figures_go_into_a_document(tmp_path: Path) -> None:
    report = Report({}, tmp_path / "one.json")
    report.set("reach", [reached("16 plates over 1", 2.5, 2.0, "p50")])
    document = (
        "before\n<!-- figures: one reach -->\nold\n<!-- end -->\n<!-- figures: one stages -->\nkept\n<!-- end -->"
    )
    text, missing = fill(document, tmp_path)
    assert missing == ["one stages"]
    assert "| 16 plates over 1 | 2.5 | <= 2 | not met | p50 |" in text
    assert "old" not in text
    assert "kept" in text
    assert fill(text, tmp_path) == (text, missing)
    again, missing = fill("<!-- figures: one machine -->\n<!-- end -->", tmp_path)
    assert missing == []
    assert " cores of " in again


def test_no_secret_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLATES_CONTROL_KEY", "c" * 40)
    monkeypatch.setenv("PLATES_YOLO_THREADS", "2")
    values = Report({}).values
    assert values["settings"]["PLATES_YOLO_THREADS"] == "2"
    assert "c" * 40 not in json.dumps(values)


def bench(*arguments: object) -> Any:
    return CliRunner().invoke(app, ["bench", *map(str, arguments)])


@pytest.mark.parametrize("protocol", ["http", "grpc"])
def test_a_server_that_is_not_there_is_one_line(tmp_path: Path, protocol: str) -> None:
    result = bench("--url", f"{protocol}://127.0.0.1:9", "--json", tmp_path / "a.json")
    assert result.exit_code == 2
    assert result.stderr.startswith("plates: 127.0.0.1:9: ")
    assert len(result.stderr.splitlines()) == 1
    assert "127.0.0.1:9" in json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))["error"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--plates", "1,x"], "--plates: expected numbers of 0 or more"),
        (["--plates", "99"], "--plates: expected 0 to 20 on a frame, got 99"),
        (["--concurrency", "0"], "--concurrency: expected numbers of 1 or more"),
        (["--url", "127.0.0.1:9", "--json", "/dev/null/a.json"], "--json /dev/null/a.json: "),
    ],
)
def test_wrong_usage_is_named(arguments: list[str], said: str) -> None:
    result = bench(*arguments)
    assert result.exit_code == 2
    assert said in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_an_empty_folder_is_named(tmp_path: Path) -> None:
    result = bench("--frames", tmp_path)
    assert result.exit_code == 2
    assert f"--frames {tmp_path}: no picture" in result.stderr


def test_the_ensemble_of_a_crop_is_asked_with_crops_alone() -> None:
    groups = [[drawn_picture(plates, (96, 160))] for plates in (0, 4)]
    runs = list(grid(["plate_text", "a"], [InputKind.raw, InputKind.encoded], groups, [1], None, 1.0))
    assert [(run.kind.value, run.plates) for run in runs if run.wiring == "plate_text"] == [("raw", 4)]
    assert known_crops(4).shape == (4, 24, 94, 3)
