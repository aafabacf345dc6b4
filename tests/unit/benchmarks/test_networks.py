"""`python -m benchmarks --networks` with one small network."""

import io

import pytest
from rich.console import Console
from rich.progress import Progress

from benchmarks.measures.networks import SHAPES, measure_networks
from plate_nets.contract import STN


@pytest.mark.slow
def test_output_to_a_pipe_says_which_network_is_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, (shape, *_) in SHAPES.items():
        monkeypatch.setitem(SHAPES, name, (shape,) if name == STN.name else ())
    said = io.StringIO()
    with Progress(console=Console(file=said), disable=True) as progress:
        rows = measure_networks(0.0, progress)
    assert "timing stn, 1x3x24x94, on cpu\n" in said.getvalue()
    assert {row["network"] for row in rows} == {STN.name}
