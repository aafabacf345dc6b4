"""The address of an MQTT broker."""

from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit

from paho.mqtt.client import Client

from plate_nets.common.credentials import hide_credentials
from plate_nets.common.errors import InputError

_PORTS = {"mqtt": 1883, "mqtts": 8883}


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

    def prepare(self, client: Client) -> None:
        """Let a client log in, with TLS if requested."""
        if self.user:
            client.username_pw_set(self.user, self.password)
        if self.encrypted:
            client.tls_set()
