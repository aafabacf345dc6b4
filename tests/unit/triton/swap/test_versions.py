"""Version folders: how they are added, removed and counted, without a server."""

import shutil
from pathlib import Path

import pytest

from plate_nets.common.errors import SwapError
from plate_nets.triton.swap.versions import add, latest, locked, prune, remove, scratch_folder, versions
from tests.disk import small_disk


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A model's folder with version 1 and entries that are no version."""
    for name in ("1", "01", "3x", ".swapping-old"):
        (tmp_path / name).mkdir()
    for name in ("1/model.pt", "config.pbtxt", "2"):
        (tmp_path / name).touch()
    return tmp_path


def test_only_folders_with_a_number_are_versions(folder: Path) -> None:
    (folder / "10").mkdir()
    (folder / "9").mkdir()
    assert versions(folder) == [1, 9, 10]
    assert latest(folder) == 10


def test_a_version_is_added_atomically_after_the_latest(folder: Path) -> None:
    (folder / "9").mkdir()
    with scratch_folder(folder) as temporary:
        prepared = temporary / "new"
        prepared.mkdir()
        (prepared / "model.pt").touch()
        assert versions(folder) == [1, 9]
        assert add(prepared, folder) == 10
    assert [path.name for path in (folder / "10").iterdir()] == ["model.pt"]
    assert not list(folder.glob(".swapping-[!o]*"))


def test_a_version_is_removed(folder: Path) -> None:
    (folder / "4").mkdir()
    (folder / "4" / "model.pt").touch()
    remove(folder, 4)
    assert versions(folder) == [1]
    assert not list(folder.glob(".swapping-[!o]*"))


@pytest.mark.parametrize(
    ("keep", "left"), [(0, [1, 7]), (1, [1, 6, 7]), (2, [1, 5, 6, 7]), (3, [1, 4, 5, 6, 7]), (9, [1, 4, 5, 6, 7])]
)
def test_prune_keeps_version_1_and_the_latest(folder: Path, keep: int, left: list[int]) -> None:
    for version in (4, 5, 6, 7):
        (folder / str(version)).mkdir()
    assert sorted({*left, *prune(folder, keep)}) == [1, 4, 5, 6, 7]
    assert versions(folder) == left


def test_only_one_swap_runs_at_a_time(folder: Path) -> None:
    with locked(folder), pytest.raises(SwapError, match="another swap is already in progress here"), locked(folder):
        pass
    with locked(folder):
        pass


def test_the_next_swap_removes_the_rest_of_a_killed_one(folder: Path) -> None:
    (folder / ".swapping-killed" / "stn").mkdir(parents=True)
    before = versions(folder)
    with locked(folder):
        assert not (folder / ".swapping-killed").exists()
    assert versions(folder) == before


def test_a_missing_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SwapError, match=r"none: No such file"), locked(tmp_path / "none"):
        pass
    with pytest.raises(SwapError, match=r"cannot be written: No such file"), scratch_folder(tmp_path / "none"):
        pass
    with pytest.raises(SwapError, match="no version; run `python -m converters` first"):
        latest(tmp_path)


def test_a_disk_without_room_for_a_swap_is_reported(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk") as disk:
        (disk.path / "1").mkdir()
        (disk.path / "1" / "model.pt").write_bytes(bytes(600 << 10))
        full = pytest.raises(SwapError, match=r"cannot be written: .*No space left")
        with full, scratch_folder(disk.path) as scratch:
            shutil.copytree(disk.path / "1", scratch / "1")
