"""The log on its way to standard error."""

import os
from pathlib import Path

from plate_nets.triton.server.log_copy import LogCopy


def test_written_text_reaches_the_output_and_is_kept(tmp_path: Path) -> None:
    with (tmp_path / "stderr").open("wb") as target:
        copy = LogCopy(target.fileno())
        copy.file.write(b"first\n")
        copy.file.write("зд\n".encode())
        copy.file.close()
        copy.drain()
        assert copy.text() == "first\nзд\n"
    assert (tmp_path / "stderr").read_bytes() == "first\nзд\n".encode()


def test_the_newest_part_of_the_log_is_kept(tmp_path: Path) -> None:
    with (tmp_path / "stderr").open("wb") as target:
        copy = LogCopy(target.fileno())
        for number in range(300):
            copy.file.write(f"{number:4095}\n".encode())
        copy.file.close()
        copy.drain()
        assert copy.text().split()[-1] == "299"
    assert len(copy.text()) <= 1 << 18
    assert (tmp_path / "stderr").stat().st_size == 300 * 4096


def test_a_closed_standard_error_does_not_end_the_writer() -> None:
    read, write = os.pipe()
    copy = LogCopy(write)
    os.close(write)
    os.close(read)
    copy.file.write(b"first\n")
    copy.file.write(b"second\n")
    copy.file.close()
    copy.drain()
    assert copy.text() == "first\nsecond\n"
