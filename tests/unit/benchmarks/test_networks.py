"""`python -m benchmarks --networks` with one small network."""

import io
from pathlib import Path

import pytest
from rich.console import Console
from rich.progress import Progress

from benchmarks.measures.networks import SHAPES, measure_networks
from plate_nets.contract import STN
from plate_nets.networks.runtimes.networks import PACKAGE, REPOSITORY_VARIABLE, released


@pytest.mark.slow
def test_output_to_a_pipe_says_which_network_is_timed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    package = released(tmp_path, STN.name) / PACKAGE
    package.parent.mkdir(parents=True)
    package.touch()
    monkeypatch.setenv(REPOSITORY_VARIABLE, str(tmp_path))
    monkeypatch.setattr("plate_nets.networks.conversion.aoti_package.load", lambda folder: lambda crops: crops)
    for name, (shape, *_) in SHAPES.items():
        monkeypatch.setitem(SHAPES, name, (shape,) if name == STN.name else ())
    said = io.StringIO()
    with Progress(console=Console(file=said), disable=True) as progress:
        rows = measure_networks(0.0, progress)
    assert "timing stn, 1x3x24x94, on cpu\n" in said.getvalue()
    assert {row["network"] for row in rows} == {STN.name}
    assert {"eager", "OpenVINO", "AOTInductor"} <= {row["form"] for row in rows}
