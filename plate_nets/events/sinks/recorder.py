"""Puts events into the outbox, and delivers them from there to every sink."""

import threading
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path

from plate_nets.common.contexts import Closing
from plate_nets.common.errors import InputError, SinkError
from plate_nets.events.event import PlateEvent
from plate_nets.events.sinks import settings as of
from plate_nets.events.sinks.base import Sink, Site
from plate_nets.events.sinks.delivery import Delivery, finish_all
from plate_nets.events.sinks.files import CsvSink, JsonlSink, ParquetSink
from plate_nets.events.sinks.mqtt import MqttSink
from plate_nets.events.sinks.notify import NotifySink
from plate_nets.events.sinks.outbox import MAX_BYTES, Outbox
from plate_nets.events.sinks.sqlite import SqliteSink
from plate_nets.events.sinks.webhook import WebhookSink

_HELD = 1000
"""Events kept in memory while the outbox cannot be written; beyond that the oldest is dropped."""
_LONGEST_END = 10.0


class Recorder(Closing):
    """The outbox and the threads of its sinks. Threads may share it.

    Args:
        notice: called with a line about failures and recoveries.
        pictures: the folder of the events' pictures, for the sinks that send them.

    Raises:
        InputError: the outbox or a file cannot be used, or two sinks have the same name.
        MissingExtra: a sink's package is not installed.
    """

    def __init__(
        self,
        path: Path,
        sinks: Sequence[of.SinkSettings],
        notice: Callable[[str], None],
        *,
        max_bytes: int = MAX_BYTES,
        pictures: Path | None = None,
    ) -> None:
        names = [each.name or each.type for each in sinks]
        twice = {name for name in names if names.count(name) > 1}
        if twice:
            raise InputError(f"sinks: expected different names, got {', '.join(sorted(twice))} more than once")
        opened = [_open_sink(each, pictures) for each in sinks]
        self._notice = notice
        self._outbox = Outbox(path, names, max_bytes)
        self._recording = threading.Lock()
        self._pending: deque[PlateEvent] = deque(maxlen=_HELD)
        self.deliveries = [
            Delivery(name, sink, self._outbox, notice, matches_only=each.matches_only, finals_only=each.finals_only)
            for name, sink, each in zip(names, opened, sinks, strict=True)
        ]

    def record(self, event: PlateEvent) -> None:
        """Put an event into the outbox; if that fails, keep it in memory and retry with the next ones."""
        with self._recording:
            failed = bool(self._pending)
            self._pending.append(event)
            try:
                self._flush()
            except SinkError as error:
                if not failed:
                    self._notice(f"{error}; events are kept in memory")

    def follow(self, site: Site) -> None:
        """Let the sinks know where events come from."""
        for each in self.deliveries:
            each.follow(site)

    def close(self) -> None:
        """Give the sinks ten seconds to take the remaining records; the rest stays in the outbox."""
        try:
            self._flush()
        except SinkError as error:
            self._notice(f"{error}; {len(self._pending)} events are lost")
        for name in finish_all(self.deliveries, _LONGEST_END):
            self._notice(f"{name}: has not ended in time")
        for each in self.deliveries:
            if waiting := each.state().waiting:
                self._notice(f"{each.name}: {waiting} records wait in the outbox for the next run")
        self._outbox.close()

    def _flush(self) -> None:
        while self._pending:
            self._outbox.append(self._pending[0])
            self._pending.popleft()


def _open_sink(settings: of.SinkSettings, pictures: Path | None = None) -> Sink:
    match settings:
        case of.JsonlSettings():
            return JsonlSink(settings.path)
        case of.CsvSettings():
            return CsvSink(settings.path)
        case of.SqliteSettings():
            return SqliteSink(settings.path, settings.keep_days)
        case of.ParquetSettings():
            return ParquetSink(settings.folder)
        case of.WebhookSettings():
            return WebhookSink(settings.url, settings.secret, settings.headers)
        case of.MqttSettings():
            return MqttSink(settings.url, settings.discovery, retain=settings.retain, off_after=settings.off_after)
        case of.NotifySettings():
            return NotifySink(settings.url, settings.hours, pictures)
