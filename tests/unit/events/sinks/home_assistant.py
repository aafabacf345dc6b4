"""Home Assistant's own schemas accept what is announced, and the blueprint: run by `make test-homeassistant`."""

import json
import subprocess
from collections.abc import Callable, Iterable
from contextlib import closing
from typing import Any

import pytest

from plate_nets.events.sinks.home_assistant import Entity
from tests.broker import Broker
from tests.events import event
from tests.paths import ROOT
from tests.unit.events.sinks.test_mqtt import CAMERAS, recent, said_of

THEIRS = ROOT / "out" / "homeassistant" / "bin" / "python"
BLUEPRINT = (ROOT / "docs" / "how-to" / "open_the_gate.yaml").read_text(encoding="utf-8")
PREFIX = "homeassistant/"


def faults(asked: Iterable[tuple[str, Any]]) -> list[str | None]:
    """Topics with their configurations, or "blueprint" with its YAML -> what is wrong with each."""
    command = [THEIRS, ROOT / "tests" / "home_assistant_schemas.py"]
    answer = subprocess.run(command, input=json.dumps([*asked]), capture_output=True, text=True)
    assert answer.returncode == 0, answer.stderr
    return list(json.loads(answer.stdout))


@pytest.fixture(scope="module")
def announced(tmp_path_factory: pytest.TempPathFactory) -> list[Entity]:
    """All that our MQTT sink announces, of cameras with different names."""
    found: list[Entity] = []
    for camera in CAMERAS:
        folder = tmp_path_factory.mktemp("site")
        with closing(Broker(folder)) as broker:
            said = said_of(recent(event(listed=True, zone="drive", camera=camera)), broker, folder)
        found += [
            (topic.removeprefix(PREFIX), json.loads(text)) for topic, text in said.items() if topic.startswith(PREFIX)
        ]
    return found


def test_the_schemas_accept_the_announcements(announced: list[Entity]) -> None:
    assert {topic.partition("/")[0] for topic, _ in announced} == {"sensor", "binary_sensor", "image", "event"}
    assert faults(announced) == [None] * 9 * len(CAMERAS)


Change = Callable[[dict[str, Any]], object]


@pytest.mark.parametrize(
    ("kinds", "change", "fault"),
    [
        (("sensor", "binary_sensor", "image", "event"), lambda each: each.update(colour="red"), "extra keys"),
        (("sensor", "binary_sensor", "event"), lambda each: each.pop("state_topic"), "required key"),
        (("image",), lambda each: each.pop("image_topic"), "image_topic"),
        (("binary_sensor",), lambda each: each.update(off_delay="soon"), "expected int"),
        (("binary_sensor",), lambda each: each.update(off_delay=-1), "value must be at least 0"),
        (("sensor",), lambda each: each.update(state_class="rising"), "state_class"),
        (("event",), lambda each: each.pop("event_types"), "required key"),
        (("sensor", "binary_sensor", "event"), lambda each: each.update(state_topic="gate/#/event"), "wildcard"),
        (("sensor", "binary_sensor", "event"), lambda each: each.update(value_template="{{ value_json."), "template"),
        (("sensor", "binary_sensor", "image", "event"), lambda each: each["device"].update(owner="Ann"), "extra keys"),
    ],
)
def test_the_schemas_refuse_what_is_wrong(
    announced: list[Entity], kinds: tuple[str, ...], change: Change, fault: str
) -> None:
    wrong = [(topic, json.loads(json.dumps(config))) for topic, config in announced if topic.split("/")[0] in kinds]
    for _, config in wrong:
        change(config)
    found = faults(wrong)
    assert found and [each for each in found if fault not in str(each)] == []


def test_a_topic_with_a_dot_is_refused(announced: list[Entity]) -> None:
    ((_, config), *_) = announced
    assert faults([("sensor/192.168.1.20/config", config)]) == ["sensor/192.168.1.20/config is no topic of discovery"]


def test_the_blueprint_is_accepted() -> None:
    assert faults([("blueprint", BLUEPRINT)]) == [None]


@pytest.mark.parametrize(
    ("right", "wrong", "fault"),
    [
        ("  domain: automation\n", "", "required key not provided"),
        ("!input certainty", "!input certainly", "Missing input definition for certainly"),
        ("number:", "numbr:", "Unknown selector type numbr"),
        ("trigger: mqtt", "trigger: mqt", "data['platform']"),
        ("    topic: !input topic", "    topics: !input topic", "data['topics']"),
        ("mode: queued", "mode: queud", "data['mode']"),
        ("condition: template", "condition: templat", "Unexpected value for condition: 'templat'"),
        ("score >= certainty }}", "score >= }}", "invalid template"),
    ],
)
def test_what_is_wrong_in_a_blueprint_is_found(right: str, wrong: str, fault: str) -> None:
    assert right in BLUEPRINT
    (found,) = faults([("blueprint", BLUEPRINT.replace(right, wrong, 1))])
    assert fault in str(found)
