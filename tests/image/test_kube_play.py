"""Runs deploy/kubernetes with `podman kube play`: the pod starts as written, and ends without a failed request.

podman runs the Deployment and ignores what only a cluster has: Services, NetworkPolicy, PodDisruptionBudget, and
probes, whose timers need systemd. Two things must differ from a cluster, see `played`.
"""

import os
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import yaml

from plate_nets.client import PlateClient, WireProtocol
from plate_nets.recognition.health import known_picture
from plate_nets.triton.server import choose_ports
from tests.container import engine
from tests.faults.conftest import LENIENT
from tests.faults.load import Load
from tests.packaging.test_kubernetes import container, documents, pod
from tests.waiting import eventually

pytestmark = pytest.mark.podman

CALLERS = 4
NAME = "plates-pod-0-triton"
"""podman's name for the container."""
GRACE = "60"
"""Seconds; podman does not support terminationGracePeriodSeconds."""


@pytest.fixture(scope="module")
def manifests() -> list[Any]:
    return documents("single")


@pytest.fixture(scope="module")
def ports(manifests: list[Any]) -> dict[str, int]:
    """The ports on this machine, by their names in the manifests."""
    return choose_ports({each["name"]: 0 for each in container(manifests)["ports"]})


@pytest.fixture(scope="module")
def played(manifests: list[Any], ports: dict[str, int], tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The healthy pod.

    podman publishes on all addresses by default. It also turns an emptyDir in memory into a folder on disk that only
    root may write, so this uses a folder in this machine's shared memory.
    """
    for port in container(manifests)["ports"]:
        port.update(hostPort=ports[port["name"]], hostIP="127.0.0.1")
    with TemporaryDirectory(dir="/dev/shm", prefix="plate-nets-test-") as memory:
        Path(memory).chmod(0o1777)
        (volume,) = [each for each in pod(manifests)["volumes"] if each.get("emptyDir", {}).get("medium") == "Memory"]
        del volume["emptyDir"]
        volume["hostPath"] = {"path": memory, "type": "Directory"}
        file = tmp_path_factory.mktemp("kube") / "single.yaml"
        file.write_text(yaml.safe_dump_all(manifests), encoding="utf-8")
        engine("kube", "play", str(file))
        try:
            assert eventually(lambda: health(ports) == 200, 60 * LENIENT), engine("logs", NAME).stderr[-5000:]
            yield
        finally:
            engine("kube", "down", str(file))


def health(ports: dict[str, int]) -> int:
    """The status of /health; 0 if nothing answers."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{ports['health']}/health", timeout=10) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code
    except OSError:
        return 0


def test_the_pod_runs_with_the_declared_privileges_and_limits(played: None, ports: dict[str, int]) -> None:
    template = "{{.HostConfig.ReadonlyRootfs}} {{.Config.User}} {{.EffectiveCaps}} {{.HostConfig.SecurityOpt}}"
    assert inspect(template) == "true 1000:1000 [] [no-new-privileges]"
    assert inspect("{{.HostConfig.Memory}} {{.HostConfig.CpuQuota}}") == f"{5 << 30} 200000"
    protocols: tuple[WireProtocol, ...] = ("http", "grpc")
    for protocol in protocols:
        with PlateClient(f"127.0.0.1:{ports[protocol]}", protocol, timeout=60) as client:
            assert [plate.reading.text for plate in client.read(known_picture().image)] == list(known_picture().texts)


def test_no_request_fails_if_clients_leave_while_it_drains(played: None, ports: dict[str, int]) -> None:
    """Callers leave like those of a Service, which routes to ready pods only."""
    with Load(f"127.0.0.1:{ports['http']}", CALLERS) as load:
        load.wait_for_success(0.0, 2 * CALLERS, 30 * LENIENT)
        stopping = subprocess.Popen([os.environ["ENGINE"], "stop", "--time", GRACE, NAME], stdout=subprocess.DEVNULL)
        assert eventually(lambda: health(ports) == 503, 15)
        load.wait_for_success(load.answers[-1].ended, 2 * CALLERS, 15)
    assert stopping.wait(60) == 0
    assert inspect("{{.State.ExitCode}}") == "0"
    assert load.failed() == [] and not load.wrong


def inspect(template: str) -> str:
    return engine("inspect", "--format", template, NAME).stdout.strip()
