"""Files that exist in full or not at all, and the errors if they cannot be written."""

import errno
from pathlib import Path

import pytest

from plate_nets.common.atomic_files import whole_file, whole_folder, write_whole
from tests.disk import SmallDisk


def test_a_file_replaces_an_older_one_and_missing_folders_are_created(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "file"
    for content in (b"one", b"two"):
        write_whole(path, content)
        assert path.read_bytes() == content
    assert [each.name for each in path.parent.iterdir()] == ["file"]


def test_a_full_disk_is_reported_for_the_file_and_keeps_the_older_one(small_disk: SmallDisk) -> None:
    path = small_disk.path / "file"
    write_whole(path, b"one")
    small_disk.fill()
    with pytest.raises(OSError, match="No space left on device") as failed:
        write_whole(path, bytes(1 << 20))
    assert (failed.value.errno, failed.value.filename) == (errno.ENOSPC, str(path))
    assert failed.value.strerror == "No space left on device"
    assert path.read_bytes() == b"one"
    assert {each.name for each in small_disk.path.iterdir()} == {"file", "filling"}


def test_an_error_of_another_file_in_the_block_is_not_changed(tmp_path: Path) -> None:
    other = tmp_path / "other"
    with pytest.raises(FileNotFoundError) as failed, whole_file(tmp_path / "file") as fresh:
        fresh.write_bytes(other.read_bytes())
    assert failed.value.filename == str(other)
    assert list(tmp_path.iterdir()) == []


def test_a_device_is_not_replaced(tmp_path: Path) -> None:
    full = tmp_path / "full"
    full.symlink_to("/dev/full")
    with pytest.raises(OSError, match="is not a regular file"):
        write_whole(full, b"one")
    assert full.is_char_device() and list(tmp_path.iterdir()) == [full]


def test_a_folder_appears_in_full_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b"
    with pytest.raises(KeyError), whole_folder(path) as fresh:
        (fresh / "file").touch()
        raise KeyError
    assert list(path.parent.iterdir()) == []
    with whole_folder(path) as fresh:
        (fresh / "file").touch()
        assert not path.exists()
    assert [each.name for each in path.iterdir()] == ["file"]
    with pytest.raises(FileExistsError), whole_folder(path):
        pass
    assert list(path.parent.iterdir()) == [path]
