"""`plates batch` with the real networks, killed with ``kill -9`` at random moments and started again."""

import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
from ray.cluster_utils import Cluster

from plate_nets.batch.batch import SUCCESS
from plate_nets.batch.storage import Folder
from plate_nets.batch.verification import verify
from plate_nets.common.atomic_files import UNFINISHED
from plate_nets.recognition.health import known_picture
from tests.faults.beside import say

pytestmark = [
    pytest.mark.soak,
    pytest.mark.timeout(1800),
    pytest.mark.filterwarnings("ignore::DeprecationWarning:ray"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),  # for Ray's own processes
]

KILLS = 10
PHOTOS = 120
ENDED_WITHIN = 180.0
"""Seconds that a run may take, including the time until Ray notices that a machine is gone."""


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    """A folder with many copies of the known picture."""
    folder = tmp_path / "photos"
    folder.mkdir()
    (folder / "0.jpg").write_bytes(known_picture().image)
    for number in range(1, PHOTOS):
        (folder / f"{number}.jpg").hardlink_to(folder / "0.jpg")
    return folder


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    """A Ray cluster of two machines, both of them this one, with one core each."""
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    cluster.add_node(num_cpus=1)
    cluster.wait_for_nodes()
    yield cluster
    cluster.shutdown()


def kills(photos: Path, folder: Path, options: list[str], kill: Callable[[psutil.Process], bool]) -> str:
    """Run a batch, kill at a random moment, run it again and check the result; `KILLS` times -> what happened.

    ``kill``: the command's process -> whether there was something to kill.
    """
    rng = random.Random(photos.name)
    command = [sys.executable, "-m", "plate_nets", "batch", str(photos), "--shard-size=5", "--workers=2", *options]
    began = time.monotonic()
    subprocess.run([*command, "--out", str(folder / "whole")], check=True, timeout=ENDED_WITHIN, capture_output=True)
    whole = time.monotonic() - began
    killed = survived = 0
    left: list[int] = []
    longest = 0.0
    while killed < KILLS:
        out = folder / str(time.monotonic_ns())
        with psutil.Popen([*command, "--out", str(out)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as run:
            time.sleep(rng.uniform(0, whole))
            while not (hit := kill(run)) and run.poll() is None:
                time.sleep(0.01)
            moment = time.monotonic()
            run.communicate(timeout=ENDED_WITHIN)
        longest = max(longest, time.monotonic() - moment)
        killed += hit
        survived += hit and run.returncode == 0
        left.append(len(list(out.glob("shard-*"))))
        again = subprocess.run([*command, "--out", str(out)], timeout=ENDED_WITHIN, capture_output=True, text=True)
        assert again.returncode == 0, again.stderr
        counts = verify(Folder(str(out)))
        assert (counts.rows, counts.complete, counts.errors.total()) == (PHOTOS, True, 0)
        assert (out / SUCCESS).exists()
        assert not list(out.glob(f"{UNFINISHED}*"))
    return (
        f"{killed} killed, {survived} runs went on by themselves within {longest:.0f} s; shards before the second "
        f"run: {sorted(left)}; every photo once, no temporary file"
    )


def end(process: psutil.Process) -> bool:
    """Send SIGKILL -> whether the process existed."""
    try:
        process.kill()
    except psutil.NoSuchProcess:
        return False
    return True


def local_worker(run: psutil.Process) -> bool:
    """A process of the pool."""
    try:
        pool = [each for each in run.children() if "spawn_main" in " ".join(each.cmdline())]
    except psutil.NoSuchProcess:
        return False
    return bool(pool) and end(random.choice(pool))


def ray_worker(_: psutil.Process) -> bool:
    """An actor that reads, on this test's own cluster."""
    own = {each.pid for each in psutil.Process().children(recursive=True)}
    found = [each for each in psutil.process_iter(["cmdline"]) if each.pid in own]
    actors = [each for each in found if "MapWorker" in " ".join(each.info["cmdline"] or ())]
    return bool(actors) and end(random.choice(actors))


@pytest.mark.parametrize("victim", ["worker", "driver"])
def test_every_photo_is_there_once_after_kills_in_the_pool(
    photos: Path, tmp_path: Path, victim: str, capsys: pytest.CaptureFixture[str]
) -> None:
    said = kills(photos, tmp_path, [], {"worker": local_worker, "driver": end}[victim])
    say(capsys, f"{victim} of the pool: {said}")


@pytest.mark.parametrize("victim", ["worker", "driver", "node"])
def test_every_photo_is_there_once_after_kills_in_ray(
    photos: Path, tmp_path: Path, victim: str, cluster: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    def node(run: psutil.Process) -> bool:
        (node,) = cluster.worker_nodes
        cluster.remove_node(node, allow_graceful=False)
        cluster.add_node(num_cpus=1)
        return run.is_running()

    options = ["--engine", "ray", "--ray-address", cluster.address]
    said = kills(photos, tmp_path, options, {"worker": ray_worker, "driver": end, "node": node}[victim])
    say(capsys, f"{victim} of Ray: {said}")
