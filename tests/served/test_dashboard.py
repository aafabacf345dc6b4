"""The dashboard, and the services around it. test_prometheus.py asks its queries."""

import json
import re
from typing import Any

import yaml

from tests.paths import ROOT

DEPLOY = ROOT / "deploy"
DASHBOARD = json.loads((DEPLOY / "grafana" / "dashboards" / "plates.json").read_text(encoding="utf-8"))
ALERTS = yaml.safe_load((DEPLOY / "prometheus" / "alerts.yaml").read_text(encoding="utf-8"))
RULES = yaml.safe_load((DEPLOY / "kubernetes/components/monitoring/prometheusrule.yaml").read_text(encoding="utf-8"))


def test_a_panel_has_its_own_place_and_the_provisioned_source() -> None:
    (source,) = read("grafana/provisioning/datasources/prometheus.yaml")["datasources"]
    places = [tuple(panel["gridPos"].values()) for panel in DASHBOARD["panels"]]
    assert len(set(places)) == len(places) == len({panel["id"] for panel in DASHBOARD["panels"]})
    assert {panel["datasource"]["uid"] for panel in DASHBOARD["panels"]} == {source["uid"]}


def read(path: str) -> Any:
    return yaml.safe_load((DEPLOY / path).read_text(encoding="utf-8"))


def test_the_services_reach_each_other_and_find_their_files() -> None:
    services = read("compose.yaml")["services"]
    prometheus = read("prometheus/prometheus.yaml")
    targets = prometheus["scrape_configs"][0]["static_configs"][0]["targets"]
    assert len(targets) == 2
    for host, _, port in (target.partition(":") for target in targets):
        assert host in services and any(each.endswith(f":{port}") for each in services[host]["ports"])
    assert [(DEPLOY / "prometheus" / name).is_file() for name in prometheus["rule_files"]] == [True]
    (source,) = read("grafana/provisioning/datasources/prometheus.yaml")["datasources"]
    assert source["url"] == "http://prometheus:9090"
    (provider,) = read("grafana/provisioning/dashboards/plates.yaml")["providers"]
    mounts = {mount.split(":")[1]: mount.split(":")[0] for mount in services["grafana"]["volumes"]}
    assert (DEPLOY / mounts[provider["options"]["path"]] / "plates.json").is_file()


def test_the_images_of_monitoring_are_pinned() -> None:
    services = read("compose.yaml")["services"]
    for name in ("prometheus", "grafana"):
        assert re.fullmatch(r"[\w-]+/[\w-]+:v?\d+\.\d+\.\d+", services[name]["image"])
