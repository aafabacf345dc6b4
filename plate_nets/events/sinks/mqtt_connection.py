"""Connections to an MQTT broker, which bound what it may send and how long it may take."""

import contextlib
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit

from paho.mqtt.client import Client, ConnectFlags, MQTTMessage, MQTTMessageInfo
from paho.mqtt.enums import CallbackAPIVersion, MQTTErrorCode
from paho.mqtt.properties import Properties
from paho.mqtt.reasoncodes import ReasonCode

from plate_nets.common.credentials import hide_credentials
from plate_nets.common.errors import InputError, SinkError

ONLINE, OFFLINE = "online", "offline"
QOS = 1
"""At least once."""
_PORTS = {"mqtt": 1883, "mqtts": 8883}
_LONGEST = 4096
"""Bytes of a packet from a broker that only sends acknowledgements, which have five, and short statuses."""


@dataclass(frozen=True)
class Broker:
    """Where a broker is, how to log in, and the topic to use."""

    host: str
    port: int
    encrypted: bool
    topic: str
    user: str | None = field(default=None, repr=False)
    password: str | None = field(default=None, repr=False)

    @classmethod
    def parse(cls, url: str, topic: str) -> "Broker":
        """``mqtt://user:password@host:port/topic``, or ``mqtts://`` with TLS -> its parts; ``topic``: without one.

        Raises:
            InputError: it has another form.
        """
        parts = urlsplit(url)
        try:
            port = parts.port or _PORTS[parts.scheme]
        except (KeyError, ValueError) as error:
            expected = " or ".join(f"{scheme}://host:port/topic" for scheme in _PORTS)
            raise InputError(f"mqtt: expected {expected}, got {hide_credentials(url)}") from error
        topic = unquote(parts.path.strip("/")) or topic
        if not parts.hostname or set("+#") & set(topic):
            raise InputError(f"mqtt: expected a host and a topic without + and #, got {hide_credentials(url)}")
        user, password = (unquote(each) if each else None for each in (parts.username, parts.password))
        return cls(parts.hostname, port, parts.scheme == "mqtts", topic, user, password)


class MqttClient(Client):
    """paho's client would read a packet of 256 MB into memory, and would reconnect after it was closed.

    Args:
        longest_pause: seconds between two attempts to connect.
        longest: bytes of a packet from the broker; a longer one ends the connection.
    """

    ended = False
    flooded = False
    """Whether a connection ended because of a long packet."""

    def __init__(self, broker: Broker, longest_pause: int, longest: int = _LONGEST) -> None:
        super().__init__(CallbackAPIVersion.VERSION2)
        self._longest = longest
        self.reconnect_delay_set(1, longest_pause)
        if broker.user:
            self.username_pw_set(broker.user, broker.password)
        if broker.encrypted:
            self.tls_set()

    def end(self) -> None:
        self.ended = True
        self.disconnect()
        self.loop_stop()

    def reconnect(self) -> MQTTErrorCode:
        code = super().reconnect()
        if self.ended:  # closed while connecting, when there was no connection to close yet
            self.disconnect()
        return code

    def _sock_recv(self, bufsize: int) -> bytes:
        if bufsize > self._longest:
            self.flooded = True
            raise ConnectionAbortedError(f"the broker sends a packet of {bufsize} bytes")
        return super()._sock_recv(bufsize)


class Connection:
    """One connection to a broker, opened at once.

    Args:
        status_topic: gets "online" at each connection, and "offline" at the end: from here or, as the last will, from
            the broker.
        longest_pause: seconds between two attempts to connect.
        shared: a second connection, closed together with this one.
        heard: topics to subscribe to, unless a message there is too long.
        received: called with each message of these topics.
        connected: called at each connection.

    Raises:
        SinkError: the broker does not answer or refuses.
    """

    def __init__(
        self,
        broker: Broker,
        status_topic: str,
        timeout: float,
        longest_pause: int,
        *,
        shared: "Connection | None" = None,
        heard: Sequence[str] = (),
        received: Callable[[MQTTMessage], None] = lambda message: None,
        connected: Callable[[], None] = lambda: None,
    ) -> None:
        self._client = client = MqttClient(broker, longest_pause)
        self._status_topic = status_topic
        self._shared = shared
        self._heard = heard
        self._at_connection = connected
        self._answered = threading.Event()
        self._refusal: str | None = None
        client.will_set(status_topic, OFFLINE, QOS, retain=True)
        client.on_message = lambda _client, _data, message: received(message)
        client.on_connect = self._connected
        client.on_connect_fail = lambda _client, _data: self._answered.set()
        client.connect_timeout = timeout
        try:
            client.connect(broker.host, broker.port)
        except (OSError, ValueError) as error:
            raise SinkError(f"no answer: {getattr(error, 'strerror', None) or error}") from error
        client.loop_start()
        if not self._answered.wait(timeout):
            self._refusal = f"no answer within {timeout:g} s"
        if self._refusal:
            self._end()
            raise SinkError(self._refusal)

    def publish(self, topic: str, text: str | bytes, *, retain: bool = False) -> MQTTMessageInfo:
        """Publish; raises RuntimeError or ValueError if the connection is lost."""
        return self._client.publish(topic, text, QOS, retain)

    def close(self) -> None:
        """Publish "offline" if still possible, and disconnect."""
        self._end()
        if self._shared:
            self._shared.close()

    def _end(self) -> None:
        with contextlib.suppress(RuntimeError, ValueError):
            self.publish(self._status_topic, OFFLINE, retain=True).wait_for_publish(1)
        self._client.end()

    def _connected(
        self, client: Client, data: object, flags: ConnectFlags, reason: ReasonCode, properties: Properties | None
    ) -> None:
        if reason.is_failure:
            self._refusal = f"the broker refuses: {reason}"
        else:  # also after each reconnection, because the last will was published
            self.publish(self._status_topic, ONLINE, retain=True)
            for topic in () if self._client.flooded else self._heard:
                client.subscribe(topic, QOS)
            self._at_connection()
        self._answered.set()
