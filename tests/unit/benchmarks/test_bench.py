"""`python -m benchmarks` without a server: figures, differences, ratios, tables, and its message if there is none."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from benchmarks.__main__ import bench
from benchmarks.callers.caller import InputKind, caller_factory
from benchmarks.callers.pictures import drawn_picture
from benchmarks.load import Load, Sample
from benchmarks.measures.loads import figures, grid, latency
from benchmarks.measures.stages import attribute
from benchmarks.measures.targets import CASES, ROUNDS, ratios, target_row, variant_ratios
from benchmarks.report.__main__ import main as fill_page
from benchmarks.report.plots import PLOTS
from benchmarks.report.report import Report
from benchmarks.report.tables import Table, tables
from benchmarks.server.statistics import by_model, difference, stage_ms
from plate_nets.cli import guarded
from plate_nets.common.errors import InputError
from tests.commands import invoke


def test_latency_is_in_percentiles() -> None:
    assert latency([]) == {}
    found = latency(range(101))
    assert (found["p50_ms"], found["p90_ms"], found["p99_ms"], found["max_ms"]) == (50, 90, 99, 100)


def test_figures_count_answers_separately_from_failures() -> None:
    samples = [Sample(0.01, 2), Sample(0.03, 4), Sample(9.0, error="no memory"), Sample(8.0, error="no memory")]
    found = figures(Load(samples, seconds=2.0, client_cpu=0.5))
    assert (found["frames"], found["errors"]) == (2, {"no memory": 2})
    assert (found["frames_per_s"], found["plates_per_s"], found["client_cpu_share"]) == (1, 3, 0.25)
    assert found["p50_ms"] == pytest.approx(20)


def stats(name: str, executions: int, batches: dict[int, int], version: str = "1") -> dict[str, Any]:
    """As Triton returns them: over gRPC numbers are text, and zeros are missing."""
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


def test_statistics_cover_only_the_run() -> None:
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
    assert len(closed) == len({(r.variant, r.kind, r.plates, r.concurrency) for r in closed}) == 16
    (opened,) = grid(["a"], [InputKind.raw], groups[:1], [1, 4], 7.5, 1.0)
    assert (opened.rate, opened.concurrency, opened.plates) == (7.5, None, 0)


def test_shared_memory_is_only_for_the_production_model() -> None:
    with pytest.raises(InputError, match="only plate_recognition takes it, not client_chain"):
        caller_factory("localhost:1", "client_chain", InputKind.shm)


def rounds(**workloads: float) -> dict[str, list[Load]]:
    """Workloads with a constant latency (ms) in a round; the machine gets slower from round to round."""
    return {
        name: [
            Load([Sample(ms / 1000 * (1 + turn))] * 10, seconds=10 * ms / 1000 * (1 + turn)) for turn in range(ROUNDS)
        ]
        for name, ms in workloads.items()
    }


def test_ratios_do_not_change_if_the_machine_slows_down() -> None:
    workloads = {
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
    rows = ratios(rounds(**workloads))
    assert [round(row["value"], 3) for row in rows] == [1.2, 1.6, 1.05, 2.5, 2.0, 1.5]
    assert [row["met"] for row in rows] == [True, True, True, False, True, None]


def test_the_production_variant_is_compared_with_the_best_other() -> None:
    variants = ("plate_recognition", "slow", "fast")
    workloads = {}
    for plates, callers in CASES:
        for name, ms in zip(variants, (11.0, 30.0, 10.0), strict=True):
            workloads[f"{name}, {plates} plate{'s' * (plates != 1)}, {callers} at once"] = ms
    rows = variant_ratios(rounds(**workloads), variants[1:])
    assert all(row["value"] == pytest.approx(1.1) and "fast" in row["detail"] for row in rows)
    assert [row["met"] for row in rows] == [callers == 1 for _, callers in CASES]
    assert variant_ratios({}, []) == []


@pytest.mark.parametrize(
    ("value", "at_most", "met"), [(2, True, True), (2.01, True, False), (2, False, True), (1.9, False, False)]
)
def test_a_target_is_met_at_its_exact_value(value: float, at_most: bool, met: bool) -> None:
    assert target_row("x", value, 2.0, "", at_most=at_most)["met"] is met


@pytest.mark.parametrize(
    ("calls", "own"), [({"detect": 28.5, "rectify": 2.0, "read": 4.0}, 35.5 - 34.5 - 0.2), ({}, 35.5 - 32.9 - 0.2)]
)
def test_the_stages_of_a_frame_add_up_to_the_whole(calls: dict[str, float], own: float) -> None:
    names = ("decode", "letterbox", "detector", "NMS", "corners", "crop", "stn", "lprnet", "CTC")
    alone = dict(zip(names, (4.0, 1.0, 20.0, 0.5, 0.25, 0.25, 1.0, 3.0, 0.2), strict=True))
    models = {
        "plate_recognition": {"total_ms": 36.0, "infer_ms": 35.5},
        "yolo": {"total_ms": 28.0, "infer_ms": 27.5},
        "stn": {"total_ms": 1.5, "infer_ms": 1.25},
        "lprnet": {"total_ms": 3.4, "infer_ms": 3.25},
    }
    rows = attribute(alone, models, calls, 37.5, "HTTP")
    assert sum(row["ms"] for row in rows if row["part"]) == pytest.approx(37.5)
    found = {row["stage"]: row["ms"] for row in rows}
    assert found["queue and copies of yolo"] == pytest.approx(0.5)
    assert found["stub of yolo"] == pytest.approx(1.5)
    assert found.get("hop to stn") == (pytest.approx(0.5) if calls else None)
    assert found["stub of plate_recognition"] == pytest.approx(own)
    assert found["HTTP"] == pytest.approx(1.5)


def test_stages_of_all_instances_are_added_up() -> None:
    name = "plates_stage_seconds"
    assert stage_ms(
        f"# TYPE {name} histogram\n"
        f'{name}_bucket{{stage="read",le="+Inf"}} 3\n{name}_count{{stage="read"}} 3\n{name}_sum{{stage="read"}} 0.5\n'
        f'{name}_count{{stage="detect"}} 3\n{name}_sum{{stage="detect"}} 0.25\n'
    ) == {"read": 500.0, "detect": 250.0}


LOAD = {
    "variant": "plate_recognition",
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
    report.add_load(LOAD)
    report.set("targets", [target_row("16 plates over 1", 2.5, 2.0, "p50")])
    report.set("stages", {"title": "One frame", "rows": [{"stage": "decode", "ms": 4.0, "how": "", "part": True}]})
    kept = json.loads(path.read_text(encoding="utf-8"))
    assert kept["loads"][0]["frames"] == 2
    assert kept["hardware"]["cores"] >= 1
    assert {"numpy", "tritonclient", "python"} <= set(kept["versions"])
    shown = io.StringIO()
    console = Console(width=160, file=shown)
    for table in tables(kept):
        table.print(console)
        assert all(len(row) == len(table.columns) for row in table.rows)
        assert table.markdown().count("\n") == len(table.rows) + 1
        assert list(csv.reader(io.StringIO(table.csv()))) == [list(table.columns), *map(list, table.rows)]
    assert "16 plates over 1" in shown.getvalue()
    assert "1x2" in shown.getvalue()


PAGE = """before
<!-- figures: targets -->
old
<!-- end -->
<!-- figures: loads input=encoded -->
old
<!-- end -->
<!-- figures: machine -->
<!-- end -->
<!-- figures: networks -->
kept
<!-- end -->
"""


def test_reports_go_into_csv_plots_and_a_page(tmp_path: Path) -> None:
    for name in ("targets", "loads", "variants"):
        report = Report({}, tmp_path / "reports" / f"{name}.json")
        if name == "targets":
            report.set("targets", [target_row("16 plates over 1", 2.5, 2.0, "p50")])
        else:
            report.add_load(LOAD | {"plates": 4})
            report.add_load(LOAD | {"plates": 4, "concurrency": 8})
    page = tmp_path / "page.md"
    page.write_text(PAGE, encoding="utf-8")
    result = invoke(fill_page, tmp_path / "reports", page)
    assert (result.exit_code, result.stderr) == (1, "no figures for: networks\n")
    text = page.read_text(encoding="utf-8")
    assert "| 16 plates over 1 | 2.5 | <= 2 | no | p50 |" in text
    assert "| plate_recognition | http | 4 | 8 | 2 |" in text
    assert " cores of " in text
    assert "old" not in text
    assert "kept" in text
    assert {path.name for path in (tmp_path / "page").iterdir()} == {
        *("loads.csv", "loads.png", "loads_models.csv", "targets.csv"),
        *("variants.csv", "variants.png", "variants_models.csv"),
    }
    assert (tmp_path / "page" / "loads.png").read_bytes().startswith(b"\x89PNG")
    invoke(fill_page, tmp_path / "reports", page)
    assert page.read_text(encoding="utf-8") == text


def test_each_stage_becomes_a_bar() -> None:
    rows = [["decode", "4.00", "yes", ""], ["stn", "-0.10", "yes", ""], ["whole", "3.90", "no", ""]]
    figure = PLOTS["stages"](Table("stages", "One frame", ("stage", "ms", "part of the whole", "from"), rows))
    (axes,) = figure.axes
    assert [text.get_text() for text in axes.texts] == ["4.0", "-0.1", "3.9"]


def test_a_report_contains_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLATES_CONTROL_KEY", "c" * 40)
    monkeypatch.setenv("PLATES_YOLO_THREADS", "2")
    values = Report({}).values
    assert values["settings"]["PLATES_YOLO_THREADS"] == "2"
    assert "c" * 40 not in json.dumps(values)


@pytest.mark.parametrize("protocol", ["http", "grpc"])
def test_a_missing_server_is_reported_in_one_line(tmp_path: Path, protocol: str) -> None:
    result = invoke(guarded(bench), "--url", f"{protocol}://127.0.0.1:9", "--json", tmp_path / "a.json")
    assert (result.exit_code, len(result.stderr.splitlines())) == (2, 1)
    assert result.stderr.startswith("plates: 127.0.0.1:9: ")
    assert "127.0.0.1:9" in json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))["error"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--plates", "1,x"], "--plates: expected numbers of 0 or more"),
        (["--plates", "99"], "--plates: expected 0 to 20 on a frame, got 99"),
        (["--concurrency", "0"], "--concurrency: expected numbers of 1 or more"),
        (["--url", "127.0.0.1:9", "--json", "/dev/null/a.json"], "--json /dev/null/a.json: "),
        (["--frames", "empty"], "--frames empty: no picture"),
    ],
)
def test_wrong_usage_is_named(arguments: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("empty").mkdir()
    result = invoke(guarded(bench), *arguments)
    assert (result.exit_code, len(result.stderr.splitlines())) == (2, 1)
    assert said in result.stderr
