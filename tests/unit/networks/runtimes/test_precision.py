"""The precision of networks: requested, compared and timed on this processor, whichever it is."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from plate_nets.common.errors import ContractError
from plate_nets.contract import CORNERS, COUNTRY, LPRNET, STN, YOLO, reader_network
from plate_nets.countries import load_scheme
from plate_nets.networks.registry import NETWORKS, YOLO_FAST
from plate_nets.networks.runtimes import precision
from plate_nets.networks.runtimes.choices import CHOICES_VARIABLE, Choice
from plate_nets.networks.runtimes.networks import IR, network_folder, released
from plate_nets.networks.runtimes.openvino import INT8, Precision, has_bfloat16
from plate_nets.networks.runtimes.precision import (
    CANDIDATES,
    PRECISION_VARIABLE,
    PRECISIONS,
    Candidate,
    appearances_agree,
    choose,
    corners_agree,
    paths_agree,
    rows_agree,
)

UNKNOWN = {CHOICES_VARIABLE: os.devnull}


def file_of(repository: Path, name: str) -> Path:
    return network_folder(released(repository, NETWORKS[name].model.name), name) / IR


@pytest.mark.parametrize(
    ("name", "precision"),
    [(name, "bfloat16") for name in sorted(CANDIDATES)]
    + [(name, precision) for name in (YOLO.name, LPRNET.name) for precision in INT8]
    + [(YOLO_FAST.name, "int8")],
)
def test_the_shipped_weights_agree_in_this_precision(model_repository: Path, name: str, precision: Precision) -> None:
    path, candidate = file_of(model_repository, name), CANDIDATES[name]
    exact, short = (candidate.load(path, 1, each)(candidate.example()) for each in ("float32", precision))
    assert candidate.agree(exact, short)


@pytest.mark.parametrize("wanted", PRECISIONS)
def test_the_precision_can_be_set(model_repository: Path, wanted: str) -> None:
    environ = {PRECISION_VARIABLE: wanted}
    assert choose(YOLO.name, file_of(model_repository, YOLO.name), environ).precision == wanted
    assert choose(STN.name, file_of(model_repository, STN.name), environ).precision == "float32"


@pytest.mark.parametrize("wanted", INT8)
def test_int8_is_for_networks_with_ranges(model_repository: Path, wanted: Precision) -> None:
    choice = choose(CORNERS.name, file_of(model_repository, CORNERS.name), {PRECISION_VARIABLE: wanted})
    assert choice == Choice("float32", "its weights have no ranges for int8")


def test_an_invalid_setting_is_refused() -> None:
    with pytest.raises(ContractError, match=r"PLATES_PRECISION: expected auto, .*, int8-bfloat16, got 'int4'"):
        choose(YOLO.name, Path("none"), {PRECISION_VARIABLE: "int4"})


def slow_in(slow: str, name: str, loaded: list[str]) -> Candidate:
    """A network that always runs in float32, and three times per call in the precision ``slow``."""
    original = CANDIDATES[name]

    def load(path: Path, threads: int, wanted: Precision) -> Callable[[Any], NDArray[np.float32]]:
        loaded.append(wanted)
        run = original.load(path, threads, "float32")
        return lambda given: [run(given) for _ in range(3 if wanted == slow else 1)][-1]

    return replace(original, load=load)


@pytest.mark.parametrize("often", ["float32", "bfloat16"])
def test_the_faster_precision_is_used(
    model_repository: Path, monkeypatch: pytest.MonkeyPatch, often: Precision
) -> None:
    monkeypatch.setattr(precision, "CANDIDATES", {CORNERS.name: slow_in(often, CORNERS.name, [])})
    choice = choose(CORNERS.name, file_of(model_repository, CORNERS.name), UNKNOWN)
    if has_bfloat16():
        assert (choice.precision == "bfloat16") == (often == "float32")
        assert choice.why.startswith("bfloat16 takes ")
    else:
        assert choice == Choice("float32", "the processor has no bfloat16")


@pytest.mark.parametrize(
    ("bfloat16", "int8", "tried", "wanted"),
    [
        (0.25, 0.2, "int8-bfloat16", "bfloat16"),
        (0.25, 0.15, "int8-bfloat16", "int8-bfloat16"),
        (3.0, 0.5, "int8", "int8"),
        (3.0, 1.5, "int8", "float32"),
    ],
    ids=["not worth it", "worth it", "bfloat16 is emulated", "nothing is faster"],
)
def test_layers_without_int8_use_bfloat16_if_that_is_fast(
    model_repository: Path, monkeypatch: pytest.MonkeyPatch, bfloat16: float, int8: float, tried: str, wanted: Precision
) -> None:
    """Seconds of each, where float32 takes one."""
    taken, loaded = iter((1.0, bfloat16, int8)), list[str]()
    monkeypatch.setattr(precision, "_seconds", lambda run, example: next(taken))
    monkeypatch.setattr(precision, "has_bfloat16", lambda: True)
    candidate = replace(slow_in("none", LPRNET.name, loaded), agree=lambda exact, short: True)
    assert precision._measured(candidate, file_of(model_repository, LPRNET.name)).precision == wanted
    assert loaded == ["float32", "bfloat16", tried]


def test_weights_that_do_not_agree_stay_in_float32(model_repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    candidate = replace(CANDIDATES[LPRNET.name], agree=lambda exact, short: False)
    monkeypatch.setattr(precision, "CANDIDATES", {LPRNET.name: candidate})
    assert choose(LPRNET.name, file_of(model_repository, LPRNET.name), UNKNOWN).precision == "float32"


@pytest.mark.slow
@pytest.mark.parametrize("instructions", ["AVX512_CORE_VNNI", "AVX2"])
def test_bfloat16_is_not_used_if_it_is_emulated(model_repository: Path, instructions: str) -> None:
    files = {name: str(file_of(model_repository, name)) for name in sorted(CANDIDATES)}
    code = f"""
import json
from pathlib import Path
from plate_nets.networks.runtimes.precision import choose
print(json.dumps({{name: choose(name, Path(path)).precision for name, path in {files!r}.items()}}))
"""
    environ = {**os.environ, PRECISION_VARIABLE: precision.AUTO, "ONEDNN_MAX_CPU_ISA": instructions}
    done = subprocess.run([sys.executable, "-c", code], env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    chosen = json.loads(done.stdout)
    assert chosen.pop(YOLO_FAST.name) in ("float32", "int8"), "nearly as fast"
    rounded = (YOLO.name, LPRNET.name, reader_network(load_scheme("latin")))
    assert chosen == {name: "int8" if name in rounded else "float32" for name in chosen}


def test_rows_agree_up_to_rounding() -> None:
    rows = np.array([[[50, 50, 40, 10, 0.9, 1], [300, 80, 60, 20, 0.3, 1], [9, 9, 9, 9, 0.01, 1]]], np.float32)
    assert rows_agree(rows, rows)
    for column, change, alike in ((0, 1.0, True), (0, 3.0, False), (4, -0.05, True), (4, -0.2, False)):
        other = rows.copy()
        other[0, 0, column] += change
        assert rows_agree(rows, other) == alike
    far = rows.copy()
    far[0, 2, 0] += 100  # the place of an improbable box does not matter
    assert rows_agree(rows, far)
    assert not rows_agree(rows[:, 2:], rows[:, 2:])  # without a probable box there is nothing to compare
    beside = np.concatenate((rows, [[[51, 50, 40, 10, 0.4, 1]]]), axis=1).astype(np.float32)
    other = beside.copy()
    other[0, 3, 4] = 0.6  # still worse than the first, which shows the same plate
    assert rows_agree(beside, other)
    other[0, 3, 4] = 0.95
    assert not rows_agree(beside, other) and not rows_agree(other, beside)


def test_paths_agree_where_they_are_certain() -> None:
    logits = np.zeros((2, 5, 18), np.float32)
    logits[0, 1] = 12
    other = logits.copy()
    other[1, 2] = 1  # in a step that is not certain
    assert paths_agree(logits, other)
    other[0, 3, 4] = 20
    assert not paths_agree(logits, other)
    assert not paths_agree(logits[1:], logits[1:])
    assert not paths_agree(logits, np.full_like(logits, np.nan))


def test_corners_agree_up_to_rounding() -> None:
    found = np.zeros((3, 9), np.float32)
    for column, change, alike in ((2, 0.3, True), (2, 0.7, False), (8, 0.05, True), (8, np.nan, False)):
        other = found.copy()
        other[1, column] = change
        assert corners_agree(found, other) == alike


def test_appearances_agree_up_to_rounding() -> None:
    logits = np.zeros((2, *COUNTRY.outputs[0].dims), np.float32)
    logits[:, [1, -1]] = 6
    small, large = [(1, 0.1), (-1, 0.1)], [(1, -2), (-1, -2), (0, np.nan), (-1, np.nan)]
    for column, change in small + large:
        other = logits.copy()
        other[1, column] += change
        assert appearances_agree(logits, other) == ((column, change) in small)
