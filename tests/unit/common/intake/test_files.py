"""Non-files, and files far larger than they look, are an error at once, and nothing is read."""

import os
import socket
import subprocess
from pathlib import Path

import pytest

from plate_nets.common.errors import InputError, InputTooLarge
from plate_nets.common.intake.files import check_file, read_file, read_secret


def test_a_file_is_its_bytes(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"abc")
    (tmp_path / "link").symlink_to("a")
    assert read_file(tmp_path / "link", 3) == b"abc"
    with pytest.raises(InputTooLarge, match="at most 2 bytes, got 3"):
        read_file(tmp_path / "a", 2)


def test_files_that_would_block_are_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to("loop")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "socket"))
        for name in ("pipe", "socket", "loop", "none", "a\0b", "a" * 300, ".", "/dev/zero", "/dev/tty", "\ud800"):
            with pytest.raises(OSError) as caught:
                read_file(tmp_path / name, 1 << 20)
            assert caught.value.strerror


def test_a_secret_may_come_through_a_pipe(tmp_path: Path) -> None:
    (tmp_path / "tokens").write_text("one\n", encoding="utf-8")
    assert read_secret(tmp_path / "tokens") == "one\n"
    os.mkfifo(tmp_path / "unwritten")
    with pytest.raises(InputError, match="nothing came through the pipe"):
        read_secret(tmp_path / "unwritten", pause=0.1)
    out, into = os.pipe()
    with os.fdopen(out, "rb"), os.fdopen(into, "wb") as writer:
        writer.write(b"two\n")
        writer.close()
        assert read_secret(f"/dev/fd/{out}") == "two\n"
    with pytest.raises(InputError, match="none: No such file"):
        read_secret(tmp_path / "none")


def test_an_endless_pipe_is_refused_as_a_secret() -> None:
    with subprocess.Popen(["yes"], stdout=subprocess.PIPE) as endless:
        assert endless.stdout is not None
        with pytest.raises(InputTooLarge, match="at most 65536 bytes"):
            read_secret(f"/dev/fd/{endless.stdout.fileno()}")
        endless.kill()


def test_a_file_in_proc_is_refused_as_empty_without_blocking(tmp_path: Path) -> None:
    (tmp_path / "log").symlink_to("/proc/kmsg")
    assert read_file(tmp_path / "log", 1 << 20) == b""
    with pytest.raises(OSError, match="is empty"):
        check_file(tmp_path / "log")


def test_a_sparse_terabyte_is_refused_by_its_size(tmp_path: Path) -> None:
    with (tmp_path / "huge.jpg").open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(InputTooLarge, match=str(1 << 40)):  # nor would it fit into memory
        read_file(tmp_path / "huge.jpg", 64 << 20)


def test_a_file_that_grows_while_it_is_read_is_cut_at_its_first_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "photo.jpg"
    path.write_bytes(b"x" * 1000)
    looked = os.fstat

    def grown(handle: int) -> os.stat_result:
        found = looked(handle)
        with path.open("ab") as file:
            file.truncate(1 << 40)
        return found

    monkeypatch.setattr(os, "fstat", grown)
    assert read_file(path, 1 << 20) == b"x" * 1000
