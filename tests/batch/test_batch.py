"""The core of a batch: every photo is there exactly once, however a run ended before."""

import errno
import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from plate_nets.batch.batch import SUCCESS, at_work_in, begin, finish
from plate_nets.batch.engines import local
from plate_nets.batch.listing import shard_names, unlisted, write_listing
from plate_nets.batch.manifest import MANIFEST, Part
from plate_nets.batch.readers import ReaderSettings
from plate_nets.batch.rows import UNREADABLE
from plate_nets.batch.sources import find_source
from plate_nets.batch.storage import Folder
from plate_nets.batch.verification import verify
from plate_nets.batch.work import Job, ShardWorker
from plate_nets.cli import app
from plate_nets.common.errors import BatchError, ServerUnavailable
from plate_nets.recognition.detection import DetectionSettings
from plate_nets.recognition.reader import FrameLimits
from tests.batch.readers import BAD, DEADLY, GONE, FakeReaderSettings
from tests.paths import ROOT
from tests.waiting import eventually


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    """A folder with a subfolder and 40 photos, one of them bad."""
    folder = tmp_path / "photos"
    for number in range(40):
        path = folder / str(number % 2) / f"{number}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(BAD if number == 7 else b"A%03dAA77" % number)
    (folder / "notes.txt").write_text("not a photo")
    return folder


def begun(source: Path | str, out: Path, reader: ReaderSettings, shard_size: int = 10, column: str = "") -> Job:
    found = find_source(str(source), column)
    return begin(found, str(source), column, Folder(str(out)), reader, shard_size)


def done(job: Job) -> dict[str, dict[str, Any]]:
    """Process all shards in this process -> the rows by path."""
    worker = ShardWorker(job)
    for shard in job.manifest.missing(job.out.names()):
        worker.do(shard)
    worker.close()
    return {row["path"]: row for row in pq.read_table(job.out.address).to_pylist()}


def test_one_row_per_photo_is_written(photos: Path, tmp_path: Path) -> None:
    job = begun(photos, tmp_path / "out", FakeReaderSettings())
    rows = done(job)
    assert len(rows) == 40 == job.manifest.photos
    row = rows["0/2.jpg"]
    assert (row["size"], row["error"], row["model"]) == (8, None, "fake")
    assert row["digest"] == hashlib.sha256(b"A002AA77").hexdigest()
    (plate,) = row["plates"]
    assert (plate["text"], plate["format"], plate["box"]["xmax"]) == ("A002AA77", "private", 30)
    assert plate["characters"] == pytest.approx([0.9] * 8)
    bad = rows["1/7.jpg"]
    assert (bad["error"], bad["message"], bad["plates"]) == ("PLATES_BAD_INPUT", "image: expected a picture", None)
    assert verify(job.out).complete


def test_a_photo_that_disappears_is_a_row(photos: Path, tmp_path: Path) -> None:
    job = begun(photos, tmp_path / "out", FakeReaderSettings())
    (photos / "0/4.jpg").unlink()
    (photos / "0/6.jpg").unlink()
    os.mkfifo(photos / "0/6.jpg")
    rows = done(job)
    assert len(rows) == 40
    assert rows["0/4.jpg"]["error"] == rows["0/6.jpg"]["error"] == UNREADABLE
    assert rows["0/4.jpg"]["message"] == os.strerror(errno.ENOENT)


def test_shards_do_not_depend_on_the_order_of_the_listing(photos: Path, tmp_path: Path) -> None:
    names = [f"{photos}/{number % 2}/{number}.jpg" for number in range(40)]
    digests = set()
    out = Folder(str(tmp_path / "out"))
    for order in (names, names[::-1], names + names[:5]):
        (tmp_path / "list.txt").write_text("\n".join(order))
        listing = write_listing(unlisted(find_source(str(tmp_path / "list.txt")), out), out, 7)
        assert listing.photos == 40
        digests.add(listing.digest)
    assert len(digests) == 1


@pytest.mark.parametrize(
    ("photos", "shard_size", "files"),
    [(13, 3, [3, 3, 3, 3, 1]), (13, 1000, [13]), (12, None, [1] * 12), (40, None, [3] * 13 + [1])],
)
def test_a_shard_has_the_given_number_of_photos(
    photos: int, shard_size: int | None, files: list[int], tmp_path: Path
) -> None:
    (tmp_path / "list.txt").write_text("\n".join(map(str, range(photos))))
    out = Folder(str(tmp_path / "out"))
    listing = write_listing(unlisted(find_source(str(tmp_path / "list.txt")), out), out, shard_size)
    assert [len(shard_names(out, shard)) for shard in range(listing.shards)] == files


def test_a_second_run_reads_missing_and_new_photos(photos: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    job = begun(photos, out, FakeReaderSettings())
    done(job)
    finish(job)
    (out / "shard-000003.parquet").unlink()
    kept = {path.name: path.stat().st_mtime_ns for path in out.glob("shard-*")}
    for number in (50, 51):
        (photos / f"{number}.jpg").write_bytes(b"A%03dAA77" % number)
    (photos / "0/2.jpg").unlink()  # what was read stays
    again = begun(photos, out, FakeReaderSettings(), shard_size=1)
    assert SUCCESS not in again.out.names()
    assert again.manifest.missing(again.out.names()) == [3, 4, 5]
    rows = done(again)
    assert len(rows) == 42 == again.manifest.photos
    assert rows["51.jpg"]["plates"][0]["text"] == "A051AA77"
    assert {path.name: path.stat().st_mtime_ns for path in out.glob("shard-*") if path.name in kept} == kept
    assert verify(Folder(str(out))).complete
    unchanged = begun(photos, out, FakeReaderSettings())
    assert unchanged.manifest == again.manifest


def test_all_parts_use_the_listing_of_the_first(photos: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    out, reader = Folder(str(tmp_path / "out")), FakeReaderSettings()
    begun(photos, tmp_path / "out", reader)
    (photos / "later.jpg").write_bytes(b"later")
    for number in range(2):
        job = begin(find_source(str(photos)), str(photos), "", out, reader, part=Part(number, 2))
        assert job.manifest.photos == 40
    assert caplog.messages == [f"{photos}: new photos: 1; a run without --parts reads them"]


def test_a_single_photo_is_a_batch(photos: Path, tmp_path: Path) -> None:
    (photos / "a.JPG").write_bytes(b"A001AA77")
    rows = done(begun(photos / "a.JPG", tmp_path / "out", FakeReaderSettings()))
    assert rows[str(photos / "a.JPG")]["plates"][0]["text"] == "A001AA77"


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("clip.mp4", b"\0\0\0\x18ftypisom\0\n", "got another file; `plates watch` reads videos"),
        ("empty.txt", b"", "is empty"),
        ("nowhere", None, "no such file or folder"),
    ],
)
def test_a_refused_batch_leaves_no_folder(name: str, content: bytes | None, said: str, tmp_path: Path) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    out = tmp_path / "new" / "out"
    result = CliRunner().invoke(app, ["batch", str(tmp_path / name), "--out", str(out)])
    assert result.exit_code == 2, result.output
    assert result.stderr.startswith(f"plates: {tmp_path / name}: ")
    assert result.stderr.endswith(f"{said}\n") and result.stderr.count("\n") == 1
    assert not out.parent.exists()
    out.mkdir(parents=True)
    (out / "mine.parquet").touch()
    (tmp_path / "a.jpg").touch()
    result = CliRunner().invoke(app, ["batch", str(tmp_path / "a.jpg"), "--out", str(out)])
    assert result.stderr == f"plates: {out}: holds other Parquet files; choose an empty folder\n"
    assert list(out.iterdir()) == [out / "mine.parquet"]


def test_a_run_without_work_also_marks_success(photos: Path, tmp_path: Path) -> None:
    job = begun(photos, tmp_path / "out", FakeReaderSettings())
    finish(job)
    assert SUCCESS not in job.out.names(), "nothing is done yet"
    done(job)
    finish(job)
    assert SUCCESS in job.out.names()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"version": "other"}, "holds a batch with model 'fake', this run has 'other'"),
        ({"scheme": "elsewhere"}, "holds a batch with scheme 'world', this run has 'elsewhere'"),
        ({"sure": 0.95}, "holds a batch with sure None, this run has 0.95"),
        ({"detection": DetectionSettings(detail="far")}, r"with settings {}, this run has {'detail': 'far'}"),
        ({"limits": FrameLimits(max_pixels=9)}, r"with settings {}, this run has {'max_pixels': 9}"),
        ({"vehicles": True}, "holds a batch with vehicles False, this run has True"),
    ],
)
def test_a_batch_refuses_other_settings(photos: Path, tmp_path: Path, change: dict[str, Any], said: str) -> None:
    begun(photos, tmp_path / "out", FakeReaderSettings())
    with pytest.raises(BatchError, match=said):
        begun(photos, tmp_path / "out", FakeReaderSettings(**change))


def test_the_minimum_confidence_applies_to_a_batch(photos: Path, tmp_path: Path) -> None:
    for sure, text in ((0.85, "A002AA77"), (0.95, "")):
        rows = done(begun(photos, tmp_path / str(sure), FakeReaderSettings(sure=sure)))
        (plate,) = rows["0/2.jpg"]["plates"]
        assert (plate["text"], plate["reading"]) == (text, "A002AA77")


def test_a_batch_of_another_format_is_refused(photos: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / MANIFEST).write_text(json.dumps({"format": "plate-batch/9"}))
    with pytest.raises(BatchError, match="expected plate-batch/1"):
        begun(photos, out, FakeReaderSettings())


def test_two_runs_in_one_folder(tmp_path: Path) -> None:
    out = Folder(str(tmp_path / "out"))
    with at_work_in(out), pytest.raises(BatchError, match="another run is already writing here"), at_work_in(out):
        pass
    with at_work_in(out):
        pass
    with pytest.raises(BatchError, match="--part 2: must be less than --parts 2"):
        Part(2, 2)
    unfinished = tmp_path / "out" / ".writing-1"
    with at_work_in(out, Part(0, 2)):
        with at_work_in(out, Part(1, 2)):
            unfinished.touch()
            with pytest.raises(BatchError, match="another run is already writing here"), at_work_in(out):
                pass
        assert unfinished.exists(), "the other part may be writing it"
    assert not unfinished.exists()


def test_invalid_sources_are_refused(tmp_path: Path) -> None:
    reader = FakeReaderSettings()
    (tmp_path / "empty").mkdir()
    with pytest.raises(BatchError, match="empty: contains no photo"):
        begun(tmp_path / "empty", tmp_path / "out", reader)
    (tmp_path / "text.parquet").write_text("x")
    with pytest.raises(BatchError, match=r"text\.parquet: expected a Parquet file"):
        begun(tmp_path / "text.parquet", tmp_path / "out", reader)
    pq.write_table(pa.table({"a": [1]}), tmp_path / "table.parquet")
    with pytest.raises(BatchError, match="expected a column bytes or image or path or file, got a"):
        begun(tmp_path / "table.parquet", tmp_path / "out", reader)
    with pytest.raises(BatchError, match=r"column a: expected paths \(string\) or photos \(binary\), got int64"):
        begun(tmp_path / "table.parquet", tmp_path / "out", reader, column="a")
    with pytest.raises(BatchError, match="must not contain keys") as caught:
        find_source("s3://key:secret@bucket/photos")
    assert "secret" not in str(caught.value)


def test_parquet_with_photos_and_with_paths(photos: Path, tmp_path: Path) -> None:
    reader = FakeReaderSettings()
    table = pa.table({"image": [b"A%03dAA77" % number for number in range(29)] + [None]})
    pq.write_table(table, tmp_path / "photos.parquet", row_group_size=10)
    rows = done(begun(tmp_path / "photos.parquet", tmp_path / "of_photos", reader))
    assert rows["1:5"]["plates"][0]["text"] == "A015AA77"
    assert rows["2:9"]["message"] == "is empty"
    pq.write_table(pa.table({"path": [f"{photos}/0/{n}.jpg" for n in (2, 4)]}), tmp_path / "paths.parquet")
    rows = done(begun(tmp_path / "paths.parquet", tmp_path / "of_paths", reader))
    assert rows[f"{photos}/0/4.jpg"]["plates"][0]["text"] == "A004AA77"


def test_names_that_are_not_utf8(tmp_path: Path) -> None:
    folder = tmp_path / "photos"
    folder.mkdir()
    Path(os.fsdecode(os.fsencode(folder) + b"/\xff.jpg")).write_bytes(b"A001AA77")
    rows = done(begun(folder, tmp_path / "out", FakeReaderSettings()))
    assert rows["\\xff.jpg"]["plates"][0]["text"] == "A001AA77"
    assert verify(Folder(str(tmp_path / "out"))).complete


def test_verify_counts_what_is_wrong(photos: Path, tmp_path: Path) -> None:
    job = begun(photos, tmp_path / "out", FakeReaderSettings())
    done(job)
    first, second = [path for path in (tmp_path / "out").glob("shard-*") if pq.read_metadata(path).num_rows][:2]
    table = pq.read_table(first)
    pq.write_table(pa.concat_tables([table, table.slice(0, 1)]), first)
    missing = pq.read_metadata(second).num_rows
    second.unlink()
    counts = verify(job.out)
    assert (counts.missing, counts.doubled, counts.unknown) == (missing, 1, 0)
    assert not counts.complete


def test_a_full_disk_leaves_no_part_of_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space left"):
        Folder(str(tmp_path)).write("a", b"content")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_missing_server_ends_the_run_and_keeps_its_results(photos: Path, tmp_path: Path) -> None:
    (photos / "0/0.jpg").write_bytes(GONE)
    job = begun(photos, tmp_path / "out", FakeReaderSettings())
    with pytest.raises(ServerUnavailable, match="nobody there"):
        list(local(job, job.manifest.missing(()), 1))
    (photos / "0/0.jpg").write_bytes(b"A000AA77")
    list(local(job, job.manifest.missing(job.out.names()), 1))
    assert verify(job.out).complete


def test_a_killed_worker_is_replaced(photos: Path, tmp_path: Path) -> None:
    (photos / "0/10.jpg").write_bytes(DEADLY)
    job = begun(photos, tmp_path / "out", FakeReaderSettings(killed=tmp_path / "killed"))
    with at_work_in(job.out):
        assert sum(shard.photos for shard in local(job, job.manifest.missing(()), 2)) == 40
    assert (tmp_path / "killed").exists()
    assert verify(job.out).complete
    assert not list((tmp_path / "out").glob(".writing-*"))


@pytest.mark.slow
def test_a_killed_driver_ends_its_workers_and_is_resumed(photos: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    reader = FakeReaderSettings(seconds=0.02)
    begun(photos, out, reader)
    code = (
        "from tests.batch.test_batch import *\n"
        f"job = begun({str(photos)!r}, Path({str(out)!r}), FakeReaderSettings(seconds={reader.seconds}))\n"
        "if __name__ == '__main__':\n"
        "    with at_work_in(job.out): list(local(job, job.manifest.missing(job.out.names()), 2))\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], process_group=0, cwd=ROOT) as driver:
        while not list(out.glob("shard-*")):
            assert driver.poll() is None
            time.sleep(0.01)
        driver.send_signal(signal.SIGKILL)
    assert eventually(lambda: not _group_lives(driver.pid), 60), "workers outlive their driver"
    job = begun(photos, out, reader)
    with at_work_in(job.out):
        list(local(job, job.manifest.missing(job.out.names()), 2))
    assert verify(job.out).complete
    assert not list(out.glob(".writing-*"))


def _group_lives(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True
