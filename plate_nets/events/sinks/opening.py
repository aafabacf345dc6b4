"""Opens a sink from its settings."""

from pathlib import Path

from plate_nets.events.sinks import settings as of
from plate_nets.events.sinks.base import Sink
from plate_nets.events.sinks.files import CsvSink, JsonlSink, ParquetSink
from plate_nets.events.sinks.mqtt import MqttSink
from plate_nets.events.sinks.notify import NotifySink
from plate_nets.events.sinks.sqlite import SqliteSink
from plate_nets.events.sinks.webhook import WebhookSink


def open_sink(settings: of.SinkSettings, pictures: Path | None = None) -> Sink:
    """Open the sink for these settings; ``pictures``: the folder of the events' pictures.

    Raises:
        InputError: a file or address cannot be used.
        MissingExtra: a package is not installed.
    """
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
