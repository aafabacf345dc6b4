"""The dashboard and the alerts: every metric and label value that they query exists on a real server."""

import json
import re
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from plate_nets.cameras.metrics import WatchStatus
from plate_nets.cameras.watcher import Watcher
from plate_nets.client import PlateClient
from plate_nets.common.errors import InputError
from plate_nets.events.sinks.recorder import Recorder
from plate_nets.events.sinks.settings import JsonlSettings
from plate_nets.recognition.health import known_picture
from plate_nets.recognition.local import LocalReader
from plate_nets.triton.supervision.health_endpoint import HealthEndpoint
from tests.clips import smeared, write_clip
from tests.paths import ROOT
from tests.serve import Serve, Start

DEPLOY = ROOT / "deploy"
DASHBOARD = json.loads((DEPLOY / "grafana" / "dashboards" / "plates.json").read_text(encoding="utf-8"))
ALERTS = yaml.safe_load((DEPLOY / "prometheus" / "alerts.yaml").read_text(encoding="utf-8"))
RULES = yaml.safe_load((DEPLOY / "kubernetes/components/monitoring/prometheusrule.yaml").read_text(encoding="utf-8"))
QUERIES = [
    *((panel["title"], target["expr"]) for panel in DASHBOARD["panels"] for target in panel["targets"]),
    *((rule["alert"], rule["expr"]) for group in ALERTS["groups"] for rule in group["rules"]),
    *((rule.get("alert", ""), rule["expr"]) for group in RULES["spec"]["groups"] for rule in group["rules"]),
]
OF_PROMETHEUS = {"up"}
"""Metrics that Prometheus itself adds to a scrape."""
LABELS_OF_PROMETHEUS = {"job", "namespace", "pod"}
"""Labels that Prometheus adds."""

Metrics = dict[str, list[dict[str, str]]]
"""Name -> the labels of each of its series."""


@pytest.fixture(scope="module")
def metrics(start: Start, reader: LocalReader, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Metrics]:
    """What Prometheus finds on a real server and its supervisor, after a good and a bad request."""
    serve = start(tmp_path_factory.mktemp("serve"), ())
    try:
        with PlateClient(serve.http_url) as client:
            client.health()
            with pytest.raises(InputError):
                client.read(b"no picture")
            wait_until_serving(serve)
            found = scrape(serve.addresses["metrics"]) | scrape(supervisor_metrics(serve))
            assert len(client.read(known_picture().image)) == len(known_picture().texts)
        yield found | watch_metrics(reader, tmp_path_factory.mktemp("watch"))
    finally:
        serve.close()


def watch_metrics(reader: LocalReader, folder: Path) -> Metrics:
    """What Prometheus finds on `plates watch` after a video file."""
    clip = write_clip(folder / "gate.mp4", smeared(3))
    recorder = Recorder(folder / "outbox.sqlite", [JsonlSettings(path=folder / "events.jsonl")], pytest.fail)
    with Watcher(reader, str(clip)) as watcher:
        list(watcher)
        status = WatchStatus(watcher.status, recorder.deliveries)
        endpoint = HealthEndpoint(status, "127.0.0.1", 0, status)
        found = scrape(endpoint.url.replace("/health", "/metrics"))
        endpoint.close()
    recorder.close()
    return found


def supervisor_metrics(serve: Serve) -> str:
    return serve.addresses["health"].replace("/health", "/metrics")


def scrape(url: str) -> Metrics:
    found: Metrics = {}
    with urllib.request.urlopen(url, timeout=10) as answer:
        for line in answer.read().decode().splitlines():
            if not line.startswith("#"):
                name, _, rest = line.rpartition(" ")[0].partition("{")
                found.setdefault(name, []).append(dict(re.findall(r'(\w+)="([^"]*)"', rest)))
    return found


def wait_until_serving(serve: Serve) -> None:
    deadline = time.monotonic() + 60
    while not serve.events("serving"):
        assert time.monotonic() < deadline, "the supervisor recognises nothing"
        time.sleep(0.1)


def selectors(query: str) -> list[tuple[str, dict[str, tuple[str, str]]]]:
    """PromQL -> its metrics, each with label -> operator and value."""
    query = re.sub(r"\b(by|without|on|ignoring)\s*\([^)]*\)|\[[^\]]*\]", " ", query)
    found = re.findall(r"([a-zA-Z_:][\w:]*)\b(?!\s*\()\s*(\{[^}]*\})?", re.sub(r"\b\d+(\.\d+)?(e\d+)?\b", " ", query))
    words = {"and", "or", "unless", "group_left", "group_right", "bool", "offset"}
    return [
        (
            name,
            {label: (sign, value) for label, sign, value in re.findall(r'(\w+)\s*(=~|!=|!~|=)\s*"([^"]*)"', matchers)},
        )
        for name, matchers in found
        if name not in words
    ]


def test_selectors_are_found() -> None:
    query = (
        'sum by (le) (rate(a_total{code=~"x|y", b="z"}[5m])) / ignoring(stage) group_left sum(rate(c[$__rate])) > 1e6'
    )
    assert selectors(query) == [("a_total", {"code": ("=~", "x|y"), "b": ("=", "z")}), ("c", {})]


@pytest.mark.parametrize(("title", "query"), QUERIES, ids=[f"{title}-{n}" for n, (title, _) in enumerate(QUERIES)])
def test_a_query_names_what_exists(metrics: Metrics, title: str, query: str) -> None:
    asked = selectors(query)
    assert asked, title
    for name, matchers in asked:
        if name in OF_PROMETHEUS:
            continue
        assert name in metrics, f"{title}: no metric {name}"
        for label, (sign, value) in matchers.items():
            if label in LABELS_OF_PROMETHEUS:
                continue
            wanted = value.split("|") if sign in ("=~", "!~") else [value]
            there = {series.get(label) for series in metrics[name]}
            assert set(wanted) <= there, f"{title}: {name} has {label} {there}, not {wanted}"
    grouped = {label.strip() for labels in re.findall(r"\bby \(([^)]*)\)", query) for label in labels.split(",")}
    known = LABELS_OF_PROMETHEUS | {label for name, _ in asked for series in metrics.get(name, []) for label in series}
    assert grouped <= known, f"{title}: groups by {grouped - known}"
    assert query.count("(") == query.count(")")


def test_every_metric_is_on_the_dashboard_and_in_the_docs(metrics: Metrics) -> None:
    ours = {re.sub(r"_(bucket|sum|count)$", "", name) for name in metrics if name.startswith("plates_")}
    shown = {re.sub(r"_(bucket|sum|count)$", "", name) for _, query in QUERIES for name, _ in selectors(query)}
    assert ours <= shown
    document = (DEPLOY.parent / "docs" / "reference" / "metrics.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| `(\w+)`", document, re.M)) == ours


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


def test_monitoring_is_on_loopback_read_only_and_pinned() -> None:
    services = read("compose.yaml")["services"]
    for name in ("prometheus", "grafana"):
        service = services[name]
        assert all(port.startswith("127.0.0.1:") for port in service["ports"])
        assert re.fullmatch(r"[\w-]+/[\w-]+:v?\d+\.\d+\.\d+", service["image"])
        assert service["read_only"] and service["cap_drop"] == ["ALL"]
