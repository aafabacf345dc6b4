"""Sends events to an MQTT broker, with discovery messages that make Home Assistant show each camera and its plates."""

import contextlib
import json
import secrets
import threading
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

from paho.mqtt.client import MQTTMessage

from plate_nets.common.errors import SinkError
from plate_nets.events.sinks.base import Notes, Record, Sink, Site
from plate_nets.events.sinks.channels import Visits, is_late, list_topic, seen_at, zone_topic
from plate_nets.events.sinks.home_assistant import Entity, of_camera, of_list
from plate_nets.events.sinks.mqtt_connection import OFFLINE, ONLINE, Broker, Connection
from plate_nets.events.sinks.settings import MqttSettings
from plate_nets.events.sinks.stored_pictures import stored_picture

TIMEOUT = 10.0
_TOPIC = "plates"
_LONGEST_PAUSE = 4.0
"""Seconds between two attempts to connect, so that Home Assistant is right again soon after its broker is."""
_CLEARED = ""


@dataclass
class _Memory:
    """What the sink keeps from one run to the next."""

    process: str = field(default_factory=lambda: secrets.token_hex(4))
    """Tells this process from others on the broker, and is the same in its next run."""
    retained: list[str] = field(default_factory=list)
    """The topics of messages that the broker keeps."""
    visits: dict[str, int] = field(default_factory=dict)
    """How many cars each camera, zone and list had, by topic."""


class MqttSink(Sink):
    """Publishes events at QoS 1 under ``<topic>/<camera>/event``, and whether they can come.

    Below ``<topic>/<camera>/zones/<zone>`` are those of a zone. ``<topic>/lists/<list>/event`` has one event of each
    visit that matches a watch list, and so do the topics below it of a camera, and of a zone of it.

    ``<topic>/status``, ``<topic>/status/<process>`` and ``<topic>/<camera>/status`` are "online" or "offline". If a
    connection is lost, the broker publishes "offline" under the first two (the last will). A connection has only one
    will, so there are two connections. If another process says "offline" for what is online here, such as a second one
    with the same topic that ends, this one says "online" again.

    What the broker keeps is cleared once it is no longer true: the announcements of cameras, zones and lists that are
    gone, and everything below a former topic or prefix.

    Args:
        url: ``mqtt://user:password@host:port/topic``, ``mqtts://`` with TLS; without a topic ``plates``.
        discovery: Home Assistant's prefix for discovery; None announces nothing.
        timeout: seconds for connecting, and for each acknowledgement.
        retain: let the broker keep the last event of each camera and zone.
        off_after: seconds after which the sensor of a watch list goes off.
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
        off_after: int = MqttSettings.off_after,
    ) -> None:
        self._broker = Broker.parse(url, _TOPIC)
        self._topic = self._broker.topic
        self._discovery = discovery
        self._timeout = timeout
        self._retain = retain
        self._off_after = off_after
        self._notes = Notes()
        self._site = Site()
        self._cars: Mapping[str, frozenset[str]] = {}
        """See `Visits.cars`."""
        self._available: dict[str, bool] = {}
        """The cameras to announce; until the cameras are known, those that had events."""
        self._looked: Mapping[str, bool] | None = None
        """What the cameras last said of themselves."""
        self._looked_at = float("-inf")
        self._connection: Connection | None = None
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
        return f"{self.status_topic}/{self._memory.process}"

    def begin(self, notes: Notes) -> None:
        self._notes = notes

    def follow(self, site: Site) -> None:
        self._site = site

    def connect(self) -> None:
        if time.monotonic() >= self._looked_at + self.tick:
            self._look()
        self._publish(())

    def send(self, records: Sequence[Record]) -> None:
        if self._site.cameras is None:
            self._available |= dict.fromkeys((record.camera_id for record in records), True)
        elif self._looked is None:
            self._look()
        self._publish(records)

    def close(self) -> None:
        if self._connection:
            offline = [topic for topic in map(self._status_of, self._available) if self._said.get(topic) == ONLINE]
            self._said |= dict.fromkeys(offline, OFFLINE)
            with contextlib.suppress(RuntimeError, ValueError):
                for topic in offline:
                    self._connection.publish(topic, OFFLINE, retain=True)
            self._connection.close()

    def _look(self) -> None:
        if self._site.cameras is not None:
            before, self._looked, self._looked_at = self._looked or {}, self._site.cameras(), time.monotonic()
            # A lost camera is offline one look later, after the events of the cars that were in its view
            self._available = {camera: works or before.get(camera, False) for camera, works in self._looked.items()}

    def _publish(self, records: Sequence[Record]) -> None:
        """Publish what the broker keeps, as far as it has changed, and then the records."""
        # A failed connection is not reused: what it still holds would arrive after what is sent now
        connection, self._connection = self._connection or self._connect(), None
        try:
            visits, listed = Visits(self._memory.visits, self._cars).plus(records)
            said, kept = self._said, self._kept(visits)
            if self._contradicted.is_set():
                self._contradicted.clear()
                # Not what is offline: two processes with the same cameras would answer each other for good
                for topic in [topic for topic, text in said.items() if text != OFFLINE]:
                    del said[topic]
            retained = {f"{self._topic}/{each}" for each in self._retained()}
            gone = self._note({*kept, *retained})
            news = dict.fromkeys(gone, _CLEARED) | {
                topic: text for topic, text in kept.items() if said.get(topic) != text
            }
            said |= news
            waiting = [connection.publish(topic, text, retain=True) for topic, text in news.items()]
            waiting += [
                connection.publish(topic, payload, retain=topic in retained)
                for topic, payloads in self._messages(records, listed).items()
                for payload in payloads
            ]
            for each in waiting:
                each.wait_for_publish(self._timeout)
                if not each.is_published():
                    raise SinkError(f"no acknowledgement within {self._timeout:g} s")
            self._remember(gone, visits)
        except (RuntimeError, ValueError, SinkError) as error:
            connection.close()
            raise error if isinstance(error, SinkError) else SinkError(f"connection lost: {error}") from error
        self._connection = connection

    def _kept(self, visits: Visits) -> dict[str, str]:
        """What the broker should keep of this process, apart from events: topic -> text."""
        processes = {self.process_topic: ONLINE, self.status_topic: ONLINE}
        texts: dict[str, str] = {}
        if self._looked is None:  # those of the last run, which may not have had an end
            former = {topic for topic in self._memory.retained if topic.endswith("/status")}
            texts |= dict.fromkeys(former - set(processes), OFFLINE)
        if self._discovery:
            texts |= self._told(visits)
        texts |= {self._status_of(camera): ONLINE if works else OFFLINE for camera, works in self._available.items()}
        return texts | processes

    def _note(self, topics: set[str]) -> list[str]:
        """Note that the broker will keep messages of these topics -> the topics that are to be cleared."""
        memory = self._memory
        if not topics <= set(memory.retained):
            memory.retained = sorted({*memory.retained, *topics})
            self._notes.write(json.dumps(asdict(memory)))
        if self._looked is None:
            return []
        # Statuses last: another process with the same camera answers them with an announcement of its own
        return sorted(set(memory.retained) - topics, key=lambda topic: topic.endswith("/status"))

    def _remember(self, cleared: Sequence[str], visits: Visits) -> None:
        """Note that the broker has cleared these topics and knows these visits."""
        self._cars = visits.cars
        memory = self._memory
        if cleared or visits.counts != memory.visits:
            memory.retained = sorted(set(memory.retained) - set(cleared))
            memory.visits = dict(visits.counts)
            self._notes.write(json.dumps(asdict(memory)))

    @cached_property
    def _memory(self) -> _Memory:
        text = self._notes.read()
        return _Memory(**json.loads(text)) if text else _Memory()

    def _connect(self) -> Connection:
        # Of the two connections, the one that sends no events hears others, in case that they write nonsense
        heard = [f"{self.status_topic}/#", f"{self._topic}/+/status"]
        shared = self._open(self.status_topic, heard=heard, received=self._heard)
        try:
            return self._open(self.process_topic, shared=shared, connected=self._begin_again)
        except SinkError:
            shared.close()
            raise

    def _open(self, status_topic: str, **options: Any) -> Connection:
        return Connection(self._broker, status_topic, self._timeout, int(_LONGEST_PAUSE), **options)

    def _begin_again(self) -> None:
        """A new connection: the broker may have forgotten everything."""
        self._said = {self.status_topic: ONLINE, self.process_topic: ONLINE}

    def _heard(self, message: MQTTMessage) -> None:
        """Another process has said something about its status or ours, or the broker our last will."""
        text, ours = message.payload.decode(errors="replace"), self._said.get(message.topic)
        of_process = message.topic.startswith(f"{self.status_topic}/")
        if not message.retain and text not in (ONLINE, ours) and (ours or of_process):
            self._contradicted.set()

    def _status_of(self, camera: str) -> str:
        return f"{self._topic}/{camera}/status"

    def _told(self, visits: Visits) -> dict[str, str]:
        """What Home Assistant is told: topic -> text."""
        site, entities = self._site, list[Entity]()
        for camera in self._available:
            online, zones = (self.process_topic, self._status_of(camera)), site.zones.get(camera, ())
            entities += of_camera(self._topic, camera, zones, online, pictures=bool(site.pictures))
        for name in site.lists:
            entities += of_list(self._topic, name, (self.process_topic,), self._off_after)
        texts = {f"{self._discovery}/{topic}": json.dumps(config) for topic, config in entities}
        counted = [*self._places(), *map(list_topic, site.lists)]
        return texts | {f"{self._topic}/{each}/visits": str(visits.counts.get(each, 0)) for each in counted}

    def _retained(self) -> list[str]:
        kinds = ("event", *(("picture",) if self._site.pictures and self._discovery else ()))
        return [f"{place}/{kind}" for place in self._places() for kind in kinds] if self._retain else []

    def _places(self) -> list[str]:
        return [
            topic
            for camera in self._available
            for topic in (camera, *(zone_topic(camera, zone) for zone in self._site.zones.get(camera, ())))
        ]

    def _messages(self, records: Sequence[Record], new: Sequence[tuple[str, Record]]) -> dict[str, list[str | bytes]]:
        """What to publish of these records and of the visits that begin with them: topic -> payloads, in order."""
        messages = defaultdict[str, list[str | bytes]](list)
        for record in records:
            picture = self._picture(record)
            for topic in seen_at(record):
                messages[f"{self._topic}/{topic}/event"].append(record.document)
                if picture:  # after an outage, only the last of many
                    messages[f"{self._topic}/{topic}/picture"] = [picture]
        for topic, record in new:
            if not is_late(record):
                messages[f"{self._topic}/{topic}/event"].append(record.document)
        return messages

    def _picture(self, record: Record) -> bytes | None:
        """The frame of the best moment, if there is one and Home Assistant is told."""
        folder = self._site.pictures if self._discovery else None
        return stored_picture(folder, record.event["images"]["frame"])
