"""Checks the alerts with Prometheus's own tool. tests/served/test_prometheus.py lets a real one scrape a server."""

import re

import yaml

from tests.packaging.conftest import shell
from tests.paths import ROOT

RULES = ROOT / "deploy" / "prometheus" / "alerts.yaml"
CASES = ROOT / "tests" / "packaging" / "alerts.yaml"


def test_the_prometheus_configuration_is_valid() -> None:
    shell("promtool check config deploy/prometheus/prometheus.yaml", check=True)


def test_each_alert_fires_in_time_and_not_before() -> None:
    shell(f"promtool test rules {CASES}", check=True)


def test_the_alert_for_a_full_queue_has_the_size_from_the_config() -> None:
    config = (ROOT / "model_repository" / "plate_recognition" / "config.pbtxt").read_text("utf-8")
    (longest,) = re.findall(r"max_queue_size: (\d+)", config)
    wanted = f'nv_inference_pending_request_count{{model="plate_recognition"}}) >= {longest}\n'
    assert wanted in RULES.read_text("utf-8")


def test_every_alert_has_a_test_case() -> None:
    alerts = {rule["alert"] for group in yaml.safe_load(RULES.read_text("utf-8"))["groups"] for rule in group["rules"]}
    cases = [case for test in yaml.safe_load(CASES.read_text("utf-8"))["tests"] for case in test["alert_rule_test"]]
    assert {case["alertname"] for case in cases if case.get("exp_alerts")} == alerts
    assert {case["alertname"] for case in cases if not case.get("exp_alerts")} == alerts
