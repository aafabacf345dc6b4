"""MQTT with a real broker, mosquitto: acknowledged, announced, and tolerant of its absence."""

import contextlib
import json
import queue
import re
import resource
import shutil
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
import yaml
from jinja2 import Environment
from jsonschema import Draft202012Validator
from paho.mqtt.client import Client, MQTTMessage
from paho.mqtt.enums import MQTTErrorCode, _ConnectionState

from plate_nets.cameras.frigate_messages import events_of_frigate
from plate_nets.common.contexts import Closing
from plate_nets.common.errors import InputError, SinkError
from plate_nets.events.event import Images, PlateEvent
from plate_nets.events.sinks.base import Record, Site
from plate_nets.events.sinks.delivery import Delivery, finish_all
from plate_nets.events.sinks.home_assistant import of_camera, of_list
from plate_nets.events.sinks.mqtt import MqttSink
from plate_nets.events.sinks.mqtt_connection import Broker as MqttBroker
from plate_nets.events.sinks.outbox import Outbox
from plate_nets.events.sinks.recorder import Recorder
from plate_nets.events.sinks.settings import MqttSettings
from tests.broker import Broker
from tests.events import event, later, record
from tests.faults.conftest import LENIENT
from tests.paths import ROOT
from tests.unit.events.sinks.conftest import Answer, Hostile, sends, sends_and_waits
from tests.waiting import eventually

RIGHT_SECONDS = 5.0
"""Promised maximum until Home Assistant knows which cameras there are, and which are available."""
EMPTY: Mapping[str, Any] = MappingProxyType({})


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Broker]:
    with closing(Broker(tmp_path)) as broker:
        yield broker


def until(messages: "queue.Queue[MQTTMessage]", topic: str, text: str) -> list[MQTTMessage]:
    """The messages up to the first with this topic and text."""
    found: list[MQTTMessage] = []
    while not found or (found[-1].topic, found[-1].payload.decode()) != (topic, text):
        found.append(messages.get(timeout=30))
    return found


def recent(each: PlateEvent) -> PlateEvent:
    """The event of a car that is there now."""
    return replace(each, last_seen=datetime.now(UTC))


def records(*numbers: int) -> list[Record]:
    return [record(event(number), number + 1) for number in numbers]


def test_events_arrive_in_order_and_the_camera_is_announced(broker: Broker) -> None:
    _, messages = broker.subscribe()
    with MqttSink(broker.url()) as sink:
        sink.send(records(0, 1))
        sink.send(records(2))
    found = until(messages, "site/plates/status", "offline")
    assert [each.payload for each in found if each.topic == "site/plates/gate/event"] == [
        event(number).to_json().encode() for number in range(3)
    ]
    assert [each.payload for each in found if each.topic == "site/plates/status"] == [b"online", b"offline"]
    announced = {each.topic: json.loads(each.payload) for each in found if each.topic.startswith("homeassistant/")}
    entities = ("sensor/site-2f-plates_gate", "sensor/site-2f-plates_gate-3a-visits", "event/site-2f-plates_gate")
    assert set(announced) == {f"homeassistant/{each}/config" for each in entities}
    states = {config["state_topic"] for config in announced.values()}
    assert states == {"site/plates/gate/event", "site/plates/gate/visits"}
    assert {each.qos for each in found} == {1}


def fields(**values: Any) -> dict[str, Any]:
    """The JSON schema of an object that has no other keys."""
    return {"type": "object", "properties": values, "additionalProperties": False}


TEXT = {"type": "string", "minLength": 1}
TEXTS = {"type": "array", "items": TEXT, "minItems": 1}
TOPIC = {"type": "string", "pattern": r"\A[^\x00-\x1f\x7f-\x9f+#]+\Z"}  # ours have no wildcard
DEVICE = fields(identifiers=TEXTS, name=TEXT, manufacturer=TEXT) | {"minProperties": 3}
ENTITY = {
    **dict.fromkeys(("name", "unique_id", "availability_mode"), TEXT),
    "availability": {"type": "array", "items": fields(topic=TOPIC) | {"required": ["topic"]}, "minItems": 1},
    "icon": {"type": "string", "pattern": r"\A[\w-]+:[\w-]+\Z"},
    "device": DEVICE,
}
STATE = {
    **ENTITY,
    **dict.fromkeys(("state_topic", "json_attributes_topic"), TOPIC),
    **dict.fromkeys(("value_template", "json_attributes_template"), TEXT),
}
ENTITIES = {
    "sensor": fields(**STATE, state_class={"enum": ["measurement", "total", "total_increasing"]}),
    "binary_sensor": fields(**STATE, off_delay={"type": "integer", "exclusiveMinimum": 0}),
    "image": fields(**ENTITY, image_topic=TOPIC, content_type={"enum": ["image/jpeg", "image/png"]}),
    "event": fields(**STATE, event_types=TEXTS),
}
"""By kind, the keys that we use of those that Home Assistant knows, and their values.

https://www.home-assistant.io/integrations/sensor.mqtt/, event.mqtt/, binary_sensor.mqtt/, image.mqtt/

`make test-homeassistant` asks its own schemas.
"""


DISCOVERY_TOPIC = re.compile(r"homeassistant/(sensor|event|binary_sensor|image)/([a-zA-Z0-9_-]+)/config")


def render(template: str, **values: object) -> str:
    return Environment().from_string(template).render(**values)


CAMERAS = ["gate", "192.168.1.20-ch1", "двор"]


def said_of(car: PlateEvent, broker: Broker, folder: Path) -> dict[str, str]:
    """The last message of each topic, of a site that has every kind of entity, and this car with its picture."""
    (folder / "a.jpg").write_bytes(b"JPEG")
    _, messages = broker.subscribe()
    zones = {car.camera_id: [visit.zone for visit in car.zones]}
    site = {"zones": zones, "lists": ["staff"], "pictures": folder}
    with Program(folder / "watch", broker.url(), {car.camera_id: True}, site) as program:
        program.recorder.record(replace(car, images=Images(frame="a.jpg")))
        heard = until(messages, "site/plates/lists/staff/visits", "1")
    heard += until(messages, "site/plates/status", "offline")
    return {each.topic: each.payload.decode() for each in heard}


@pytest.mark.parametrize("camera", CAMERAS)
def test_home_assistant_accepts_the_announcements(broker: Broker, tmp_path: Path, camera: str) -> None:
    car = recent(event(listed=True, zone="drive", camera=camera))
    said = said_of(car, broker, tmp_path)
    announced = [(found[1], json.loads(said[topic])) for topic in said if (found := DISCOVERY_TOPIC.fullmatch(topic))]
    of_places = ("sensor {}last plate", "sensor {}visits", "image {}last picture")
    assert sorted(f"{kind} {config['name'].lower()}" for kind, config in announced) == sorted(
        ["event plate event", "binary_sensor seen", "sensor visits"]
        + [each.format(zone) for zone in ("", "drive ") for each in of_places]
    )
    for kind, config in announced:
        Draft202012Validator(ENTITIES[kind]).validate(config)
        for name in config.keys() & {"value_template", "json_attributes_template"}:
            assert Environment().from_string(config[name]), "it compiles"
        # Home Assistant's default for "not available"
        assert {said[each["topic"]] for each in config["availability"]} == {"offline"}
        assert config["availability_mode"] == "all"
        state = said[config.get("state_topic") or config["image_topic"]]
        if kind == "image":
            assert state == "JPEG"
        elif "value_template" not in config:
            assert state == "1"
        else:
            text = render(config["value_template"], value_json=json.loads(state))
            assert render(config["value_template"]) == ""
            if kind == "event":
                assert json.loads(text) == json.loads(state) | {"event_type": car.stage}
                assert car.stage in config["event_types"]
            else:
                assert text == ("ON" if kind == "binary_sensor" else car.plate)


class Loader(yaml.SafeLoader):
    """YAML of Home Assistant."""


Loader.add_constructor("!input", lambda _, node: Input(node.value))


class Input(str):
    """The value of a blueprint's input."""


def inputs_of(value: object) -> set[str]:
    """The inputs that a part of a blueprint uses."""
    if isinstance(value, (dict, list)):
        return set().union(*map(inputs_of, value.values() if isinstance(value, dict) else value))
    return {str(value)} if isinstance(value, Input) else set()


def test_the_blueprint_opens_the_gate_on_what_is_published(broker: Broker, tmp_path: Path) -> None:
    text = (ROOT / "docs" / "how-to" / "open_the_gate.yaml").read_text(encoding="utf-8")
    blueprint = yaml.load(text, Loader)
    head = blueprint.pop("blueprint")
    # https://www.home-assistant.io/docs/blueprint/schema/ and /docs/automation/yaml/
    assert head.keys() == {"name", "description", "domain", "homeassistant", "input"} and head["domain"] == "automation"
    assert blueprint.keys() == {"mode", "triggers", "variables", "conditions", "actions"}
    assert blueprint["mode"] in ("single", "restart", "queued", "parallel")
    for each in head["input"].values():
        assert each.keys() == {"name", "description", "default", "selector"}
        assert each["selector"].keys() < {"text", "number", "action"} and len(each["selector"]) == 1
    assert inputs_of(blueprint) == set(head["input"])
    assert blueprint["triggers"] == [{"trigger": "mqtt", "topic": "topic"}]
    (condition,) = blueprint["conditions"]
    assert condition.keys() == {"condition", "value_template"} and condition["condition"] == "template"

    _, messages = broker.subscribe()
    topic = head["input"]["topic"]["default"].replace("plates/", "site/plates/")
    late, car = event(1, listed=True), recent(event(2, listed=True))
    with Program(tmp_path, broker.url(), {"gate": True}, {"lists": ["staff"]}, retain=True) as program:
        for each in (event(0), late, car, later(car)):
            program.recorder.record(each)
        told = [each for each in until(messages, "site/plates/lists/staff/visits", "2") if each.topic == topic]
    told += [each for each in until(messages, "site/plates/status", "offline") if each.topic == topic]
    assert [(each.payload.decode(), each.retain) for each in told] == [(car.to_json(), False)]
    trigger = {"payload_json": json.loads(told[0].payload)}
    for certainty, opens in ((0.99, "True"), (0.995, "False")):
        assert render(condition["value_template"], trigger=trigger, certainty=certainty) == opens
    values = [render(blueprint["variables"][name], trigger=trigger) for name in ("plate", "label", "camera")]
    assert values == [car.plate, "Ann", "gate"]


def test_cameras_with_one_name_and_different_topics_are_announced_separately() -> None:
    plain, other = (list(of_camera(topic, "gate", (), (), False)) for topic in ("plates", "site/plates"))
    topic, config = plain[0]
    assert topic == "sensor/plates_gate/config" and config["unique_id"] == "plates_gate"  # those of 1.0
    for (topic, config), (other_topic, other_config) in zip(plain, other, strict=True):
        assert topic != other_topic
        assert config["unique_id"] != other_config["unique_id"]
        assert config["device"]["identifiers"] != other_config["device"]["identifiers"]


def test_no_two_entities_share_a_topic_or_an_id() -> None:
    cameras, zones = ("a", "a_b", "a.b", "lists"), ("b", "b_visits", "visits")
    entities = [each for camera in cameras for each in of_camera("site", camera, zones, (), True)]
    entities += [each for name in ("a", "b", "a:visits") for each in of_list("site", name, (), 10)]
    assert len({topic for topic, _ in entities}) == len(entities) == 4 * (4 + 3 * 3) + 3 * 2
    assert len({(topic.partition("/")[0], config["unique_id"]) for topic, config in entities}) == len(entities)


def test_a_missing_broker_is_reported_and_used_once_it_is_back(broker: Broker) -> None:
    with MqttSink(broker.url(), discovery=None) as sink:
        sink.send(records(0))
        broker.stop()
        with pytest.raises(SinkError):
            sink.send(records(1))
        with pytest.raises(SinkError, match=r"^no answer: Connection refused$"):
            sink.send(records(1))
        broker.start()
        _, messages = broker.subscribe()
        sink.send(records(1))
        found = until(messages, "site/plates/gate/event", event(1).to_json())
    said = {each.topic: each.payload for each in found}
    assert said["site/plates/status"] == said[sink.process_topic] == said["site/plates/gate/status"] == b"online"


def test_the_sink_publishes_online_before_the_first_event(broker: Broker, tmp_path: Path) -> None:
    broker.stop()
    said: queue.Queue[str] = queue.Queue()
    with closing(Outbox(tmp_path / "outbox.sqlite", ["mqtt"])) as outbox:
        delivery = Delivery("mqtt", MqttSink(broker.url()), outbox, said.put, first_pause=0.1)
        assert "records wait" in said.get(timeout=30)
        broker.start()
        assert said.get(timeout=30) == "mqtt: takes records again"
        _, messages = broker.subscribe()
        until(messages, "site/plates/status", "online")  # retained
        assert finish_all([delivery], 30) == []


def test_a_broker_that_refuses_is_quoted_without_the_password(broker: Broker) -> None:
    with MqttSink(broker.url("wrong")) as sink, pytest.raises(SinkError, match="refuses: Not authorized") as failed:
        sink.send(records(0))
    assert "wrong" not in str(failed.value)


@pytest.mark.parametrize(
    "url", ["http://u:secret@host", "mqtt://u:secret@", "mqtt://u:secret@host:x", "mqtt://host/a+"]
)
def test_an_impossible_address_is_refused(url: str) -> None:
    with pytest.raises(InputError, match=r"^mqtt: expected") as refused:
        MqttSink(url)
    assert "secret" not in str(refused.value)


CONNACK = b"\x20\x02\x00\x00"


def test_closing_does_not_wait_for_a_reconnection(hostile: Hostile, monkeypatch: pytest.MonkeyPatch) -> None:
    connected, lost, go_on = threading.Event(), threading.Event(), threading.Event()
    reconnect = Client.reconnect

    def reconnect_slowly(client: Client) -> MQTTErrorCode:
        if connected.is_set():
            lost.set()
            assert go_on.wait(60)
        return reconnect(client)

    def broker(connection: socket.socket) -> None:
        if connected.is_set():
            sends_and_waits(b"")(connection)
        else:
            connection.sendall(CONNACK)
            connected.set()

    monkeypatch.setattr(Client, "reconnect", reconnect_slowly)
    sink = MqttSink(f"mqtt://{hostile(broker)}/plates", timeout=30)
    connection = sink._open(sink.process_topic)
    assert lost.wait(60)
    client, closing = connection._client, threading.Thread(target=connection.close)
    closing.start()
    assert eventually(lambda: client._state == _ConnectionState.MQTT_CS_DISCONNECTED, 60)
    go_on.set()
    closing.join(30)  # paho alone would wait 60 s for a silent broker
    assert not closing.is_alive()


HUGE_MESSAGE = sends(CONNACK + b"\x30\xff\xff\xff\x7f\x00\x01a", bytes(1 << 20))


@pytest.mark.parametrize(
    "broker",
    [
        sends(b""),
        sends_and_waits(b""),
        sends_and_waits(CONNACK),
        sends_and_waits(bytes(range(256)) * 16),
        sends(b"\x20\xff\xff\xff\x7f", bytes(1 << 20)),
        HUGE_MESSAGE,
        sends(CONNACK, b"\x32\x08\x00\x01a\x00\x01abc" * 1000),
    ],
    ids=["closes", "silent", "never acknowledges", "garbage", "huge answer", "huge message", "flood"],
)
def test_a_misbehaving_broker_is_reported_and_fills_no_memory(hostile: Hostile, broker: Answer) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with MqttSink(f"mqtt://{hostile(broker)}/plates", timeout=1) as sink:
        for _ in range(2):
            with pytest.raises(SinkError, match=r"^(no answer|no acknowledgement|connection lost)"):
                sink.send(records(0))
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000, "kB"


def test_a_long_message_to_a_listener_fills_no_memory(hostile: Hostile) -> None:
    said: list[str] = []
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    broker = MqttBroker.parse(f"mqtt://{hostile(HUGE_MESSAGE)}", "frigate")
    with events_of_frigate(broker, lambda payload: None, said.append):
        assert eventually(lambda: any("connection lost" in each for each in said), 60), said
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000, "kB"


class Program(Closing):
    """A `plates watch` as the broker sees it. ``site``: more of what the `Site` has."""

    def __init__(
        self, folder: Path, url: str, cameras: dict[str, bool], site: Mapping[str, Any] = EMPTY, **settings: Any
    ) -> None:
        folder.mkdir(exist_ok=True)
        self.cameras = cameras
        self.said: list[str] = []
        self.recorder = Recorder(folder / "outbox.sqlite", [MqttSettings(url=url, **settings)], self.said.append)
        self.recorder.follow(Site(lambda: dict(self.cameras), **site))

    def close(self) -> None:
        self.recorder.close()


class Home:
    """What Home Assistant would know, from the messages of a broker."""

    def __init__(self, broker: Broker) -> None:
        self._client, self._messages = broker.subscribe()
        self.said: dict[str, str] = {}
        """The last message of each topic; empty ones are deleted."""
        self.fired: list[str] = []
        """Events that were not retained."""

    def forget(self) -> None:
        """Restart: only what is retained comes again."""
        self.said.clear()
        self._client.unsubscribe("#")
        self._client.subscribe("#", qos=1)

    def last(self, topic: str) -> str | None:
        """The last message of a topic."""
        self._listen()
        return self.said.get(topic)

    def entities(self) -> dict[str, bool]:
        """Entities as "kind camera", with whether they are available."""
        self._listen()
        found = {}
        for topic, text in self.said.items():
            if kind := DISCOVERY_TOPIC.fullmatch(topic):
                config = json.loads(text)
                camera = config["device"]["name"].removeprefix("Camera ")
                found[f"{kind[1]} {camera}"] = all(
                    self.said.get(each["topic"]) == "online" for each in config["availability"]
                )
        return found

    def shows(self, **cameras: bool) -> bool:
        """Whether it has both entities of these cameras and no others in time, each as available as given."""
        expected = {f"{kind} {camera}": online for camera, online in cameras.items() for kind in ("sensor", "event")}
        return eventually(lambda: self.entities() == expected, RIGHT_SECONDS * LENIENT)

    def _listen(self) -> None:
        with contextlib.suppress(queue.Empty):
            while True:
                message = self._messages.get_nowait()
                self.said[message.topic] = message.payload.decode(errors="replace")
                if message.topic.endswith("/event") and not message.retain and message.payload:
                    self.fired.append(message.topic)
                if not message.payload:
                    del self.said[message.topic]


@pytest.fixture
def home(broker: Broker) -> Home:
    return Home(broker)


def test_a_lost_camera_is_unavailable_and_the_others_are_not(broker: Broker, home: Home, tmp_path: Path) -> None:
    with Program(tmp_path, broker.url(), {"gate": False, "yard": False}) as program:
        assert home.shows(gate=False, yard=False)
        program.cameras = {"gate": True, "yard": True}
        assert home.shows(gate=True, yard=True)
        program.cameras["gate"] = False
        assert home.shows(gate=False, yard=True)
    assert home.shows(gate=False, yard=False)


def test_the_events_of_a_lost_camera_come_before_it_is_unavailable(broker: Broker, tmp_path: Path) -> None:
    _, messages = broker.subscribe()
    with Program(tmp_path, broker.url(), {"gate": True}) as program:
        until(messages, "site/plates/gate/status", "online")
        program.cameras["gate"] = False
        program.recorder.record(event(1))
        topics = [each.topic for each in until(messages, "site/plates/gate/status", "offline")]
    assert "site/plates/gate/event" in topics


@pytest.mark.parametrize("cameras", [{"yard": True}, {"gate": True}])
def test_a_second_program_that_ends_leaves_the_first_as_it_is(
    broker: Broker, home: Home, tmp_path: Path, cameras: dict[str, bool]
) -> None:
    with Program(tmp_path / "first", broker.url(), {"gate": True}):
        assert home.shows(gate=True)
        with Program(tmp_path / "second", broker.url(), cameras):
            assert home.shows(**{"gate": True, **cameras})
        assert home.shows(**{**dict.fromkeys(cameras, False), "gate": True})
        assert eventually(lambda: home.last("site/plates/status") == "online", 30)


def test_two_programs_with_one_id_do_not_take_each_other_away(broker: Broker, home: Home, tmp_path: Path) -> None:
    """The second's outbox is a copy of the first's, and so is its id on the broker."""
    Program(tmp_path / "first", broker.url(), {"gate": True}).close()
    shutil.copytree(tmp_path / "first", tmp_path / "second")
    with Program(tmp_path / "first", broker.url(), {"gate": True}):
        assert home.shows(gate=True)
        with Program(tmp_path / "second", broker.url(), {"yard": True}):
            assert home.shows(gate=True, yard=True)
        assert home.shows(gate=True, yard=False)


@pytest.mark.parametrize(
    ("cameras", "settings"),
    [
        ({"yard": True}, {}),
        ({"gate": True}, {"discovery": None}),
        ({"gate": True}, {"url": "/other"}),
        ({"gate": True}, {}),
    ],
    ids=["renamed", "discovery off", "another topic", "no zone and list"],
)
def test_nothing_is_left_of_what_is_gone(
    broker: Broker, home: Home, tmp_path: Path, cameras: dict[str, bool], settings: dict[str, Any]
) -> None:
    (tmp_path / "a.jpg").write_bytes(b"JPEG")
    site = {"zones": {"gate": ["drive"]}, "lists": ["staff"], "pictures": tmp_path}
    with Program(tmp_path, broker.url(), {"gate": True}, site, retain=True) as program:
        program.recorder.record(replace(event(1, listed=True, zone="drive"), images=Images(frame="a.jpg")))
        assert eventually(lambda: home.last("site/plates/gate/zones/drive/picture"), 30)
        assert eventually(lambda: home.last("site/plates/lists/staff/visits") == "1", 30)
        of_camera, of_list = ("sensor", "event", "image"), ("sensor", "binary_sensor")
        entities = {*(f"{kind} gate" for kind in of_camera), *(f"{kind} List staff" for kind in of_list)}
        assert set(home.entities()) == entities
        before = set(home.said)
    url = broker.url().replace("/site/plates", settings.pop("url", "/site/plates"))
    shown = {} if "discovery" in settings else cameras
    with Program(tmp_path, url, cameras, **settings):
        assert home.shows(**shown)
        home.forget()
        assert home.shows(**shown)
        stays = cameras == {"gate": True} and not settings and url == broker.url()
        left = before & set(home.said)
        ghosts = {topic for topic in left if re.search(r"/(event|picture|visits)$|drive|staff", topic)}
        assert ghosts == ({"site/plates/gate/visits"} if stays else set())
        if url != broker.url():
            assert not {topic for topic in home.said if topic.startswith("site/")}


def test_records_of_a_camera_that_is_gone_announce_it_no_more(broker: Broker, home: Home, tmp_path: Path) -> None:
    with Program(tmp_path, broker.url(), {"yard": True}) as program:
        assert home.shows(yard=True)
        program.recorder.record(event(1))  # of the gate
        assert eventually(lambda: home.last("site/plates/gate/event"), 30)
        assert home.shows(yard=True)


def test_a_restart_takes_away_no_camera_that_is_still_there(broker: Broker, tmp_path: Path) -> None:
    Program(tmp_path, broker.url(), {"gate": True}, retain=True).close()
    _, messages = broker.subscribe()
    recorder = Recorder(tmp_path / "outbox.sqlite", [MqttSettings(url=broker.url(), retain=True)], pytest.fail)
    found = until(messages, "site/plates/status", "online")
    recorder.follow(Site(lambda: {"gate": True}))
    found += until(messages, "site/plates/gate/status", "online")
    recorder.close()
    assert [each.topic for each in found if not each.payload] == []


@pytest.mark.parametrize("retain", [False, True])
def test_the_last_event_is_retained_if_asked(broker: Broker, home: Home, tmp_path: Path, retain: bool) -> None:
    with Program(tmp_path, broker.url(), {"gate": True}, retain=retain) as program:
        program.recorder.record(event(1))
        program.recorder.record(event(2))
        assert eventually(lambda: home.last("site/plates/gate/event") == event(2).to_json(), 30)
        home.forget()
        assert home.shows(gate=True)
        assert eventually(lambda: home.last("site/plates/gate/event") == (event(2).to_json() if retain else None), 30)
    assert len(home.fired) == 2  # a restart of Home Assistant fires none again


def test_a_broker_that_forgets_everything_is_told_again(broker: Broker, home: Home, tmp_path: Path) -> None:
    with Program(tmp_path, broker.url(), {"gate": True, "yard": False}) as program:
        assert home.shows(gate=True, yard=False)
        broker.stop()
        broker.start()  # mosquitto keeps nothing by default
        assert Home(broker).shows(gate=True, yard=False)
        assert program.said == []


@pytest.mark.parametrize("text", ["offline", "\x00\xff", "x" * 5000])  # over 4 kB, the sink stops listening
def test_garbage_of_others_stops_no_event(broker: Broker, home: Home, tmp_path: Path, text: str) -> None:
    client, _ = broker.subscribe()
    for number in range(10_000):
        client.publish(f"homeassistant/sensor/{number}/config", text[:9], retain=True)
    for topic in ("status", "status/x", "status/x/y", "gate/status", "x/status", "gate/event", "x/event"):
        client.publish(f"site/plates/{topic}", text, 1, retain=True).wait_for_publish(30)
    with Program(tmp_path, broker.url(), {"gate": True}) as program:
        program.recorder.record(event(1))
        assert eventually(lambda: program.recorder.deliveries[0].state().delivered == 1, 30)
        for topic in ("status", "gate/status") if len(text) < 4096 else ():
            client.publish(f"site/plates/{topic}", text, 1).wait_for_publish(30)
        assert eventually(lambda: home.last("site/plates/gate/status") == "online", 30)
        assert home.said["site/plates/gate/event"] == event(1).to_json()
        assert program.said == []
