"""Frigate's messages on an MQTT broker."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from paho.mqtt.client import Client, MQTTMessage
from paho.mqtt.reasoncodes import ReasonCode

from plate_nets.events.sinks.mqtt_connection import QOS, Broker, MqttClient

_LONGEST_PAUSE = 30
_LONGEST = 1 << 20
"""Bytes of a packet; a message with the path of a car that was long in sight has some ten thousand."""


@contextmanager
def events_of_frigate(broker: Broker, take: Callable[[bytes], None], notice: Callable[[str], None]) -> Iterator[None]:
    """Call ``take`` with each message below the broker's topic, in another thread, for the duration of the block.

    A broker that is away is connected again and again; ``notice`` is told when it goes and when it comes.
    """
    state = ""

    def say(line: str) -> None:
        nonlocal state
        if line != state:
            state = line
            notice(f"broker {broker.host}:{broker.port}: {line}")

    def connected(client: Client, data: object, flags: object, reason: ReasonCode, properties: object) -> None:
        if reason.is_failure:
            say(f"refuses: {reason}")
        else:
            client.subscribe(f"{broker.topic}/events", QOS)
            say(f"connected, waits for {broker.topic}/events")

    def disconnected(*_: Any) -> None:
        say("connection lost; trying again")

    def received(client: Client, data: object, message: MQTTMessage) -> None:
        take(bytes(message.payload))

    client = MqttClient(broker, _LONGEST_PAUSE, _LONGEST)
    client.on_connect, client.on_disconnect, client.on_message = connected, disconnected, received
    client.on_connect_fail = lambda *_: say("no answer; trying again")
    client.connect_async(broker.host, broker.port)
    client.loop_start()
    try:
        yield
    finally:
        client.on_disconnect = None
        client.end()
