"""deploy/helm, linted and rendered by helm: it gives what kustomize gives, and refuses what cannot work."""

import subprocess
from collections.abc import Sequence
from typing import Any

import pytest
import yaml

from tests.packaging.conftest import kubernetes_tool, shell
from tests.packaging.kubernetes import faults
from tests.packaging.test_kubernetes import container, documents, named, pod
from tests.paths import ROOT

CHART = ROOT / "deploy" / "helm" / "plate-nets"


def template(*values: str, check: bool = True) -> "subprocess.CompletedProcess[str]":
    settings = " ".join(f"--set={value}" for value in values)
    return shell(f"{kubernetes_tool('helm')} template plates {CHART} {settings}", check=check)


def rendered(*values: str) -> list[Any]:
    return [each for each in yaml.safe_load_all(template(*values).stdout) if each]


def by_name(found: Sequence[Any]) -> dict[tuple[str, str], Any]:
    return {(each["kind"], each["metadata"]["name"]): each for each in found}


def test_the_chart_passes_helm_s_own_linter() -> None:
    shell(f"{kubernetes_tool('helm')} lint --strict {CHART}", check=True)


@pytest.mark.parametrize(
    ("values", "overlay"),
    [(["replicas=1"], "single"), (["autoscaling=true", "monitoring=true"], "fleet"), (["gpu=true"], "gpu")],
)
def test_the_chart_gives_what_an_overlay_gives(values: list[str], overlay: str) -> None:
    assert by_name(rendered(*values)) == by_name(documents(overlay))


def test_an_image_settings_and_models_of_your_own_are_used() -> None:
    digest = f"sha256:{'0' * 64}"
    own = ["models.claim=mine", "models.accessMode=ReadOnlyMany", "env.PLATES_CORES=2"]
    found = rendered(f"image.digest={digest}", "image.repository=registry.example/plates", *own)
    assert faults(found) == []
    assert container(found)["image"] == f"registry.example/plates@{digest}"
    variables = {each["name"]: each["value"] for each in container(found)["env"]}
    assert variables == {"PLATES_CORES": "2", "PLATES_MODEL_REPOSITORY": "/models"}
    assert pod(found)["volumes"][-1]["persistentVolumeClaim"] == {"claimName": "mine", "readOnly": True}
    assert container(rendered("image.tag=gpu"))["image"] == "plate-nets:gpu"


def test_one_server_with_a_claim_of_one_node_stops_before_the_next_starts() -> None:
    found = rendered("models.claim=mine", "replicas=1")
    assert named(found, "Deployment")["spec"]["strategy"]["rollingUpdate"] == {"maxSurge": 0, "maxUnavailable": 1}


@pytest.mark.parametrize(
    ("values", "says"),
    [
        (["models.claim=mine"], "one node can mount the claim mine, but there may be 2 servers"),
        (["models.claim=mine", "replicas=1", "autoscaling=true"], "but there may be 8 servers"),
        (["models.claim=mine", "models.accessMode=ReadWriteOncePod"], "but there may be 2 servers"),
        (["models.accessMode=Sometimes"], "accessMode"),
        (["replicas=0"], "replicas"),
        (["replica=2"], "replica"),
        (["image.digest=sha256:1"], "digest"),
    ],
)
def test_values_that_cannot_work_are_refused(values: list[str], says: str) -> None:
    result = template(*values, check=False)
    assert result.returncode == 1
    assert says in result.stderr


def test_the_version_is_the_package_s() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text(encoding="utf-8"))
    base = yaml.safe_load((CHART / "files/base/kustomization.yaml").read_text(encoding="utf-8"))
    assert [each["newTag"] for each in base["images"]] == [chart["version"]] == [chart["appVersion"]]
