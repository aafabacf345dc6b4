"""Run by the Python of `tools/test_homeassistant.sh`: what Home Assistant's own schemas say.

Standard input has a list as JSON, of pairs: the topic of an announcement, below the prefix of discovery, and its
configuration, or "blueprint" and a blueprint's YAML. Standard output has a list with what is wrong with each, or null.
"""

import json
import sys
from typing import Any

import voluptuous
from homeassistant.components.automation.config import PLATFORM_SCHEMA as AUTOMATION
from homeassistant.components.blueprint.models import Blueprint
from homeassistant.components.mqtt import binary_sensor, event, image, sensor, trigger
from homeassistant.components.mqtt.discovery import TOPIC_MATCHER
from homeassistant.exceptions import HomeAssistantError
from homeassistant.util import yaml

KINDS = {"binary_sensor": binary_sensor, "event": event, "image": image, "sensor": sensor}
NAMES = {"triggers": "trigger", "conditions": "condition", "actions": "action"}
"""The keys of an automation since 2024.10, and what they were called before."""


def check(topic: str, config: Any) -> None:
    """Raises if Home Assistant would not take it."""
    if topic == "blueprint":
        check_blueprint(config)
    elif (match := TOPIC_MATCHER.fullmatch(topic)) is None:
        raise ValueError(f"{topic} is no topic of discovery")
    else:
        kind = KINDS[match["component"]]
        kind.PLATFORM_SCHEMA_MODERN(config)  # refuses keys that it does not know, which discovery leaves out
        kind.DISCOVERY_SCHEMA(config)


def check_blueprint(text: str) -> None:
    """Of the automation that its defaults make, too."""
    blueprint = Blueprint(yaml.parse_yaml(text), expected_domain="automation")
    defaults = {name: each["default"] for name, each in blueprint.inputs.items()}
    automation = {
        NAMES.get(key, key): yaml.substitute(value, defaults)
        for key, value in blueprint.data.items()
        if key != "blueprint"
    }
    for each in automation["trigger"]:
        each["platform"] = each.pop("trigger")
        trigger.TRIGGER_SCHEMA(each)
    AUTOMATION(automation)


def fault(topic: str, config: Any) -> str | None:
    try:
        check(topic, config)
    except (voluptuous.Invalid, HomeAssistantError, ValueError) as error:
        return str(error)
    return None


if __name__ == "__main__":
    json.dump([fault(*each) for each in json.load(sys.stdin)], sys.stdout)
