"""Sources that others wrote: an unreadable photo becomes a row with an error, and the rest is read."""

import os
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from plate_nets.batch.rows import UNREADABLE
from plate_nets.batch.sources import find_source
from plate_nets.batch.storage import Folder
from plate_nets.batch.verification import verify
from plate_nets.cli import app
from plate_nets.common.errors import BatchError, InputTooLarge
from tests.batch.readers import FakeReaderSettings
from tests.batch.test_batch import begun, done
from tests.limited import in_little_memory

GOOD = b"A001AA77"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A good photo among links to nowhere and to the kernel's log, a pipe, and a file that claims a terabyte."""
    folder = tmp_path / "photos"
    folder.mkdir()
    (folder / "good.jpg").write_bytes(GOOD)
    (folder / "loop.jpg").symlink_to("loop.jpg")
    (folder / "nowhere.jpg").symlink_to("none")
    (folder / "kernel.jpg").symlink_to("/proc/kmsg")
    os.mkfifo(folder / "pipe.jpg")
    with (folder / "huge.jpg").open("wb") as file:
        file.truncate(1 << 40)
    return folder


def read_folder(folder: Path, out: Path) -> None:
    rows = done(begun(folder, out, FakeReaderSettings()))
    assert {name: row["error"] for name, row in rows.items()} == {
        "good.jpg": None,
        "loop.jpg": UNREADABLE,
        "nowhere.jpg": UNREADABLE,
        "kernel.jpg": None,  # it is empty, and this reader accepts that
        "huge.jpg": "PLATES_TOO_LARGE",
    }
    assert rows["huge.jpg"]["message"] == f"expected a file of at most {64 << 20} bytes, got {1 << 40}"
    assert verify(Folder(str(out))).complete


def test_a_folder_of_hostile_files_is_read_to_its_end(folder: Path, tmp_path: Path) -> None:
    in_little_memory(read_folder, folder, tmp_path / "out")


def test_every_line_of_a_list_is_a_row(folder: Path, tmp_path: Path) -> None:
    lines = [
        f"{folder}/good.jpg",
        f"{folder}/a\0b.jpg",
        f"{folder}/loop.jpg",
        f"{folder}/pipe.jpg",
        "xyz://",
        "xyz://bucket/photo.jpg",
        "s3://key:secret@bucket/photo.jpg",
        f"file://{folder}/pipe.jpg",
        "://",
        "x" * 5000,
        "/dev/zero",
    ]
    (tmp_path / "list.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    rows = done(begun(tmp_path / "list.txt", tmp_path / "out", FakeReaderSettings()))
    assert [rows[line]["error"] for line in lines] == [None] + [UNREADABLE] * (len(lines) - 1)
    assert "secret" not in rows[lines[6]]["message"]
    assert verify(Folder(str(tmp_path / "out"))).complete


def refuse_endless_line(path: Path) -> None:
    with pytest.raises(BatchError, match="expected a folder, a photo, a Parquet file or a text"):
        list(find_source(str(path)).photos())


def test_a_list_with_one_line_of_a_terabyte_is_refused(tmp_path: Path) -> None:
    with (tmp_path / "list.txt").open("wb") as file:
        file.truncate(1 << 40)
    in_little_memory(refuse_endless_line, tmp_path / "list.txt")


@pytest.mark.parametrize(
    ("column", "says"),
    [
        (pa.array([["a.jpg"]]), r"expected paths \(string\) or photos \(binary\), got list"),
        (pa.array([{"a": "a.jpg"}]), "got struct"),
        (pa.array(["a.jpg"]).dictionary_encode(), "got dictionary"),
        (pa.array([None], pa.null()), "got null"),
        (pa.array([1.5]), "got double"),
    ],
)
def test_a_parquet_column_of_another_type_is_refused(tmp_path: Path, column: pa.Array, says: str) -> None:
    pq.write_table(pa.table({"path": column}), tmp_path / "a.parquet")
    with pytest.raises(BatchError, match=says):
        list(find_source(str(tmp_path / "a.parquet")).photos())


def test_a_duplicate_column_is_refused(tmp_path: Path) -> None:
    table = pa.Table.from_arrays([pa.array([b"a"]), pa.array([b"b"])], ["image", "image"])
    pq.write_table(table, tmp_path / "a.parquet")
    with pytest.raises(BatchError, match="expected one column image, got 2"):
        list(find_source(str(tmp_path / "a.parquet")).photos())


def test_a_damaged_parquet_footer_is_refused_with_the_file_name(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"path": ["a.jpg"]}), path)
    whole = path.read_bytes()
    path.write_bytes(whole[:-40] + bytes([0x55] * 32) + whole[-8:])
    with pytest.raises(BatchError, match=r"a\.parquet: expected a Parquet file: "):
        list(find_source(str(path)).photos())


def test_paths_in_parquet_may_be_any_text(folder: Path, tmp_path: Path) -> None:
    encoded = pa.array([os.fsencode(folder / "good.jpg"), b"\xff\xfe.jpg", b"a\0b", b"", None, b"/dev/zero"])
    pq.write_table(pa.table({"path": encoded.view(pa.string())}), tmp_path / "a.parquet")
    rows = done(begun(tmp_path / "a.parquet", tmp_path / "out", FakeReaderSettings()))
    assert {name: row["error"] for name, row in rows.items()} == {
        str(folder / "good.jpg"): None,
        "\\xff\\xfe.jpg": UNREADABLE,
        "a\0b": UNREADABLE,
        "/dev/zero": UNREADABLE,
    }


def test_a_row_group_that_unpacks_to_too_much_is_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("plate_nets.batch.sources._LARGEST_GROUP", 1 << 20)
    table = pa.table({"image": [bytes(1 << 19)] * 3})
    pq.write_table(table, tmp_path / "a.parquet", compression="zstd", use_dictionary=False)
    rows = done(begun(tmp_path / "a.parquet", tmp_path / "out", FakeReaderSettings()))
    assert {row["error"] for row in rows.values()} == {"PLATES_TOO_LARGE"}


def test_a_subcolumn_that_is_read_along_counts_towards_the_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("plate_nets.batch.sources._LARGEST_GROUP", 1 << 20)
    table = pa.Table.from_arrays([pa.array([GOOD]), pa.array([bytes(1 << 21)])], ["image", "image.more"])
    pq.write_table(table, tmp_path / "a.parquet", compression="zstd")
    with pytest.raises(InputTooLarge, match="row group 0: expected at most 1048576 bytes, got "):
        find_source(str(tmp_path / "a.parquet")).read("0:0")


@pytest.mark.parametrize("kind", [pa.binary(), pa.string()])
def test_empty_rows_are_counted_before_they_are_read(tmp_path: Path, kind: pa.DataType) -> None:
    schema = pa.schema({"image": kind})
    with pq.ParquetWriter(tmp_path / "a.parquet", schema) as writer:
        for count in (5_000_000, 5_000_001):
            writer.write_table(pa.table({"image": pa.nulls(count, kind)}, schema), row_group_size=count)
    assert (tmp_path / "a.parquet").stat().st_size < 50_000
    with pytest.raises(BatchError, match="expected at most 10000000 rows, got 10000001; split the file"):
        next(find_source(str(tmp_path / "a.parquet")).photos())


def test_a_missing_parquet_row_becomes_a_row_with_an_error(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"image": [GOOD] * 100}), path, store_schema=False)
    whole = path.read_bytes()
    footer = len(whole) - 8 - int.from_bytes(whole[-8:-4], "little")
    path.write_bytes(whole[:footer] + whole[footer:].replace(b"\xc8\x01", b"\xca\x01"))  # 101 rows
    rows = done(begun(path, tmp_path / "out", FakeReaderSettings()))
    assert {name: row["error"] for name, row in rows.items() if row["error"]} == {"0:100": UNREADABLE}
    assert (len(rows), rows["0:100"]["message"]) == (101, "the row is missing: the file is damaged")


@pytest.mark.slow
def test_a_folder_of_100_000_names_is_listed_in_little_memory(tmp_path: Path) -> None:
    folder = tmp_path / "photos"
    folder.mkdir()
    for number in range(100_000):
        os.mknod(folder / f"{number}.jpg")
    in_little_memory(list_all, folder, tmp_path / "out")


def list_all(folder: Path, out: Path) -> None:
    assert begun(folder, out, FakeReaderSettings(), shard_size=1000).manifest.photos == 100_000


@pytest.mark.parametrize("make", [Path.touch, lambda path: path.symlink_to("/proc/self")], ids=["file", "unwritable"])
def test_an_unwritable_output_folder_is_reported_in_one_line(
    folder: Path, tmp_path: Path, make: Callable[[Path], None]
) -> None:
    make(tmp_path / "out")
    result = CliRunner().invoke(app, ["batch", str(folder), "--out", str(tmp_path / "out")])
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1), result.stderr
    assert str(tmp_path / "out") in result.stderr
