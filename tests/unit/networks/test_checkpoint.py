"""Weights on disk: strict, hashed, with errors that name file and fault."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from safetensors.numpy import save_file
from torch import nn

from plate_nets.common.errors import WeightsError
from plate_nets.countries import load_scheme, main_scheme
from plate_nets.networks.checkpoint import (
    WEIGHTS,
    check_scheme,
    load_weights,
    read_metadata,
    read_sums,
    read_weights,
    save_weights,
    sha256,
)
from plate_nets.networks.lprnet import LPRNet
from plate_nets.networks.stn import STN
from tests.schemes import TESTLAND, make_testland, write_testland


def test_round_trip(tmp_path: Path) -> None:
    path = tmp_path / "stn.safetensors"
    network, other = STN(), STN()
    save_weights(network, path, {"seed": "1"})
    load_weights(other, path)
    for a, b in zip(network.state_dict().values(), other.state_dict().values(), strict=True):
        assert torch.equal(a, b)
    assert sha256(path) in (tmp_path / "SHA256SUMS").read_text()


def test_missing_file(tmp_path: Path) -> None:
    refused(tmp_path / "none.safetensors", r"none\.safetensors: no such")


def test_truncated_file(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:1000])
    with pytest.raises(WeightsError, match=r"SHA-256 is .* the file is damaged or was replaced"):
        load_weights(STN(), path)
    path.with_name("SHA256SUMS").unlink()
    with pytest.raises(WeightsError, match=r"stn\.safetensors: not a readable safetensors file"):
        load_weights(STN(), path)


@pytest.mark.parametrize("network", [LPRNet(classes=23), nn.Linear(2, 2)], ids=["lprnet", "linear"])
def test_weights_of_another_network(path: Path, network: nn.Module) -> None:
    with pytest.raises(WeightsError, match=f"not weights of {type(network).__name__}"):
        load_weights(network, path)


def test_shipped_weights_match_their_sums() -> None:
    assert {path.name: sha256(path) for path in WEIGHTS.glob("*.safetensors")} == read_sums(WEIGHTS)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The weights of an STN."""
    path = tmp_path / "stn.safetensors"
    save_weights(STN(), path, {"seed": "1"})
    return path


def test_metadata_of_weights_is_shown_in_a_short_line(tmp_path: Path) -> None:
    path = tmp_path / "lprnet.safetensors"
    save_weights(LPRNet(classes=23), path, {"scheme": "\x1b[2J\n" * 1000})
    with pytest.raises(WeightsError, match=r"scheme: expected russia, got '\\x1b\[2J") as refused:
        check_scheme(path, main_scheme())
    assert len(str(refused.value)) < 500 + len(str(path)) and str(refused.value).isprintable()


def refused(path: Path, said: str) -> None:
    with pytest.raises(WeightsError, match=said):
        load_weights(nn.Linear(2, 2), path)


def test_huge_weights_are_refused_before_they_are_read(tmp_path: Path) -> None:
    path = tmp_path / "huge.safetensors"
    with path.open("wb") as file:
        file.truncate(1 << 40)  # it takes no space on disk, and does not fit into memory
    refused(path, "huge.safetensors: expected a file of at most 268435456 bytes")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"abc", "not a readable safetensors file"),
        ((1 << 40).to_bytes(8, "little") + b"{}", "not a readable safetensors file"),
        ((1 << 20).to_bytes(8, "little") + b"[" * (1 << 20), "not a readable safetensors file"),
    ],
)
def test_a_file_that_is_not_safetensors_is_refused(tmp_path: Path, content: bytes, said: str) -> None:
    (tmp_path / "other.safetensors").write_bytes(content)
    refused(tmp_path / "other.safetensors", said)
    with pytest.raises(WeightsError, match=said):
        read_metadata(tmp_path / "other.safetensors")


@pytest.mark.parametrize(
    ("arrays", "said"),
    [
        ({"weight": np.full((2, 2), np.nan, np.float32)}, "weight: expected finite numbers, got NaN or infinity$"),
        ({"weight": np.ones((3, 2), np.float32)}, r"weight has shape \(3, 2\), expected \(2, 2\)"),
        ({"bias": np.array([1, np.inf], np.float32)}, "bias: expected finite numbers, got NaN or infinity$"),
        ({"weight": np.ones((2, 2), np.int8)}, "of Linear: weight has dtype torch.int8, expected torch.float32$"),
        ({"\x1b[2J\n" * 100: np.ones(1, np.float32)}, r"1 tensors are unknown, first '\\x1b\[2J\\n"),
    ],
)
def test_weights_of_odd_numbers_and_names_are_refused_in_one_line(
    tmp_path: Path, arrays: dict[str, NDArray[Any]], said: str
) -> None:
    path = tmp_path / "odd.safetensors"
    save_file({"weight": np.ones((2, 2), np.float32), "bias": np.ones(2, np.float32)} | arrays, path)
    with pytest.raises(WeightsError, match=said) as failed:
        load_weights(nn.Linear(2, 2), path)
    assert str(failed.value).isprintable() and len(str(failed.value)) < 500


@pytest.mark.parametrize("read", [read_metadata, read_weights])
def test_a_pipe_or_a_device_is_not_read(tmp_path: Path, read: Callable[[Path], object]) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "zero").symlink_to("/dev/zero")
    for name in ("pipe", "zero"):
        with pytest.raises(WeightsError, match=rf"{name}: is not a file$"):
            read(tmp_path / name)


@pytest.mark.parametrize("sums", [b"a-single-word\n", b"\xff\xfe", bytes(2 << 20)], ids=["word", "binary", "large"])
def test_invalid_sums_are_reported(path: Path, sums: bytes) -> None:
    path.with_name("SHA256SUMS").write_bytes(sums)
    with pytest.raises(WeightsError, match="SHA256SUMS: expected"):
        load_weights(STN(), path)


def test_weights_carry_their_scheme(tmp_path: Path) -> None:
    path, scheme = tmp_path / "stn.safetensors", make_testland(tmp_path)
    save_weights(STN(), path, {"seed": "1"}, scheme)
    assert read_metadata(path) == {"seed": "1", "scheme": "testland", "scheme_sha256": scheme.sha256}
    load_weights(STN(), path, scheme)


def test_weights_of_another_scheme_are_refused(tmp_path: Path) -> None:
    path, scheme = tmp_path / "stn.safetensors", make_testland(tmp_path)
    save_weights(STN(), path, {}, scheme)
    with pytest.raises(WeightsError, match=r"stn\.safe.*: weights of another scheme: scheme: expected russia, got tes"):
        load_weights(STN(), path, main_scheme())
    other = TESTLAND.replace("0123456789AC", "1023456789AC")  # same symbols, other order
    write_testland(tmp_path, other)
    with pytest.raises(WeightsError, match=rf"scheme_sha256: expected [0-9a-f]{{64}}, got {scheme.sha256}$"):
        load_weights(STN(), path, load_scheme("testland.toml", tmp_path))
    save_weights(STN(), path, {})
    with pytest.raises(WeightsError, match="scheme: expected testland, got none"):
        load_weights(STN(), path, scheme)
