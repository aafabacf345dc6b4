"""What MQTT discovery tells Home Assistant (home-assistant.io/integrations/mqtt): entities by topic, as configurations.

Topics are below the prefix of the discovery; `base` is the sink's topic.
"""

from collections.abc import Iterator, Sequence
from typing import Any, get_args

from plate_nets.events.event import Stage
from plate_nets.events.sinks.channels import escaped, list_topic, zone_topic

Entity = tuple[str, dict[str, Any]]
"""A topic and a configuration."""

_PLATE = "{{ value_json.plate if value_json is defined }}"
"""Whoever clears a retained event sends an empty one."""


def of_camera(base: str, camera: str, zones: Sequence[str], online: Sequence[str], pictures: bool) -> Iterator[Entity]:
    """A sensor with the last plate, an event entity, which changes with each event, a counter of visits and a picture
    if events have one; for each zone the same without the event entity. ``online``: topics of the availability."""
    name = f"{base}_{camera}"
    common = _common(online, name, f"Camera {camera}")
    topic = f"{base}/{camera}"
    yield from _seen(topic, name, "", common, pictures)
    event = {
        "name": "Plate event",
        "event_types": [*get_args(Stage)],
        "state_topic": f"{topic}/event",
        "value_template": "{{ dict(value_json, event_type=value_json.stage) | tojson if value_json is defined }}",
    }
    yield _entity("event", name, common | event)
    for zone in zones:  # ids of cameras have no slash
        yield from _seen(f"{base}/{zone_topic(camera, zone)}", f"{name}/{zone}", zone, common, pictures)


def of_list(base: str, watch_list: str, online: Sequence[str], off_after: int) -> Iterator[Entity]:
    """A binary sensor that goes on with each visit, and off after some seconds, and a counter of visits."""
    name, topic = f"{base}_/{watch_list}", f"{base}/{list_topic(watch_list)}"
    common = _common(online, name, f"List {watch_list}")
    seen = {
        "name": "Seen",
        "state_topic": f"{topic}/event",
        "value_template": "{{ 'ON' if value_json is defined }}",
        "off_delay": off_after,
        "json_attributes_topic": f"{topic}/event",
    }
    yield _entity("binary_sensor", name, common | seen)
    yield _visits(topic, name, "", common)


def _seen(topic: str, name: str, zone: str, common: dict[str, Any], pictures: bool) -> Iterator[Entity]:
    plate = {
        "name": _named(zone, "last plate"),
        "state_topic": f"{topic}/event",
        "value_template": _PLATE,
        "json_attributes_topic": f"{topic}/event",
    }
    yield _entity("sensor", name, common | plate)
    yield _visits(topic, name, zone, common)
    if pictures:
        picture = {
            "name": _named(zone, "last picture"),
            "image_topic": f"{topic}/picture",
            "content_type": "image/jpeg",
        }
        yield _entity("image", name, common | picture)


def _visits(topic: str, name: str, zone: str, common: dict[str, Any]) -> Entity:
    counter = {"name": _named(zone, "visits"), "state_topic": f"{topic}/visits", "state_class": "total_increasing"}
    return _entity("sensor", f"{name}:visits", common | counter | {"icon": "mdi:counter"})


def _named(zone: str, what: str) -> str:
    return f"{zone} {what}" if zone else what.capitalize()


def _entity(kind: str, name: str, config: dict[str, Any]) -> Entity:
    # Home Assistant ignores topics with any other character, such as the dots of a camera's address
    return f"{kind}/{escaped(name, r'[^a-zA-Z0-9_-]')}/config", config | {"unique_id": name}


def _common(online: Sequence[str], device: str, device_name: str) -> dict[str, Any]:
    return {
        "availability": [{"topic": topic} for topic in online],
        "availability_mode": "all",
        "icon": "mdi:car",
        "device": {"identifiers": [device], "name": device_name, "manufacturer": "plate-nets"},
    }
