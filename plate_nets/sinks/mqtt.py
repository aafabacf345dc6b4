"""Sends events to an MQTT broker, with discovery messages that make Home Assistant show each camera's last plate."""

import contextlib
import json
import re
import threading
from collections.abc import Sequence
from typing import Any
from urllib.parse import unquote, urlsplit

from paho.mqtt.client import Client, ConnectFlags, MQTTMessageInfo
from paho.mqtt.enums import CallbackAPIVersion, MQTTErrorCode
from paho.mqtt.properties import Properties
from paho.mqtt.reasoncodes import ReasonCode

from plate_nets.credentials import hide_credentials
from plate_nets.errors import InputError, SinkError
from plate_nets.sinks.base import Record, Sink

TIMEOUT = 10.0
_PORTS = {"mqtt": 1883, "mqtts": 8883}
_TOPIC = "plates"
_ONCE_AT_LEAST = 1
_LONGEST = 4096
"""Bytes of a packet from a broker; it only sends acknowledgements, which have five."""


class MqttSink(Sink):
    """Publishes events at QoS 1 under ``<topic>/<camera>/event``, and "online" under ``<topic>/status``.

    If the connection is lost, the broker publishes "offline" there (the last will).

    Args:
        url: ``mqtt://user:password@host:port/topic``, ``mqtts://`` with TLS; without a topic ``plates``.
        discovery: Home Assistant's prefix for discovery; None announces nothing.
        timeout: seconds for connecting, and for each acknowledgement.
    """

    def __init__(self, url: str, discovery: str | None = "homeassistant", timeout: float = TIMEOUT) -> None:
        parts = urlsplit(url)
        try:
            port = parts.port or _PORTS[parts.scheme]
        except (KeyError, ValueError) as error:
            expected = " or ".join(f"{scheme}://host:port/topic" for scheme in _PORTS)
            raise InputError(f"mqtt: expected {expected}, got {hide_credentials(url)}") from error
        self._topic = unquote(parts.path.strip("/")) or _TOPIC
        if not parts.hostname or set("+#") & set(self._topic):
            raise InputError(f"mqtt: expected a host and a topic without + and #, got {hide_credentials(url)}")
        self._host, self._port, self._encrypted = parts.hostname, port, parts.scheme == "mqtts"
        self._user = unquote(parts.username) if parts.username else None
        self._password = unquote(parts.password) if parts.password else None
        self._discovery = discovery
        self._timeout = timeout
        self._connection: _Connection | None = None

    @property
    def status_topic(self) -> str:
        """The topic for "online" and "offline", retained."""
        return f"{self._topic}/status"

    def connect(self) -> None:
        self._connection = self._connection or self._connect()

    def send(self, records: Sequence[Record]) -> None:
        # A failed connection is not reused: what it still holds would arrive after what is sent now
        connection, self._connection = self._connection or self._connect(), None
        try:
            waiting = [
                connection.publish(f"{self._discovery}/{topic}", json.dumps(config), retain=True)
                for camera in dict.fromkeys(record.camera_id for record in records)
                if self._discovery and camera not in connection.announced
                for topic, config in [self._announcement(camera)]
            ]
            waiting += [
                connection.publish(f"{self._topic}/{record.camera_id}/event", record.document) for record in records
            ]
            for each in waiting:
                each.wait_for_publish(self._timeout)
                if not each.is_published():
                    raise SinkError(f"no acknowledgement within {self._timeout:g} s")
        except (RuntimeError, ValueError, SinkError) as error:
            connection.close()
            raise error if isinstance(error, SinkError) else SinkError(f"connection lost: {error}") from error
        connection.announced.update(record.camera_id for record in records)
        self._connection = connection

    def close(self) -> None:
        if self._connection:
            self._connection.close()

    def _connect(self) -> "_Connection":
        client = _Client(CallbackAPIVersion.VERSION2)
        if self._user:
            client.username_pw_set(self._user, self._password)
        if self._encrypted:
            client.tls_set()
        client.will_set(self.status_topic, "offline", _ONCE_AT_LEAST, retain=True)
        return _Connection(client, self._host, self._port, self.status_topic, self._timeout)

    def _announcement(self, camera: str) -> tuple[str, dict[str, Any]]:
        """Topic below the prefix, and configuration of a sensor (home-assistant.io/integrations/mqtt)."""
        topic = f"{self._topic}/{camera}/event"
        name = f"{self._topic}_{camera}"
        # Home Assistant ignores topics with any other character, such as the dots of a camera's address
        object_id = re.sub(r"[^a-zA-Z0-9_-]", lambda found: f"-{ord(found[0]):x}-", name)
        return f"sensor/{object_id}/config", {
            "name": "Last plate",
            "unique_id": name,
            "state_topic": topic,
            "value_template": "{{ value_json.plate }}",
            "json_attributes_topic": topic,
            "availability_topic": self.status_topic,
            "icon": "mdi:car",
            "device": {"identifiers": [name], "name": f"Camera {camera}", "manufacturer": "plate-nets"},
        }


class _Client(Client):
    """paho's client would read a packet of 256 MB into memory, and would reconnect after it was closed."""

    ended = False

    def reconnect(self) -> MQTTErrorCode:
        code = super().reconnect()
        if self.ended:  # closed while connecting, when there was no connection to close yet
            self.disconnect()
        return code

    def _sock_recv(self, bufsize: int) -> bytes:
        if bufsize > _LONGEST:
            raise ConnectionAbortedError("the broker sends more than acknowledgements")
        return super()._sock_recv(bufsize)


class _Connection:
    """One connection to a broker, opened at once.

    Raises:
        SinkError: the broker does not answer or refuses.
    """

    def __init__(self, client: "_Client", host: str, port: int, status_topic: str, timeout: float) -> None:
        self.announced: set[str] = set()
        self._client = client
        self._status_topic = status_topic
        self._answered = threading.Event()
        self._refusal: str | None = None
        client.on_connect = self._connected
        client.on_connect_fail = lambda _client, _data: self._answered.set()
        client.connect_timeout = timeout
        try:
            client.connect(host, port)
        except (OSError, ValueError) as error:
            raise SinkError(f"no answer: {getattr(error, 'strerror', None) or error}") from error
        client.loop_start()
        if not self._answered.wait(timeout):
            self._refusal = f"no answer within {timeout:g} s"
        if self._refusal:
            self.close()
            raise SinkError(self._refusal)

    def publish(self, topic: str, text: str, *, retain: bool = False) -> MQTTMessageInfo:
        """Publish; raises RuntimeError or ValueError if the connection is lost."""
        return self._client.publish(topic, text, _ONCE_AT_LEAST, retain)

    def close(self) -> None:
        """Publish "offline" if still possible, and disconnect."""
        with contextlib.suppress(RuntimeError, ValueError):
            self.publish(self._status_topic, "offline", retain=True).wait_for_publish(1)
        self._client.ended = True
        self._client.disconnect()
        self._client.loop_stop()

    def _connected(
        self, client: Client, data: object, flags: ConnectFlags, reason: ReasonCode, properties: Properties | None
    ) -> None:
        if reason.is_failure:
            self._refusal = f"the broker refuses: {reason}"
        else:  # also after each reconnection, because the last will was published
            self.publish(self._status_topic, "online", retain=True)
        self._answered.set()
