"""deploy/kubernetes, rendered by kustomize: each overlay is consistent, and any fault put into one is found.

There is no cluster here, so nothing was tried on an API server or a node.
"""

import json
from functools import cache
from typing import Any

import pytest
import yaml

from tests.packaging.conftest import kubernetes_tool, shell
from tests.packaging.kubernetes import faults, of_kind, pods_of, rules
from tests.paths import ROOT

KUBERNETES = ROOT / "deploy" / "kubernetes"
OVERLAYS = sorted(path.name for path in (KUBERNETES / "overlays").iterdir())


@cache
def rendered(overlay: str) -> str:
    """The YAML that `kubectl apply -k` would send."""
    return shell(f"{kubernetes_tool('kubectl')} kustomize {KUBERNETES}/overlays/{overlay}", check=True).stdout


def documents(overlay: str) -> list[Any]:
    return [*yaml.safe_load_all(rendered(overlay))]


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_an_overlay_fits_together(overlay: str) -> None:
    assert faults(documents(overlay)) == []


def named(found: list[Any], kind: str, name: str = "plates") -> Any:
    (one,) = [each for each in of_kind(found, kind) if each["metadata"]["name"] == name]
    return one


def pod(found: list[Any]) -> Any:
    return named(found, "Deployment")["spec"]["template"]["spec"]


def container(found: list[Any]) -> Any:
    return pod(found)["containers"][0]


POD = "Deployment.spec.template.spec"
CONTAINER = f"{POD}.containers.0"
REMOVED = "removed"
SEEDED: list[tuple[str, str, object, str]] = [
    ("fleet", "Service.spec.selector", {"app": "plates"}, "Service plates: selector matches no pod"),
    ("fleet", "PodDisruptionBudget.spec.selector.matchLabels", {"app": "plates"}, "Budget plates: selector matches no"),
    ("fleet", "PodMonitor.spec.selector.matchLabels", {"app": "plates"}, "PodMonitor plates: selector matches no pod"),
    ("fleet", f"{CONTAINER}.livenessProbe.httpGet.port", "live", "livenessProbe: no port live"),
    # a stopped process passes it
    ("fleet", f"{CONTAINER}.livenessProbe", {"tcpSocket": {"port": "health"}}, "livenessProbe: asks not by HTTP"),
    ("single", "Service/plates-each.spec.ports.1.port", 8000, "plates-each: port 8000: the container's grpc is 8001"),
    ("fleet", f"{CONTAINER}.resources.limits.memory", "5Gb", "limits: memory: 5Gb is no quantity"),
    ("fleet", f"{CONTAINER}.resources.requests.memory", "500m", "requests: memory: 500m is no quantity"),
    ("fleet", "HorizontalPodAutoscaler.apiVersion", "autoscaling/v2beta2", "v2beta2, expected autoscaling/v2"),
    ("kserve", "ServingRuntime.apiVersion", "serving.kserve.io/v1", "v1, expected serving.kserve.io/v1alpha1"),
    ("fleet", f"{POD}.terminationGraceSeconds", 60, "terminationGraceSeconds"),
    ("fleet", f"{POD}.terminationGracePeriodSeconds", 40, "GracePeriodSeconds: 40, expected 55 or more"),
    ("fleet", f"{CONTAINER}.args.2", "--drain-seconds=15", "does not take them: No such option '--drain-seconds'"),
    ("fleet", f"{CONTAINER}.resources.limits.cpu", REMOVED, "limits: no cpu"),
    ("fleet", f"{CONTAINER}.resources.limits.memory", "4Gi", "memory is less than the 5.1 GiB that a server may take"),
    ("fleet", f"{POD}.volumes.1.emptyDir", {}, "/dev/shm: not in memory"),
    ("fleet", f"{POD}.volumes.0.emptyDir", {}, "/tmp: no emptyDir with a size"),
    ("fleet", f"{CONTAINER}.volumeMounts.1", REMOVED, "volumes tmp, shared-memory are not the mounts tmp"),
    ("fleet", "Deployment.spec.replicas", 2, "plates: replicas are for the Deployment or for an autoscaler to say"),
    ("fleet", "HorizontalPodAutoscaler.spec.scaleTargetRef.name", "plate-nets", "Autoscaler plates: no such target"),
    ("fleet-queue", "HorizontalPodAutoscaler.spec.metrics.0.pods.metric.name", "queue", "plates: nobody records queue"),
    ("fleet", "NetworkPolicy.spec.ingress.0.from", REMOVED, "NetworkPolicy plates: lets everybody in"),
    ("fleet", "PodMonitor.spec.podMetricsEndpoints.0.relabelings", [], "PodMonitor plates: the job is set()"),
    ("kserve", "InferenceService.spec.predictor.model.runtime", "triton", "InferenceService wants the runtime triton"),
    ("batch", "Job/plates-batch.spec.completions", 9, "Job plates-batch: completions: 9, but --parts=8"),
    ("batch", "Job/plates-batch.spec.completionMode", "NonIndexed", "plates-batch: expected completionMode Indexed"),
    ("gpu", f"{CONTAINER}.securityContext.readOnlyRootFilesystem", False, "readOnlyRootFilesystem is False"),
]
"""An overlay, what is put where in it, and the fault that is found."""


@pytest.mark.parametrize(("overlay", "where", "value", "expected"), SEEDED, ids=lambda each: str(each)[:40])
def test_a_seeded_fault_is_found(overlay: str, where: str, value: object, expected: str) -> None:
    found = documents(overlay)
    document, *steps, last = (int(step) if step.isdigit() else step for step in where.split("."))
    place = named(found, *str(document).split("/"))
    for step in steps:
        place = place[step]
    if value is REMOVED:
        del place[last]
    else:
        place[last] = value
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
    same = known.keys() & found.keys()
    assert len(same) >= 4
    assert {name: found[name] for name in same} == {name: known[name] for name in same}


def test_every_part_is_used() -> None:
    used = "".join(path.read_text(encoding="utf-8") for path in KUBERNETES.glob("**/kustomization.yaml"))
    docs = (ROOT / "docs" / "how-to" / "kubernetes.md").read_text(encoding="utf-8")
    for path in (*KUBERNETES.glob("**/*.yaml"), *KUBERNETES.glob("components/*")):
        name = path.name
        assert name in used or name == "kustomization.yaml" or name in docs, name
    for overlay in OVERLAYS:
        assert f"overlays/{overlay}" in docs
