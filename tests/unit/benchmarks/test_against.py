"""`python -m benchmarks --against`: two versions in turn, with the real package."""

from pathlib import Path

import pytest
from rich.progress import Progress

from benchmarks.callers.pictures import drawn_picture
from benchmarks.callers.version import CHECKOUT, version_folder
from benchmarks.measures import against
from benchmarks.measures.against import measure_against, ratio_row
from benchmarks.measures.machine import Others, ahead_of_others
from benchmarks.report.tables import tables
from plate_nets.cli.options import SCHEME_VARIABLE
from plate_nets.common.errors import InputError


def test_a_ratio_is_the_median_of_the_rounds_with_their_spread() -> None:
    row = ratio_row("one", [[(10, 100), (5, 200)], [(20, 50), (12, 60)], [(10, 100), (4, 250)]])
    assert (row["p50_ms"], row["p50_ratio"], row["p50_spread"]) == ([10, 5], 0.5, [0.4, 0.6])
    assert (row["frames_per_s"], row["frames_ratio"], row["frames_spread"]) == ([100, 200], 2.0, [1.2, 2.5])


def test_a_version_is_resolved_to_a_folder_or_refused(tmp_path: Path) -> None:
    with version_folder(str(tmp_path)) as folder:
        assert folder == tmp_path.resolve()
    with pytest.raises(InputError, match="no-such-thing: no folder, wheel or commit"), version_folder("no-such-thing"):
        pass


def test_a_measurement_restores_the_priorities_of_the_machine() -> None:
    own = Path("/proc/self/autogroup")
    before = own.read_text(encoding="ascii") if own.is_file() else None
    others = Others()
    with ahead_of_others() as first:
        assert first in (True, False)
    assert others.cores() >= 0
    assert before is None or own.read_text(encoding="ascii") == before


@pytest.mark.slow
def test_the_comparison_runs_this_checkout_against_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SCHEME_VARIABLE, "russia")  # fewer models to load, twice
    monkeypatch.setattr(against, "ROUNDS", 2)  # one in each order
    monkeypatch.setattr(against, "_WARM_UP", 0.1)
    with Progress(disable=True) as progress:
        *_, found = measure_against(str(CHECKOUT), [drawn_picture(1)], [2], 0.2, progress)
    assert [row["load"].split(",")[0] for row in found["rows"]] == ["in process", "served"]
    assert all(row["p50_ratio"] > 0 and row["frames_ratio"] > 0 for row in found["rows"])
    assert all(value > 0 for value in (*found["start_seconds"], *found["megabytes"]))
    (table,) = tables({"against": found})
    assert [row[0] for row in table.rows][-2:] == ["start of the server, s", "its memory, MB"]
