"""Batches as a user runs them: the command with the real networks, Ray, an object store, your own pipeline."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from dask.base import compute
from dask.delayed import delayed
from typer.testing import CliRunner

from plate_nets.batch import PlateBatch
from plate_nets.batch.batch import begin
from plate_nets.batch.engines import local, on_ray
from plate_nets.batch.manifest import shard_file
from plate_nets.batch.sources import find_source
from plate_nets.batch.storage import Folder
from plate_nets.batch.verification import verify
from plate_nets.cli import app
from plate_nets.common.errors import BatchError
from plate_nets.recognition.health import known_picture
from tests.batch.readers import DEADLY, FakeReaderSettings
from tests.object_store import VARIABLES, object_store
from tests.serve import Served

pytestmark = pytest.mark.slow

KNOWN = known_picture()
RESULTS = {"a.jpg": sorted(KNOWN.texts), "b.jpg": sorted(KNOWN.texts), "c.jpg": "PLATES_BAD_INPUT"}
"""What is read of `photos`."""


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    """A folder with two copies of the known picture and a file that is no picture."""
    folder = tmp_path / "photos"
    folder.mkdir()
    (folder / "a.jpg").write_bytes(KNOWN.image)
    (folder / "b.jpg").write_bytes(KNOWN.image)
    (folder / "c.jpg").write_bytes(b"no picture")
    return folder


def texts(folder: Path) -> dict[str, list[str] | str]:
    """A result folder -> the texts or the error of each path."""
    rows = pq.read_table(folder).to_pylist()
    return {row["path"]: row["error"] or sorted(plate["text"] for plate in row["plates"]) for row in rows}


def test_command_in_process(photos: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    (photos / "d.tif").write_bytes(b"II*\0")
    first = CliRunner().invoke(app, ["batch", str(photos), "--out", str(out), "--workers", "1"])
    assert first.exit_code == 0, first.output
    assert "3 of 3 photos, 2 plates\n1 photo failed: PLATES_BAD_INPUT\n" in first.stdout
    assert first.stderr.endswith(
        "plates: left out 1 picture of formats that are not read: 1 TIFF (d.tif); convert them to JPEG or PNG\n"
    )
    assert texts(out) == RESULTS
    (out / next(path.name for path in out.glob("shard-*") if pq.read_metadata(path).num_rows)).unlink()
    check = CliRunner().invoke(app, ["batch", str(photos), "--out", str(out), "--verify"])
    assert check.exit_code == 1
    assert re.search(r": \d photos? missing, 0 doubled, 0 not listed\n$", check.stderr)
    other = CliRunner().invoke(app, ["batch", str(tmp_path), "--out", str(out)])
    assert other.exit_code == 2
    assert "holds a batch with source" in other.stderr


def test_command_reads_a_column_by_another_scheme(tmp_path: Path) -> None:
    table, out = tmp_path / "photos.parquet", tmp_path / "out"
    pq.write_table(pa.table({"image": [b"not this one"], "photo": [KNOWN.image]}), table)
    options = ["--column", "photo", "--scheme", "latin", "--workers", "1"]
    run = CliRunner().invoke(app, ["batch", str(table), "--out", str(out), *options])
    assert run.exit_code == 0, run.output
    (row,) = pq.read_table(out).to_pylist()
    assert (row["path"], len(row["plates"])) == ("0:0", len(KNOWN.texts))
    assert json.loads((out / "_manifest.json").read_text())["scheme"] == "latin"


def test_the_command_applies_the_minimum_confidence(photos: Path, tmp_path: Path, served: Served) -> None:
    for name, server in {"process": [], "server": ["--url", served.grpc, "--protocol", "grpc"]}.items():
        options = ["--out", str(tmp_path / name), "--workers", "1", *server]
        run = CliRunner().invoke(app, ["batch", str(photos), *options, "--sure", "0.9999999"])
        assert run.exit_code == 0, run.output
        assert texts(tmp_path / name)["a.jpg"] == [""] * len(KNOWN.texts)
        again = CliRunner().invoke(app, ["batch", str(photos), *options])
        assert (again.exit_code, again.stderr.count("\n")) == (2, 1)
        assert "holds a batch with sure 0.9999999, this run has None" in again.stderr
    wrong = CliRunner().invoke(app, ["batch", str(photos), "--out", str(tmp_path / "wrong"), "--sure", "95"])
    assert (wrong.exit_code, wrong.stderr) == (2, "plates: sure: expected a probability between 0 and 1, got 95.0\n")
    assert not (tmp_path / "wrong").exists()


def test_command_without_an_answer_leaves_no_folder(photos: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    options = ["--url", "127.0.0.1:1", "--protocol", "grpc", "--timeout", "1"]
    run = CliRunner().invoke(app, ["batch", str(photos), "--out", str(out), *options])
    assert (run.exit_code, run.stderr.count("\n")) == (2, 1)
    assert "127.0.0.1:1" in run.stderr and not out.exists()


def test_a_server_reads_the_parts_of_an_indexed_job(photos: Path, tmp_path: Path, served: Served) -> None:
    """Runs like the pods of an Indexed Job, each with its number from the environment. The second part comes first."""
    out = tmp_path / "out"
    command = [sys.executable, "-m", "plate_nets", "batch", str(photos), "--out", str(out), "--url", served.http]
    pods = [
        subprocess.Popen(
            [*command, "--parts=2", "--workers=1"],
            env=os.environ | {"JOB_COMPLETION_INDEX": index},
            stdout=subprocess.PIPE,
            text=True,
        )
        for index in ("1", "0")
    ]
    said = [pod.communicate(timeout=280)[0] for pod in pods]
    assert [pod.returncode for pod in pods] == [0, 0]
    assert sum(int(each.split()[0]) for each in said) == 3, said
    assert texts(out) == RESULTS
    assert json.loads((out / "_manifest.json").read_text())["model"].startswith("yolo:1 stn:1 lprnet:1")
    assert (out / "_SUCCESS").exists()
    assert not list(out.glob(".writing-*"))


@pytest.mark.filterwarnings("ignore::DeprecationWarning:ray")  # a setting of Ray itself
@pytest.mark.alone  # Ray gives its own processes 15 s to start
def test_ray_repeats_the_shard_of_a_killed_worker(tmp_path: Path) -> None:
    photos = tmp_path / "photos"
    photos.mkdir()
    for number in range(12):
        (photos / f"{number}.jpg").write_bytes(DEADLY if number == 5 else b"A001AA77")
    settings = FakeReaderSettings(killed=tmp_path / "killed")
    job = begin(find_source(str(photos)), str(photos), "", Folder(str(tmp_path / "out")), settings, 3)
    assert sum(shard.photos for shard in on_ray(job, job.manifest.missing(()), 2)) == 12
    assert (tmp_path / "killed").exists()
    assert verify(job.out).complete


def test_the_package_runs_in_a_users_own_pipeline(photos: Path) -> None:
    """`PlateBatch` maps over a table, and over Dask's partitions."""
    step = PlateBatch()
    table = step(pa.table({"bytes": [KNOWN.image, b"no picture"]}))
    assert table.column_names == ["bytes", "size", "digest", "error", "message", "milliseconds", "plates"]
    assert sorted(plate["text"] for plate in table["plates"][0].as_py()) == sorted(KNOWN.texts)
    assert table["error"].to_pylist() == [None, "PLATES_BAD_INPUT"]
    by_path = PlateBatch(column="path")
    parts = [pa.table({"path": [str(photos / name)]}) for name in ("a.jpg", "gone.jpg")]
    done = compute(*[delayed(by_path)(part) for part in parts], scheduler="threads", num_workers=1)
    assert [part["error"].to_pylist() for part in done] == [[None], ["PLATES_UNREADABLE"]]


def test_a_photo_that_is_missing_from_a_table_is_an_error_of_its_row() -> None:
    rows = PlateBatch()(pa.table({"bytes": pa.array([None, b"x"], pa.binary())})).to_pylist()
    assert [(row["error"], row["plates"]) for row in rows] == [("PLATES_BAD_INPUT", None)] * 2


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A bucket ``plates`` with photos -> the query part of its addresses."""
    for name, value in VARIABLES.items():
        monkeypatch.setenv(name, value)
    with object_store("plates", {f"photos/{n % 2}/{n}.jpg": b"A%03dAA77" % n for n in range(5)}) as where:
        yield where


def test_object_store(store: str) -> None:
    address, out = f"s3://plates/photos{store}", Folder(f"s3://plates/out{store}")
    job = begin(find_source(address), address, "", out, FakeReaderSettings(), 2)
    list(local(job, job.manifest.missing(()), 1))
    assert verify(out).complete
    assert job.manifest.photos == 5
    again = begin(find_source(address), address, "", out, FakeReaderSettings(), 2)
    assert again.manifest.missing(out.names()) == []
    rows = pq.read_table(out.open(shard_file(0))).to_pylist()
    assert all(row["path"].count("/") == 1 for row in rows)
    other = Folder(f"s3://plates/other{store}")
    with pytest.raises(BatchError, match="nowhere"):
        begin(find_source(f"s3://nowhere/photos{store}"), "", "", other, FakeReaderSettings(), 2)
