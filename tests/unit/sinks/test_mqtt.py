"""MQTT with a real broker, mosquitto: acknowledged, announced, missed when it is away."""

import json
import queue
import resource
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from paho.mqtt.client import Client, MQTTMessage
from paho.mqtt.enums import CallbackAPIVersion

from plate_nets.errors import InputError, SinkError
from plate_nets.server.ports import LOOPBACK, accepts, choose_ports
from plate_nets.sinks.base import Record
from plate_nets.sinks.delivery import Delivery, finish_all
from plate_nets.sinks.mqtt import MqttSink
from plate_nets.sinks.outbox import Outbox
from tests.events import event

USER = "cameras"


class Broker:
    """mosquitto with one user, on a free port."""

    def __init__(self, folder: Path) -> None:
        program = shutil.which("mosquitto") or shutil.which("mosquitto", path="/usr/sbin")
        assert program, "these tests start Debian's mosquitto: tools/debian.sh mosquitto"
        self._program = program
        self.port = choose_ports({"mqtt": 0})["mqtt"]
        self._config = folder / "mosquitto.conf"
        passwords = folder / "passwords"
        passwords.touch(mode=0o600)
        subprocess.run(["mosquitto_passwd", "-b", passwords, USER, "s@crt"], check=True, capture_output=True)
        self._config.write_text(
            f"listener {self.port} {LOOPBACK}\npassword_file {passwords}\nuser root\n", encoding="utf-8"
        )
        self.start()

    def start(self) -> None:
        self._process = subprocess.Popen(
            [self._program, "-c", self._config], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        deadline = time.monotonic() + 30
        while not accepts(LOOPBACK, self.port):
            assert self._process.poll() is None and time.monotonic() < deadline, "mosquitto does not start"
            time.sleep(0.05)

    def stop(self) -> None:
        self._process.kill()
        self._process.wait()

    def url(self, password: str = "s%40crt") -> str:
        return f"mqtt://{USER}:{password}@{LOOPBACK}:{self.port}/site/plates"

    def subscribe(self) -> tuple[Client, "queue.Queue[MQTTMessage]"]:
        """A client that is subscribed to everything, and what it gets."""
        messages: queue.Queue[MQTTMessage] = queue.Queue()
        client = Client(CallbackAPIVersion.VERSION2)
        client.username_pw_set(USER, "s@crt")
        subscribed: queue.Queue[int] = queue.Queue()
        client.on_message = lambda _client, _data, message: messages.put(message)
        client.on_subscribe = lambda _client, _data, mid, _codes, _properties: subscribed.put(mid)
        client.connect(LOOPBACK, self.port)
        client.loop_start()
        client.subscribe("#", qos=1)
        subscribed.get(timeout=30)
        return client, messages


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Broker]:
    broker = Broker(tmp_path)
    yield broker
    broker.stop()


def records(*numbers: int) -> list[Record]:
    return [Record(n + 1, event(n).key, "gate", event(n).to_json()) for n in numbers]


def test_events_arrive_in_order_and_the_camera_is_announced(broker: Broker) -> None:
    client, messages = broker.subscribe()
    with MqttSink(broker.url()) as sink:
        sink.send(records(0, 1))
        sink.send(records(2))
    found = [messages.get(timeout=30) for _ in range(6)]
    client.disconnect()
    client.loop_stop()
    assert [each.payload for each in found if each.topic == "site/plates/gate/event"] == [
        event(number).to_json().encode() for number in range(3)
    ]
    assert [each.payload for each in found if each.topic == "site/plates/status"] == [b"online", b"offline"]
    (announced,) = [each for each in found if each.topic.startswith("homeassistant/")]
    config = json.loads(announced.payload)
    assert announced.topic == "homeassistant/sensor/plates_gate/config"
    assert (config["state_topic"], config["availability_topic"]) == ("site/plates/gate/event", "site/plates/status")
    assert {each.qos for each in found} == {1}


def test_a_broker_that_is_away_is_said_and_found_again(broker: Broker) -> None:
    with MqttSink(broker.url(), discovery=None) as sink:
        sink.send(records(0))
        broker.stop()
        with pytest.raises(SinkError):
            sink.send(records(1))
        with pytest.raises(SinkError, match=r"^no answer: Connection refused$"):
            sink.send(records(1))
        broker.start()
        client, messages = broker.subscribe()
        sink.send(records(1))
        found = [messages.get(timeout=30) for _ in range(2)]
        client.disconnect()
        client.loop_stop()
    assert {each.topic for each in found} == {"site/plates/status", "site/plates/gate/event"}


def test_the_broker_is_told_that_it_is_online_before_the_first_event(broker: Broker, tmp_path: Path) -> None:
    broker.stop()
    said: queue.Queue[str] = queue.Queue()
    with closing(Outbox(tmp_path / "outbox.sqlite", ["mqtt"])) as outbox:
        delivery = Delivery("mqtt", MqttSink(broker.url()), outbox, said.put, first_pause=0.1)
        assert "records wait" in said.get(timeout=30)
        broker.start()
        assert said.get(timeout=30) == "mqtt: takes records again"
        client, messages = broker.subscribe()
        found = messages.get(timeout=30)  # retained
        assert (found.topic, found.payload) == ("site/plates/status", b"online")
        client.disconnect()
        client.loop_stop()
        assert finish_all([delivery], 30) == []


def test_a_broker_that_refuses_is_quoted_without_the_password(broker: Broker) -> None:
    with MqttSink(broker.url("wrong")) as sink, pytest.raises(SinkError, match="refuses: Not authorized") as failed:
        sink.send(records(0))
    assert "wrong" not in str(failed.value)


@pytest.mark.parametrize(
    "url", ["http://u:secret@host", "mqtt://u:secret@", "mqtt://u:secret@host:x", "mqtt://host/a+"]
)
def test_an_address_that_cannot_be_is_refused(url: str) -> None:
    with pytest.raises(InputError, match=r"^mqtt: expected") as refused:
        MqttSink(url)
    assert "secret" not in str(refused.value)


CONNACK = b"\x20\x02\x00\x00"


def closes(connection: socket.socket) -> None:
    connection.recv(1024)


def silent(connection: socket.socket) -> None:
    while connection.recv(1024):
        pass


def never_acknowledges(connection: socket.socket) -> None:
    connection.sendall(CONNACK)
    silent(connection)


def garbage(connection: socket.socket) -> None:
    connection.sendall(bytes(range(256)) * 16)
    silent(connection)


def huge_answer(connection: socket.socket) -> None:
    connection.sendall(b"\x20\xff\xff\xff\x7f")
    while True:
        connection.sendall(bytes(1 << 20))


def huge_message(connection: socket.socket) -> None:
    connection.sendall(CONNACK + b"\x30\xff\xff\xff\x7f\x00\x01a")
    while True:
        connection.sendall(bytes(1 << 20))


def flood(connection: socket.socket) -> None:
    connection.sendall(CONNACK)
    while True:
        connection.sendall(b"\x32\x08\x00\x01a\x00\x01abc" * 1000)


@pytest.mark.parametrize("broker", [closes, silent, never_acknowledges, garbage, huge_answer, huge_message, flood])
def test_a_broker_that_misbehaves_is_said_and_fills_no_memory(
    hostile: Callable[[Callable[[socket.socket], object]], int], broker: Callable[[socket.socket], object]
) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with MqttSink(f"mqtt://127.0.0.1:{hostile(broker)}/plates", timeout=2) as sink:
        for _ in range(2):
            with pytest.raises(SinkError, match=r"^(no answer|no acknowledgement|connection lost)"):
                sink.send(records(0))
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000, "kB"
