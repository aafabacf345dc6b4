"""The cores of a container, from files of /proc and /sys as Linux, Docker and Kubernetes write them."""

import os
from pathlib import Path

import pytest

from plate_nets.common.errors import ContractError
from plate_nets.triton.backend.quota import usable_cores

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
