"""How many threads each instance of a model gets."""

import os
import subprocess
import sys
from contextlib import ExitStack

import pytest

from plate_nets.triton.backend import settings
from plate_nets.triton.backend.cores import Cores
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
