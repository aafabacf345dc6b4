"""How many threads each instance of a model gets; and the cores of a container, from files of /proc and /sys as Linux,
Docker and Kubernetes write them.
"""

import os
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

from plate_nets.common.errors import ContractError
from plate_nets.triton.backend import settings
from plate_nets.triton.backend.cores import Cores
from plate_nets.triton.backend.quota import usable_cores
from plate_nets.triton.backend.settings import ModelArgs, NetworkSettings


@pytest.fixture(autouse=True)
def eight_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "usable_cores", lambda: 8)


def args(instances: int, name: str = "yolo") -> ModelArgs:
    return ModelArgs(name=name, folder="", gpu=None, instances=instances, parameters={})


def test_one_instance_gets_all_cores_and_each_further_one_a_share() -> None:
    instances = [Cores(args(3), NetworkSettings()) for _ in range(4)]
    assert instances[0].choices == {8, 4, 2}
    with ExitStack() as stack:
        assert [stack.enter_context(each.taken()) for each in instances] == [8, 4, 2, 2]
        with Cores(args(3, "stn"), NetworkSettings()).taken() as threads:
            assert threads == 8, "another model's instances do not count"
    with instances[1].taken() as threads:
        assert threads == 8


def test_instances_can_release_their_cores_in_any_order() -> None:
    first, second, third = (Cores(args(2), NetworkSettings()) for _ in range(3))
    with ExitStack() as outer:
        with first.taken():
            assert outer.enter_context(second.taken()) == 4
        with third.taken() as threads:
            assert threads == 4


def test_a_set_number_of_threads_is_kept() -> None:
    cores = Cores(args(2), NetworkSettings(threads=3))
    assert cores.choices == {3}
    with cores.taken() as threads, Cores(args(2), NetworkSettings(threads=3)).taken() as further:
        assert (threads, further) == (3, 3)


def test_a_killed_instance_releases_its_share_of_the_cores() -> None:
    """Its process stands for another process of this one's server, because both have the same parent."""
    code = (
        "import os, sys\n"
        "os.getppid = lambda: int(sys.argv[1])\n"
        "from plate_nets.triton.backend.cores import Cores\n"
        "from plate_nets.triton.backend.settings import ModelArgs, NetworkSettings\n"
        "cores = Cores(ModelArgs('yolo', '', None, 2, {}), NetworkSettings())\n"
        "with cores.taken():\n"
        "    print('taken', flush=True)\n"
        "    sys.stdin.read()\n"
    )
    command = [sys.executable, "-c", code, str(os.getppid())]
    mine = Cores(args(2), NetworkSettings())
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "taken\n"
        with mine.taken() as threads:
            assert threads == 4
        other.kill()
    with mine.taken() as threads:
        assert threads == 8


CORES = 64


@pytest.fixture(autouse=True)
def large_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(CORES)))


def machine(tmp_path: Path, cgroup: str, mounts: str, files: dict[str, str]) -> Path:
    """A /proc/self whose control groups are mounted below the temporary folder (``{}``)."""
    proc = tmp_path / "proc"
    proc.mkdir()
    (proc / "cgroup").write_text(cgroup, encoding="utf-8")
    (proc / "mountinfo").write_text(mounts.replace("{}", str(tmp_path / "sys")), encoding="utf-8")
    for name, text in files.items():
        file = tmp_path / "sys" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return proc


V2 = "30 23 0:26 / {} rw,nosuid - cgroup2 cgroup2 rw\n"
V1 = "36 30 0:31 ROOT {}/cpu,cpuacct ro,nosuid - cgroup cgroup rw,cpu,cpuacct\n"
MEMORY = "37 30 0:32 / {}/memory ro - cgroup cgroup rw,memory\n"
V1_FILES = {"cpu,cpuacct/cpu.cfs_quota_us": "300000\n", "cpu,cpuacct/cpu.cfs_period_us": "100000\n"}


@pytest.mark.parametrize(
    ("cgroup", "mounts", "files", "cores"),
    [
        ("0::/\n", V2, {"cpu.max": "200000 100000\n"}, 2),
        ("0::/\n", V2, {"cpu.max": "max 100000\n"}, CORES),
        ("0::/\n", V2, {"cpu.max": "250000 100000\n"}, 2),
        ("0::/\n", V2, {"cpu.max": "50000 100000\n"}, 1),
        ("0::/a/b\n", V2, {"a/cpu.max": "300000 100000\n", "a/b/cpu.max": "max 100000\n"}, 3),
        ("0::/a/b\n", V2, {"a/cpu.max": "max 100000\n", "a/b/cpu.max": "400000 100000\n"}, 4),
        ("0::/../other\n", V2, {"cpu.max": "500000 100000\n"}, 5),
        ("4:cpu,cpuacct:/\n", V1.replace("ROOT", "/"), V1_FILES, 3),
        # a container without its own namespace: the path is the host's, and the mount starts there
        ("3:memory:/docker/7\n4:cpu,cpuacct:/docker/7\n", MEMORY + V1.replace("ROOT", "/docker/7"), V1_FILES, 3),
        ("4:cpu,cpuacct:/\n", V1.replace("ROOT", "/"), {"cpu,cpuacct/cpu.cfs_quota_us": "-1\n"}, CORES),
        ("0::/\n", V2, {}, CORES),
        ("0::/\n", V2, {"cpu.max": "nonsense\n"}, CORES),
    ],
)
def test_a_quota_limits_the_cores(tmp_path: Path, cgroup: str, mounts: str, files: dict[str, str], cores: int) -> None:
    assert usable_cores({}, machine(tmp_path, cgroup, mounts, files)) == cores


def test_without_proc_the_affinity_counts(tmp_path: Path) -> None:
    assert usable_cores({}, tmp_path / "nowhere") == CORES


@pytest.mark.parametrize(("setting", "cores"), [("3", 3), ("99", 64), ("", 64)])
def test_an_environment_variable_limits_the_cores(tmp_path: Path, setting: str, cores: int) -> None:
    assert usable_cores({"PLATES_CORES": setting}, tmp_path) == cores


@pytest.mark.parametrize("setting", ["0", "-1", "2.5", "two"])
def test_a_setting_that_is_not_a_number_is_refused(tmp_path: Path, setting: str) -> None:
    with pytest.raises(ContractError, match=f"PLATES_CORES: expected a whole number of 1 or more, got '{setting}'"):
        usable_cores({"PLATES_CORES": setting}, tmp_path)
