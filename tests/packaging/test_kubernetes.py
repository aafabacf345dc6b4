"""deploy/kubernetes, rendered by kustomize: each overlay is consistent, and any fault put into one is found.

There is no cluster here, so nothing was tried on an API server or a node.
"""

import copy
import json
import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.packaging.kubernetes import faults, of_kind, pods_of, rules
from tests.paths import ROOT

KUBERNETES = ROOT / "deploy" / "kubernetes"
OVERLAYS = sorted(path.name for path in (KUBERNETES / "overlays").iterdir())


@cache
def rendered(overlay: str) -> str:
    """The YAML that `kubectl apply -k` would send."""
    tool = subprocess.run([ROOT / "tools" / "kubernetes.sh", "kubectl"], capture_output=True, text=True)
    assert tool.returncode == 0, tool.stderr
    command = [tool.stdout.strip(), "kustomize", str(KUBERNETES / "overlays" / overlay)]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return result.stdout


def documents(overlay: str) -> list[Any]:
    return [copy.deepcopy(each) for each in yaml.safe_load_all(rendered(overlay))]


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_an_overlay_fits_together(overlay: str) -> None:
    assert faults(documents(overlay)) == []


def named(found: list[Any], kind: str, name: str = "plates") -> Any:
    (one,) = [each for each in of_kind(found, kind) if each["metadata"]["name"] == name]
    return one


def container(found: list[Any]) -> Any:
    return named(found, "Deployment")["spec"]["template"]["spec"]["containers"][0]


def pod(found: list[Any]) -> Any:
    return named(found, "Deployment")["spec"]["template"]["spec"]


SEEDED: dict[str, tuple[str, Callable[[list[Any]], object], str]] = {
    "a selector that matches nothing": (
        "fleet",
        lambda d: named(d, "Service")["spec"].update(selector={"app": "plates"}),
        "Service plates: selector matches no pod",
    ),
    "of the budget": (
        "fleet",
        lambda d: named(d, "PodDisruptionBudget")["spec"]["selector"].update(matchLabels={"app": "plates"}),
        "PodDisruptionBudget plates: selector matches no pod",
    ),
    "of the monitor": (
        "fleet",
        lambda d: named(d, "PodMonitor")["spec"]["selector"].update(matchLabels={"app": "plates"}),
        "PodMonitor plates: selector matches no pod",
    ),
    "a probe of a port that is not there": (
        "fleet",
        lambda d: container(d)["livenessProbe"]["httpGet"].update(port="live"),
        "livenessProbe: no port live",
    ),
    "a liveness probe by TCP, which a stopped process passes": (
        "fleet",
        lambda d: container(d).update(livenessProbe={"tcpSocket": {"port": "health"}}),
        "livenessProbe: asks not by HTTP",
    ),
    "a port of another number": (
        "single",
        lambda d: named(d, "Service", "plates-each")["spec"]["ports"][1].update(port=8000),
        "Service plates-each: port 8000: the container's grpc is 8001",
    ),
    "a unit of no quantity": (
        "fleet",
        lambda d: container(d)["resources"]["limits"].update(memory="5Gb"),
        "limits: memory: 5Gb is no quantity",
    ),
    "thousandths of a byte": (
        "fleet",
        lambda d: container(d)["resources"]["requests"].update(memory="500m"),
        "requests: memory: 500m is no quantity",
    ),
    "a version of the API that is gone": (
        "fleet",
        lambda d: named(d, "HorizontalPodAutoscaler").update(apiVersion="autoscaling/v2beta2"),
        "HorizontalPodAutoscaler: apiVersion autoscaling/v2beta2, expected autoscaling/v2",
    ),
    "a custom resource's": (
        "kserve",
        lambda d: named(d, "ServingRuntime").update(apiVersion="serving.kserve.io/v1"),
        "ServingRuntime: apiVersion serving.kserve.io/v1, expected serving.kserve.io/v1alpha1",
    ),
    "a field that is none": (
        "fleet",
        lambda d: pod(d).update(terminationGraceSeconds=60),
        "terminationGraceSeconds",
    ),
    "a grace that ends before the drain": (
        "fleet",
        lambda d: pod(d).update(terminationGracePeriodSeconds=40),
        "terminationGracePeriodSeconds: 40, expected 55 or more",
    ),
    "an option that plates serve does not have": (
        "fleet",
        lambda d: container(d)["args"].append("--drain-seconds=15"),
        "args: plates serve does not take them: No such option '--drain-seconds'",
    ),
    "no processor limit": (
        "fleet",
        lambda d: container(d)["resources"]["limits"].pop("cpu"),
        "limits: no cpu",
    ),
    "memory that shared memory and growth do not fit in": (
        "fleet",
        lambda d: container(d)["resources"]["limits"].update(memory="4Gi"),
        "limits: memory is less than the 5.1 GiB that a server may take",
    ),
    "the usual shared memory": (
        "fleet",
        lambda d: pod(d)["volumes"][1].update(emptyDir={}),
        "/dev/shm: not in memory",
    ),
    "a temporary folder without bound": (
        "fleet",
        lambda d: pod(d)["volumes"][0].update(emptyDir={}),
        "/tmp: no emptyDir with a size",
    ),
    "a volume that nobody mounts": (
        "fleet",
        lambda d: container(d)["volumeMounts"].pop(),
        "volumes tmp, shared-memory are not the mounts tmp",
    ),
    "replicas beside an autoscaler": (
        "fleet",
        lambda d: named(d, "Deployment")["spec"].update(replicas=2),
        "Deployment plates: replicas are for the Deployment or for an autoscaler to say",
    ),
    "an autoscaler of something else": (
        "fleet",
        lambda d: named(d, "HorizontalPodAutoscaler")["spec"]["scaleTargetRef"].update(name="plate-nets"),
        "HorizontalPodAutoscaler plates: no such target",
    ),
    "a metric that nobody records": (
        "fleet-queue",
        lambda d: named(d, "HorizontalPodAutoscaler")["spec"]["metrics"][0]["pods"]["metric"].update(name="queue"),
        "HorizontalPodAutoscaler plates: nobody records queue",
    ),
    "a policy that lets everybody in": (
        "fleet",
        lambda d: named(d, "NetworkPolicy")["spec"]["ingress"][0].pop("from"),
        "NetworkPolicy plates: lets everybody in",
    ),
    "a job that the alerts do not know": (
        "fleet",
        lambda d: named(d, "PodMonitor")["spec"]["podMetricsEndpoints"][0].update(relabelings=[]),
        "PodMonitor plates: the job is set()",
    ),
    "a runtime that does not exist": (
        "kserve",
        lambda d: named(d, "InferenceService")["spec"]["predictor"]["model"].update(runtime="triton"),
        "InferenceService wants the runtime triton",
    ),
    "more pods than parts": (
        "batch",
        lambda d: named(d, "Job", "plates-batch")["spec"].update(completions=9),
        "Job plates-batch: completions: 9, but --parts=8",
    ),
    "a job whose pods do not know their part": (
        "batch",
        lambda d: named(d, "Job", "plates-batch")["spec"].update(completionMode="NonIndexed"),
        "Job plates-batch: expected completionMode Indexed",
    ),
    "a root file system that can be written": (
        "gpu",
        lambda d: container(d)["securityContext"].update(readOnlyRootFilesystem=False),
        "readOnlyRootFilesystem is False",
    ),
}


@pytest.mark.parametrize("fault", SEEDED)
def test_a_seeded_fault_is_found(fault: str) -> None:
    overlay, put, expected = SEEDED[fault]
    found = documents(overlay)
    put(found)
    assert expected in "\n".join(faults(found))


def test_kserve_runs_what_the_deployment_runs() -> None:
    deployed, runtime = (pods_of(documents(overlay)) for overlay in ("single", "kserve"))
    for same in ("image", "startupProbe", "readinessProbe", "livenessProbe", "resources", "volumeMounts"):
        assert deployed.container[same] == runtime.container[same]
    assert deployed.spec["volumes"] == runtime.spec["volumes"]
    own = [each for each in runtime.container["args"] if not each.startswith(("--http-port", "--grpc-port"))]
    assert own == deployed.container["args"]


def test_a_gpu_is_requested() -> None:
    assert pods_of(documents("gpu")).container["resources"]["limits"]["nvidia.com/gpu"] == "1"


def test_the_pod_runs_the_command_of_the_image() -> None:
    lines = (ROOT / "Dockerfile").read_text(encoding="utf-8").splitlines()
    command = json.loads([line for line in lines if line.startswith("CMD ")][-1].removeprefix("CMD "))
    args = pods_of(documents("single")).container["args"]
    words = " ".join(args).replace("=", " ").split()
    assert words[: len(command)] == command


def test_alerts_of_the_same_name_are_the_same() -> None:
    alerts = yaml.safe_load((ROOT / "deploy" / "prometheus" / "alerts.yaml").read_text(encoding="utf-8"))
    known = {rule["alert"]: rule for group in alerts["groups"] for rule in group["rules"]}
    found = dict(rules(documents("fleet")))
    assert len(known.keys() & found.keys()) >= 4
    for name in known.keys() & found.keys():
        assert found[name] == known[name]


def test_every_part_is_used() -> None:
    used = "".join(path.read_text(encoding="utf-8") for path in KUBERNETES.glob("**/kustomization.yaml"))
    docs = (ROOT / "docs" / "how-to" / "kubernetes.md").read_text(encoding="utf-8")
    for path in (*KUBERNETES.glob("**/*.yaml"), *KUBERNETES.glob("components/*")):
        name = Path(path).name
        assert name in used or name == "kustomization.yaml" or name in docs, name
    for overlay in OVERLAYS:
        assert f"overlays/{overlay}" in docs
