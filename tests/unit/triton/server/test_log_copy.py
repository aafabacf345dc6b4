"""The log on its way to standard error."""

import os
from pathlib import Path

from plate_nets.triton.server.log_copy import LogCopy

LINES = [f"{number:4095}\n".encode() for number in range(300)]


def kept(target: int, *written: bytes) -> str:
    """The text that is kept of what is written while it is copied to a file descriptor."""
    copy = LogCopy(target)
    for each in written:
        copy.file.write(each)
    copy.file.close()
    copy.drain()
    return copy.text()


def test_written_text_reaches_the_output_and_is_kept(tmp_path: Path) -> None:
    with (tmp_path / "stderr").open("wb") as target:
        assert kept(target.fileno(), b"first\n", "зд\n".encode()) == "first\nзд\n"
    assert (tmp_path / "stderr").read_bytes() == "first\nзд\n".encode()


def test_the_newest_part_of_the_log_is_kept(tmp_path: Path) -> None:
    with (tmp_path / "stderr").open("wb") as target:
        text = kept(target.fileno(), *LINES)
    assert text.split()[-1] == "299"
    assert len(text) <= 1 << 18
    assert (tmp_path / "stderr").stat().st_size == 300 * 4096


def test_a_closed_standard_error_does_not_end_the_writer() -> None:
    read, write = os.pipe()
    os.close(read)
    assert kept(write, *LINES[:9]).split()[-1] == "8"
    os.close(write)
