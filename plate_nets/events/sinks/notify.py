"""Sends messages to people, with a picture, through the services that the library apprise knows."""

import json
import logging
import sys
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from plate_nets.common.credentials import hide_credentials
from plate_nets.common.day_hours import DayHours
from plate_nets.common.errors import InputError, SinkError
from plate_nets.common.extras import needs
from plate_nets.common.proxies import Proxy, exclude, http_variables, proxy_for
from plate_nets.events.sinks.base import Notes, Record, Sink
from plate_nets.events.sinks.stored_pictures import stored_picture

TIMEOUT = 30.0
"""Seconds for a message with its picture."""
_CARS = 1000
"""Cars that are known to have been told."""
_SHOWN = 200
"""Characters of the service's error that are shown."""


class NotifySink(Sink):
    """Sends a message for each car, once: with the first record that has a text.

    Args:
        url: of a service, as apprise writes it, such as ``ntfy://topic``. It often is a secret, so no message shows it.
        quiet: hours, in the camera's time zone, in which cars are told to nobody, not even later.
        pictures: folder of the events' pictures; None: messages have none.
        now: the present.
        timeout: seconds for a message.
    """

    batch = 1

    def __init__(
        self,
        url: str,
        quiet: DayHours | None = None,
        pictures: Path | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        timeout: float = TIMEOUT,
    ) -> None:
        with needs("notify", "sending messages"):
            import apprise
            from apprise.attachment.memory import AttachMemory
        self._attachment: Callable[..., Any] = AttachMemory
        # What it logs may have parts of addresses; our errors say the cause
        log = logging.getLogger("apprise")
        log.addHandler(logging.NullHandler())
        log.propagate = False
        self._service = apprise.Apprise()
        if not self._service.add(url):
            scheme, found, _ = url.partition("://")
            got = f"a wrong or incomplete one that begins with {scheme}://" if found else "one without ://"
            raise InputError(f"notify: expected an address of a service, such as ntfy://TOPIC, got {got}")
        self._proxy = _proxy_of([*self._service])
        self._quiet = quiet
        self._pictures = pictures
        self._now = now
        self._timeout = timeout
        self._notes = Notes()

    def begin(self, notes: Notes) -> None:
        self._notes = notes

    def send(self, records: Sequence[Record]) -> None:
        (record,) = records
        event = record.event
        told = self._told
        if not event["plate"] or event["id"] in told:
            return
        if event["supersedes"] not in told and not self._is_quiet(event):
            self._tell(event)
        told[event["id"]] = None
        while len(told) > _CARS:
            del told[next(iter(told))]
        self._notes.write(json.dumps(list(told)))

    @cached_property
    def _told(self) -> dict[str, None]:
        """The ids of the last cars that were told, oldest first."""
        return dict.fromkeys(json.loads(self._notes.read() or "[]"))

    def _is_quiet(self, event: dict[str, Any]) -> bool:
        zone = datetime.fromisoformat(event["timestamp_local"]).tzinfo
        return self._quiet is not None and self._quiet.include(self._now().astimezone(zone))

    def _tell(self, event: dict[str, Any]) -> None:
        """Send the message of an event; if the service does not take it with its picture, without."""
        title, body = message_of(event)
        picture = self._picture(event["images"])
        reason = self._try(title, body, picture)
        if reason is not None and picture is not None:
            reason = self._try(title, body, None)
        if reason is not None:
            raise SinkError(f"no message sent: {reason}{f', through {self._proxy}' if self._proxy else ''}")

    def _try(self, title: str, body: str, picture: bytes | None) -> str | None:
        """Send a message -> why it failed, or None."""
        attached = self._attachment(picture, name="car.jpg", mimetype="image/jpeg") if picture else None
        with self._service.notify(body, title, body_format="text", attach=attached, timeout=self._timeout) as result:
            if result:
                return None
            said = [" ".join(entry.message.split()) for entry in result.logs()]
        return hide_credentials(said[-1] if said else "the service gave no reason")[:_SHOWN]

    def _picture(self, images: dict[str, str | None]) -> bytes | None:
        return stored_picture(self._pictures, images.get("vehicle") or images["frame"] or images["plate"])


def _proxy_of(services: Iterable[Any]) -> Proxy | None:
    """The proxy by which the services of apprise are asked; those that are to be reached directly will be."""
    found = None
    for service in services:
        if not hasattr(sys.modules[type(service).__module__], "requests"):  # such as mail: no proxy
            continue
        host = str(service.host or "")
        exclude(host)
        # Of a service in the internet, it is a topic or a secret, and all but the own ones are asked by https
        schemes = ("http", "https") if "." in host and not service.secure else ("https", "http")
        found = found or proxy_for(host, [name for scheme in schemes for name in http_variables(scheme)])
    return found


def message_of(event: dict[str, Any]) -> tuple[str, str]:
    """An event's JSON -> title and text of its message."""
    moment = datetime.fromisoformat(event["timestamp_local"])
    matches = [f"{match['list']}: {match['label'] or match['entry']}" for match in event["watch"]]
    return event["plate"], "\n".join([f"{event['camera_id']}, {moment:%Y-%m-%d %H:%M:%S}", *matches])
