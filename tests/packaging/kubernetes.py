"""Finds what a cluster would not report: whether rendered manifests fit each other, the image and `plates serve`.

A schema accepts a selector that matches nothing, a probe of a missing port, `1Gb`, and any custom resource.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import click
import kubernetes_validate  # type: ignore[import-untyped]
import typer.main
from google.protobuf import text_format
from tritonclient.grpc import model_config_pb2

from plate_nets.cli import app
from plate_nets.contract import MODELS
from plate_nets.triton.supervision.health_endpoint import HEALTH, LIVE, METRICS
from plate_nets.triton.supervision.supervisor import GROWTH, SERVER_GROWTH
from tests.paths import ROOT

Document = Mapping[str, Any]

API = {
    "Deployment": "apps/v1",
    "Service": "v1",
    "NetworkPolicy": "networking.k8s.io/v1",
    "PodDisruptionBudget": "policy/v1",
    "HorizontalPodAutoscaler": "autoscaling/v2",
    "Job": "batch/v1",
}
CUSTOM_API = {
    "PodMonitor": "monitoring.coreos.com/v1",
    "PrometheusRule": "monitoring.coreos.com/v1",
    "ServingRuntime": "serving.kserve.io/v1alpha1",
    "InferenceService": "serving.kserve.io/v1beta1",
}
VERSION = "1.34"
"""The version of Kubernetes."""
SERVED = 900 << 20
"""Bytes of a working server, docs/explanation/performance.md."""
START = 180
"""Seconds that a start may take."""
STOPPING = 10
"""Seconds that a stop takes besides draining and requests in flight."""
UNITS = {"": 1, "m": 0.001} | {
    f"{letter}{i}": (1024 if i else 1000) ** power for power, letter in enumerate("kMGT", 1) for i in ("", "i")
}


def quantity(text: object) -> float | None:
    """``500m``, ``2``, ``1Gi`` -> a number; None if it is no quantity of Kubernetes."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)(\D*)", str(text))
    unit = UNITS.get(found[2].replace("Ki", "ki")) if found else None
    return None if found is None or unit is None else float(found[1]) * unit


@dataclass(frozen=True)
class Pods:
    """The pods of a server or a Job: their labels, and their one container."""

    labels: Mapping[str, str]
    spec: Document
    template: Document
    """The parts of a pod's spec that a KServe runtime cannot have."""

    @property
    def container(self) -> Document:
        (found,) = self.spec["containers"]
        return dict(found)

    @property
    def ports(self) -> dict[str, int]:
        return {port["name"]: port["containerPort"] for port in self.container["ports"]}

    def selected(self, labels: Mapping[str, str] | None) -> bool:
        return bool(labels) and labels is not None and labels.items() <= self.labels.items()


def faults(documents: Sequence[Document]) -> list[str]:
    """Rendered manifests -> their faults."""
    try:
        return [*schema_faults(documents), *_faults(documents)]
    except (KeyError, ValueError, TypeError) as error:
        return [*schema_faults(documents), f"cannot be read: {error!r}"]


def schema_faults(documents: Sequence[Document]) -> Iterator[str]:
    """The faults of each document by itself."""
    for each in documents:
        kind, version = each["kind"], each["apiVersion"]
        wanted = (API | CUSTOM_API).get(kind)
        if version != wanted:
            yield f"{kind}: apiVersion {version}, expected {wanted}"
        elif kind in API:
            try:
                kubernetes_validate.validate(dict(each), VERSION, strict=True)
            except kubernetes_validate.ValidationError as error:
                yield f"{kind}: {error.message}"


def _faults(documents: Sequence[Document]) -> Iterator[str]:
    pods = pods_of(documents)
    yield from _rights_faults(pods)
    yield from _amount_faults(pods)
    if not of_kind(documents, "Job"):
        yield from _port_faults(pods)
        yield from _memory_faults(pods)
        yield from _command_faults(pods)
    for each in documents:
        found = _CHECKS[each["kind"]](each, pods, documents) if each["kind"] in _CHECKS else ()
        for fault in (*_selector_faults(each, pods), *found):
            yield f"{each['kind']} {each['metadata']['name']}: {fault}"


def _selector_faults(each: Document, pods: Pods) -> Iterator[str]:
    """Check that a document which is for pods selects those of the servers."""
    if each["kind"] in _SELECTING:
        spec = each["spec"]
        selector = spec["podSelector" if each["kind"] == "NetworkPolicy" else "selector"]
        if not pods.selected(selector if each["kind"] == "Service" else selector.get("matchLabels")):
            yield "selector matches no pod"


def of_kind(documents: Sequence[Document], kind: str) -> list[Document]:
    return [each for each in documents if each["kind"] == kind]


def pods_of(documents: Sequence[Document]) -> Pods:
    """The pods of the Deployment, of the Job, or of KServe's runtime."""
    for each in (*of_kind(documents, "Deployment"), *of_kind(documents, "Job")):
        template = each["spec"]["template"]
        return Pods(template.get("metadata", {}).get("labels", {}), template["spec"], template["spec"])
    (runtime,), (service,) = of_kind(documents, "ServingRuntime"), of_kind(documents, "InferenceService")
    predictor = service["spec"]["predictor"]
    if predictor["model"]["runtime"] != runtime["metadata"]["name"]:
        raise ValueError(f"InferenceService wants the runtime {predictor['model']['runtime']}")
    return Pods({}, runtime["spec"], predictor)


def _rights_faults(pods: Pods) -> Iterator[str]:
    container, spec = pods.container, pods.spec
    rights = {**spec.get("securityContext", {}), **container["securityContext"]}
    wanted = {
        "runAsNonRoot": True,
        "readOnlyRootFilesystem": True,
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    for name, value in wanted.items():
        if rights.get(name) != value:
            yield f"securityContext: {name} is {rights.get(name)}, expected {value}"
    if not rights.get("runAsUser"):
        yield "securityContext: runAsUser is root"
    for name in ("automountServiceAccountToken", "enableServiceLinks"):
        if pods.template.get(name) is not False:
            yield f"{name} is not off"
    if not re.search(r":\d|@sha256:", container["image"]):
        yield f"image {container['image']}: no version"


def _port_faults(pods: Pods) -> Iterator[str]:
    """Faults of ports, probes and placement."""
    container, spec = pods.container, pods.spec
    if len(pods.ports) != len(set(pods.ports.values())) or len(pods.ports) != len(container["ports"]):
        yield "two ports of one name or number"
    for name, path in (("startupProbe", HEALTH), ("readinessProbe", HEALTH), ("livenessProbe", LIVE)):
        probe = container[name].get("httpGet", {})
        if probe.get("path") != path or probe.get("port") != "health":
            yield f"{name}: asks {probe or 'not by HTTP'}, expected {path} at the port health"
        if probe and probe["port"] not in pods.ports:
            yield f"{name}: no port {probe['port']}"
    startup = container["startupProbe"]
    if startup["periodSeconds"] * startup["failureThreshold"] < START:
        yield f"startupProbe: gives up before {START} s"
    for constraint in spec.get("topologySpreadConstraints", ()):
        if not pods.selected(constraint["labelSelector"]["matchLabels"]):
            yield "topologySpreadConstraints: select no pod"


def _amount_faults(pods: Pods) -> Iterator[str]:
    resources = pods.container["resources"]
    for where in ("requests", "limits"):
        for name, text in resources[where].items():
            amount = quantity(text)
            if amount is None or (name != "cpu" and text.endswith("m")):
                yield f"{where}: {name}: {text} is no quantity"
        if missing := {"cpu", "memory"} - resources[where].keys():
            yield f"{where}: no {', '.join(sorted(missing))}"
    limits = resources["limits"]
    for name, text in resources["requests"].items():
        if (quantity(text) or 0.0) > (quantity(limits.get(name)) or float("inf")):
            yield f"requests: {name} is more than the limit"


def _memory_faults(pods: Pods) -> Iterator[str]:
    """Faults of memory, and of volumes, which may be in memory."""
    volumes = {each["name"]: each for each in pods.spec["volumes"]}
    mounts = {each["name"]: each["mountPath"] for each in pods.container["volumeMounts"]}
    if volumes.keys() != mounts.keys():
        yield f"volumes {', '.join(volumes)} are not the mounts {', '.join(mounts)}"
        return
    paths = {path: volumes[name].get("emptyDir", {}) for name, path in mounts.items()}
    sizes = {path: quantity(empty.get("sizeLimit", "none")) for path, empty in paths.items()}
    for path in ("/tmp", "/dev/shm"):
        if sizes.get(path) is None:
            yield f"{path}: no emptyDir with a size"
    if paths.get("/dev/shm", {}).get("medium") != "Memory":
        yield "/dev/shm: not in memory"
    needed = SERVED + SERVER_GROWTH + instances() * GROWTH + (sizes.get("/dev/shm") or 0)
    if (quantity(pods.container["resources"]["limits"].get("memory")) or 0.0) < needed:
        yield f"limits: memory is less than the {needed / 2**30:.1f} GiB that a server may take"


def instances() -> int:
    """How many processes the models of a server have."""
    found = 0
    for model in MODELS:
        text = (ROOT / "model_repository" / model / "config.pbtxt").read_text(encoding="utf-8")
        config = text_format.Parse(text, model_config_pb2.ModelConfig())
        found += sum(group.count for group in config.instance_group)
    return found


def _command_faults(pods: Pods) -> Iterator[str]:
    """Check that `plates serve` accepts the arguments and listens on the declared ports, and that a pod ends within its
    grace period."""
    try:
        given = _given(pods, "serve")
    except ValueError as error:
        yield f"args: {error}"
        return
    listening = {
        next((name for name, number in pods.ports.items() if number == given[f"{service}_port"]), None)
        for service in ("http", "grpc", "metrics", "health")
    }
    if None in listening:
        yield "args: a port that the server listens on is none of the container's"
    if pods.ports.get("health") != given["health_port"] or pods.ports.get("metrics") != given["metrics_port"]:
        yield "args: health or metrics listen at another port than that of their name"
    if given["server"] != "system" or given["address"] != "0.0.0.0":
        yield "args: expected --server=system --address=0.0.0.0, as in the image"
    grace = pods.template.get("terminationGracePeriodSeconds", 30)
    needed = given["drain"] + given["exit_timeout"] + STOPPING
    if grace < needed:
        yield f"terminationGracePeriodSeconds: {grace}, expected {needed:g} or more"
    readiness = pods.container["readinessProbe"]
    if given["drain"] < readiness["periodSeconds"] * readiness["failureThreshold"]:
        yield "args: --drain is over before the readiness probe notices it"


def _given(pods: Pods, wanted: str) -> dict[str, Any]:
    """The options of a `plates` command by name. Raises ValueError if it is another command or does not accept them."""
    program, command, *options = pods.container["args"]
    if (program, command) != ("plates", wanted):
        raise ValueError(f"{program} {command}, expected plates {wanted}")
    try:
        found = typer.main.get_command(app).commands[wanted]  # type: ignore[attr-defined]
        return dict(found.make_context(wanted, list(options)).params)
    except click.ClickException as error:
        raise ValueError(f"plates {wanted} does not take them: {error.message}") from error


def _job(each: Document, pods: Pods, documents: Sequence[Document]) -> Iterator[str]:
    spec = each["spec"]
    if spec.get("completionMode") != "Indexed":
        yield "expected completionMode Indexed: else no pod knows its part"
    if pods.template.get("restartPolicy") != "Never":
        yield "expected restartPolicy Never: only pods that fail are counted by index"
    if (parts := _given(pods, "batch")["parts"]) != spec["completions"]:
        yield f"completions: {spec['completions']}, but --parts={parts}"


def _deployment(each: Document, pods: Pods, documents: Sequence[Document]) -> Iterator[str]:
    spec = each["spec"]
    if ("replicas" in spec) == bool(of_kind(documents, "HorizontalPodAutoscaler")):
        yield "replicas are for the Deployment or for an autoscaler to say"
    rolling = spec.get("strategy", {}).get("rollingUpdate", {})
    if rolling.get("maxSurge") == rolling.get("maxUnavailable"):
        yield "strategy: expected maxSurge or maxUnavailable"


def _service(each: Document, pods: Pods, documents: Sequence[Document]) -> Iterator[str]:
    for port in each["spec"]["ports"]:
        if pods.ports.get(port["targetPort"]) != port["port"] or port["name"] != port["targetPort"]:
            yield f"port {port['port']}: the container's {port['targetPort']} is {pods.ports.get(port['targetPort'])}"


def _network_policy(each: Document, pods: Pods, documents: Sequence[Document]) -> Iterator[str]:
    spec = each["spec"]
    if set(spec["policyTypes"]) != {"Ingress", "Egress"} or spec.get("egress"):
        yield "expected bounds of Ingress and Egress, and no way out"
    for rule in spec["ingress"]:
        if not rule.get("from") or not rule.get("ports"):
            yield "lets everybody in, or to every port"
        for port in rule.get("ports", ()):
            if port["port"] not in pods.ports:
                yield f"no port {port['port']}"
        for peer in rule.get("from", ()):
            if pods.labels.items() & peer.get("podSelector", {}).get("matchLabels", {}).items():
                yield "clients are selected by labels of the servers"


def _budget(each: Document, pods: Pods, documents: Sequence[Document]) -> Iterator[str]:
    if each["spec"].get("maxUnavailable") != 1:
        yield "expected maxUnavailable 1: less lets no node be emptied"


def _autoscaler(each: Document, pods: Pods, documents: Sequence[Document]) -> Iterator[str]:
    spec = each["spec"]
    names = [other["metadata"]["name"] for other in of_kind(documents, "Deployment")]
    known = [{"apiVersion": API["Deployment"], "kind": "Deployment", "name": name} for name in names]
    if spec["scaleTargetRef"] not in known:
        yield f"no such target: {spec['scaleTargetRef']}"
    if not 2 <= spec["minReplicas"] < spec["maxReplicas"]:
        yield "expected 2 or more replicas, and a greater maximum"
    for metric in spec["metrics"]:
        if metric["type"] == "Resource" and metric["resource"]["name"] not in pods.container["resources"]["requests"]:
            yield f"no request of {metric['resource']['name']}"
        recorded = {rule.get("record") for _, rule in rules(documents)}
        if metric["type"] == "Pods" and metric["pods"]["metric"]["name"] not in recorded:
            yield f"nobody records {metric['pods']['metric']['name']}"


def _monitor(each: Document, pods: Pods, documents: Sequence[Document]) -> Iterator[str]:
    if {endpoint["port"] for endpoint in each["spec"]["podMetricsEndpoints"]} != {"metrics", "health"}:
        yield "expected the ports metrics and health"
    for endpoint in each["spec"]["podMetricsEndpoints"]:
        if endpoint["port"] not in pods.ports or endpoint["path"] != METRICS:
            yield f"no {endpoint['path']} at the port {endpoint['port']}"
        jobs = {rule["replacement"] for rule in endpoint["relabelings"] if rule["targetLabel"] == "job"}
        wanted = set(re.findall(r'job="(\w+)"', str([rule["expr"] for _, rule in rules(documents)])))
        if jobs != wanted:
            yield f"the job is {jobs}, the rules ask for {wanted}"


def rules(documents: Sequence[Document]) -> Iterator[tuple[str, Document]]:
    """All rules for Prometheus: name and rule."""
    for each in of_kind(documents, "PrometheusRule"):
        for group in each["spec"]["groups"]:
            for rule in group["rules"]:
                yield rule.get("alert") or rule["record"], rule


_SELECTING = ("Deployment", "Service", "NetworkPolicy", "PodDisruptionBudget", "PodMonitor")
_CHECKS = {
    "Job": _job,
    "Deployment": _deployment,
    "Service": _service,
    "NetworkPolicy": _network_policy,
    "PodDisruptionBudget": _budget,
    "HorizontalPodAutoscaler": _autoscaler,
    "PodMonitor": _monitor,
}
