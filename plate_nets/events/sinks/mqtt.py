"""Sends events to an MQTT broker, with discovery messages that make Home Assistant show each camera and its plates."""

import contextlib
import json
import re
import secrets
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, get_args

from paho.mqtt.client import Client, ConnectFlags, MQTTMessage, MQTTMessageInfo
from paho.mqtt.enums import CallbackAPIVersion, MQTTErrorCode
from paho.mqtt.properties import Properties
from paho.mqtt.reasoncodes import ReasonCode

from plate_nets.common.errors import SinkError
from plate_nets.events.event import Stage
from plate_nets.events.sinks.base import Notes, Record, Sink
from plate_nets.events.sinks.broker import Broker

TIMEOUT = 10.0
_TOPIC = "plates"
_ONCE_AT_LEAST = 1
_LONGEST = 4096
"""Bytes of a packet from a broker; it only sends acknowledgements, which have five, and short statuses."""
_LONGEST_PAUSE = 4.0
"""Seconds between two attempts to connect, so that Home Assistant is right again soon after its broker is."""
_ONLINE, _OFFLINE, _CLEARED = "online", "offline", ""


@dataclass
class _Memory:
    """What the sink keeps from one run to the next."""

    process: str = field(default_factory=lambda: secrets.token_hex(4))
    """Tells this process from others on the broker, and is the same in its next run."""
    retained: list[str] = field(default_factory=list)
    """The topics of messages that the broker keeps."""


class MqttSink(Sink):
    """Publishes events at QoS 1 under ``<topic>/<camera>/event``, and whether they can come.

    ``<topic>/status``, ``<topic>/status/<process>`` and ``<topic>/<camera>/status`` are "online" or "offline". If a
    connection is lost, the broker publishes "offline" under the first two (the last will). A connection has only one
    will, so there are two connections. If another process says "offline" for what is online here, such as a second one
    with the same topic that ends, this one says "online" again.

    What the broker keeps is cleared once it is no longer true: the announcements of cameras that are gone, and
    everything below a former topic or prefix.

    Args:
        url: ``mqtt://user:password@host:port/topic``, ``mqtts://`` with TLS; without a topic ``plates``.
        discovery: Home Assistant's prefix for discovery; None announces nothing.
        timeout: seconds for connecting, and for each acknowledgement.
        retain: let the broker keep the last event of each camera.
    """

    tick = 0.5
    longest_pause = _LONGEST_PAUSE

    def __init__(
        self,
        url: str,
        discovery: str | None = "homeassistant",
        timeout: float = TIMEOUT,
        *,
        retain: bool = False,
    ) -> None:
        broker = Broker.parse(url, _TOPIC)
        self._broker = broker
        self._topic = broker.topic
        self._discovery = discovery
        self._timeout = timeout
        self._retain = retain
        self._notes = Notes()
        self._memory: _Memory | None = None
        self._cameras: Callable[[], Mapping[str, bool]] | None = None
        self._available: dict[str, bool] = {}
        """The cameras to announce; until the cameras are known, those that had events."""
        self._looked: Mapping[str, bool] | None = None
        """What the cameras last said of themselves."""
        self._looked_at = float("-inf")
        self._connection: _Connection | None = None
        self._said: dict[str, str] = {}
        """What was published on this connection for the broker to keep, by topic."""
        self._contradicted = threading.Event()

    @property
    def status_topic(self) -> str:
        """The topic for "online" and "offline" of all processes that share the topic, retained."""
        return f"{self._topic}/status"

    @property
    def process_topic(self) -> str:
        """The topic for "online" and "offline" of this process, retained."""
        return f"{self.status_topic}/{self._remembered().process}"

    def begin(self, notes: Notes) -> None:
        self._notes = notes

    def follow(self, cameras: Callable[[], Mapping[str, bool]]) -> None:
        self._cameras = cameras

    def connect(self) -> None:
        if time.monotonic() >= self._looked_at + self.tick:
            self._look()
        self._publish(())

    def send(self, records: Sequence[Record]) -> None:
        if self._cameras is None:
            self._available |= dict.fromkeys((record.camera_id for record in records), True)
        elif self._looked is None:
            self._look()
        self._publish(records)

    def close(self) -> None:
        if self._connection:
            offline = [topic for topic in map(self._camera_topic, self._available) if self._said.get(topic) == _ONLINE]
            self._said |= dict.fromkeys(offline, _OFFLINE)
            with contextlib.suppress(RuntimeError, ValueError):
                for topic in offline:
                    self._connection.publish(topic, _OFFLINE, retain=True)
            self._connection.close()

    def _look(self) -> None:
        if self._cameras is not None:
            before, self._looked, self._looked_at = self._looked or {}, self._cameras(), time.monotonic()
            # A lost camera is offline one look later, after the events of the cars that were in its view
            self._available = {camera: works or before.get(camera, False) for camera, works in self._looked.items()}

    def _publish(self, records: Sequence[Record]) -> None:
        """Publish what the broker keeps, as far as it has changed, and then the records."""
        # A failed connection is not reused: what it still holds would arrive after what is sent now
        connection, self._connection = self._connection or self._connect(), None
        try:
            said, kept = self._said, self._kept()
            if self._contradicted.is_set():
                self._contradicted.clear()
                # Not what is offline: two processes with the same cameras would answer each other for good
                for topic in [topic for topic, text in said.items() if text != _OFFLINE]:
                    del said[topic]
            events = {camera: f"{self._topic}/{camera}/event" for camera in self._available} if self._retain else {}
            gone = self._note({*kept, *events.values()})
            news = dict.fromkeys(gone, _CLEARED) | {
                topic: text for topic, text in kept.items() if said.get(topic) != text
            }
            said |= news
            waiting = [connection.publish(topic, text, retain=True) for topic, text in news.items()]
            waiting += [
                connection.publish(
                    f"{self._topic}/{record.camera_id}/event", record.document, retain=record.camera_id in events
                )
                for record in records
            ]
            for each in waiting:
                each.wait_for_publish(self._timeout)
                if not each.is_published():
                    raise SinkError(f"no acknowledgement within {self._timeout:g} s")
            self._forget(gone)
        except (RuntimeError, ValueError, SinkError) as error:
            connection.close()
            raise error if isinstance(error, SinkError) else SinkError(f"connection lost: {error}") from error
        self._connection = connection

    def _kept(self) -> dict[str, str]:
        """What the broker should keep of this process, apart from events: topic -> text."""
        processes = {self.process_topic: _ONLINE, self.status_topic: _ONLINE}
        texts: dict[str, str] = {}
        if self._looked is None:  # those of the last run, which may not have had an end
            former = {topic for topic in self._remembered().retained if topic.endswith("/status")}
            texts |= dict.fromkeys(former - set(processes), _OFFLINE)
        for camera, works in self._available.items():
            if self._discovery:
                texts |= {
                    f"{self._discovery}/{topic}": json.dumps(config) for topic, config in self._announcements(camera)
                }
            texts[self._camera_topic(camera)] = _ONLINE if works else _OFFLINE
        return texts | processes

    def _note(self, topics: set[str]) -> list[str]:
        """Note that the broker will keep messages of these topics -> the topics that are to be cleared."""
        memory = self._remembered()
        if not topics <= set(memory.retained):
            memory.retained = sorted({*memory.retained, *topics})
            self._notes.write(json.dumps(asdict(memory)))
        if self._looked is None:
            return []
        # Statuses last: another process with the same camera answers them with an announcement of its own
        return sorted(set(memory.retained) - topics, key=lambda topic: topic.endswith("/status"))

    def _forget(self, topics: Sequence[str]) -> None:
        """Note that the broker has cleared these topics."""
        if topics:
            memory = self._remembered()
            memory.retained = sorted(set(memory.retained) - set(topics))
            self._notes.write(json.dumps(asdict(memory)))

    def _remembered(self) -> _Memory:
        if self._memory is None:
            text = self._notes.read()
            self._memory = _Memory(**json.loads(text)) if text else _Memory()
        return self._memory

    def _connect(self) -> "_Connection":
        shared = self._open(self.status_topic, None, lambda: None)
        try:
            return self._open(self.process_topic, shared, self._begin_again)
        except SinkError:
            shared.close()
            raise

    def _open(self, status_topic: str, shared: "_Connection | None", connected: Callable[[], None]) -> "_Connection":
        client = _Client(CallbackAPIVersion.VERSION2)
        client.reconnect_delay_set(1, int(_LONGEST_PAUSE))
        self._broker.prepare(client)
        client.will_set(status_topic, _OFFLINE, _ONCE_AT_LEAST, retain=True)
        heard = []
        if shared is None:  # of the two connections the one that sends no events, in case that others write nonsense
            heard = [f"{self.status_topic}/#", f"{self._topic}/+/status"]
            client.on_message = self._heard
        host, port = self._broker.host, self._broker.port
        return _Connection(client, host, port, status_topic, self._timeout, shared, heard, connected)

    def _begin_again(self) -> None:
        """A new connection: the broker may have forgotten everything."""
        self._said = {self.status_topic: _ONLINE, self.process_topic: _ONLINE}

    def _heard(self, client: Client, data: object, message: MQTTMessage) -> None:
        """Another process has said something about its status or ours, or the broker our last will."""
        text, ours = message.payload.decode(errors="replace"), self._said.get(message.topic)
        of_process = message.topic.startswith(f"{self.status_topic}/")
        if not message.retain and text not in (_ONLINE, ours) and (ours or of_process):
            self._contradicted.set()

    def _camera_topic(self, camera: str) -> str:
        return f"{self._topic}/{camera}/status"

    def _announcements(self, camera: str) -> list[tuple[str, dict[str, Any]]]:
        """Topics below the prefix, and configurations (home-assistant.io/integrations/mqtt) of a sensor with the last
        plate and of an event entity, which changes with each event."""
        topic = f"{self._topic}/{camera}/event"
        name = f"{self._topic}_{camera}"
        # Home Assistant ignores topics with any other character, such as the dots of a camera's address
        object_id = re.sub(r"[^a-zA-Z0-9_-]", lambda found: f"-{ord(found[0]):x}-", name)
        # Whoever clears a retained event sends an empty one
        common = {
            "unique_id": name,
            "state_topic": topic,
            "availability": [{"topic": self.process_topic}, {"topic": self._camera_topic(camera)}],
            "availability_mode": "all",
            "icon": "mdi:car",
            "device": {"identifiers": [name], "name": f"Camera {camera}", "manufacturer": "plate-nets"},
        }
        sensor = {
            "name": "Last plate",
            "value_template": "{{ value_json.plate if value_json is defined }}",
            "json_attributes_topic": topic,
        }
        event = {
            "name": "Plate event",
            "event_types": [*get_args(Stage)],
            "value_template": "{{ dict(value_json, event_type=value_json.stage) | tojson if value_json is defined }}",
        }
        return [(f"sensor/{object_id}/config", common | sensor), (f"event/{object_id}/config", common | event)]


class _Client(Client):
    """paho's client would read a packet of 256 MB into memory, and would reconnect after it was closed."""

    ended = False
    flooded = False
    """Whether a connection ended because of a long packet."""

    def reconnect(self) -> MQTTErrorCode:
        code = super().reconnect()
        if self.ended:  # closed while connecting, when there was no connection to close yet
            self.disconnect()
        return code

    def _sock_recv(self, bufsize: int) -> bytes:
        if bufsize > _LONGEST:
            self.flooded = True
            raise ConnectionAbortedError("the broker sends more than acknowledgements")
        return super()._sock_recv(bufsize)


class _Connection:
    """One connection to a broker, opened at once.

    Args:
        status_topic: gets "online" at each connection, and "offline" at the end.
        shared: a second connection, closed together with this one.
        heard: topics to subscribe to, unless a message there is too long.
        connected: called at each connection.

    Raises:
        SinkError: the broker does not answer or refuses.
    """

    def __init__(
        self,
        client: "_Client",
        host: str,
        port: int,
        status_topic: str,
        timeout: float,
        shared: "_Connection | None",
        heard: Sequence[str],
        connected: Callable[[], None],
    ) -> None:
        self._client = client
        self._status_topic = status_topic
        self._shared = shared
        self._heard = heard
        self._at_connection = connected
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
            self._end()
            raise SinkError(self._refusal)

    def publish(self, topic: str, text: str, *, retain: bool = False) -> MQTTMessageInfo:
        """Publish; raises RuntimeError or ValueError if the connection is lost."""
        return self._client.publish(topic, text, _ONCE_AT_LEAST, retain)

    def close(self) -> None:
        """Publish "offline" if still possible, and disconnect."""
        self._end()
        if self._shared:
            self._shared.close()

    def _end(self) -> None:
        with contextlib.suppress(RuntimeError, ValueError):
            self.publish(self._status_topic, _OFFLINE, retain=True).wait_for_publish(1)
        self._client.ended = True
        self._client.disconnect()
        self._client.loop_stop()

    def _connected(
        self, client: Client, data: object, flags: ConnectFlags, reason: ReasonCode, properties: Properties | None
    ) -> None:
        if reason.is_failure:
            self._refusal = f"the broker refuses: {reason}"
        else:  # also after each reconnection, because the last will was published
            self.publish(self._status_topic, _ONLINE, retain=True)
            for topic in () if self._client.flooded else self._heard:
                client.subscribe(topic, _ONCE_AT_LEAST)
            self._at_connection()
        self._answered.set()
