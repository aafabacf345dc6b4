"""`plates frigate`: reads the vehicles that Frigate tracks, and gives it their plates."""

import time
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from plate_nets.cli.options import (
    Details,
    KeepDays,
    Local,
    ModelRepository,
    Notify,
    Schemes,
    Timeout,
    Urls,
    use_detail,
    use_schemes,
)
from plate_nets.cli.readers import open_reader
from plate_nets.cli.setting_options import options_of
from plate_nets.cli.signals import ended_by_signal
from plate_nets.cli.watch_status import event_line
from plate_nets.common.extras import needs
from plate_nets.countries import default_schemes, joined
from plate_nets.events.sinks.settings import JsonlSettings, SqliteSettings, messages, sinks_at

if TYPE_CHECKING:
    from plate_nets.events.event import PlateEvent

_DAY = 86_400
_SECONDS = 0.5
"""How soon the end of the command is noticed."""


@options_of(JsonlSettings, SqliteSettings)
def frigate(
    server: Annotated[str, typer.Argument(metavar="FRIGATE", help="Frigate's address, such as http://frigate:5000.")],
    mqtt: Annotated[
        str, typer.Option(help="Frigate's broker, and its topic_prefix: mqtt://user:password@host:port/frigate.")
    ],
    label: Annotated[
        list[str] | None,
        typer.Option(help="Object to read. Repeatable. Default: car, truck, bus and motorcycle."),
    ] = None,
    save_events: Annotated[
        Path | None, typer.Option(help="Save the picture of each event to this folder.", file_okay=False)
    ] = None,
    notify: Notify = None,
    keep_days: KeepDays = None,
    outbox: Annotated[
        Path, typer.Option(help="SQLite file that keeps events until every sink has them.", dir_okay=False)
    ] = Path("plates-outbox.sqlite"),
    url: Urls = None,
    local: Local = False,
    scheme: Schemes = None,
    detail: Details = None,
    timeout: Timeout = 30.0,
    model_repository: ModelRepository = None,
    **options: Any,
) -> None:
    """Read the plates of Frigate's vehicles, and set them in Frigate as license plate and sub label. Runs until Ctrl-C.

    Frigate sends its events over MQTT. The pictures come from its HTTP API.
    """
    with needs("watch", "plates frigate"):
        from plate_nets.cameras.frigate import LABELS, FrigateReader
        from plate_nets.cameras.frigate_api import FrigateApi
        from plate_nets.cameras.frigate_messages import events_of_frigate
        from plate_nets.cameras.pictures import PictureSettings, Retention, with_frame
        from plate_nets.events.sinks.mqtt_connection import Broker
        from plate_nets.events.sinks.recorder import Recorder

    terminal = Console(stderr=True, highlight=False, soft_wrap=True)
    say = partial(terminal.print, markup=False)
    broker = Broker.parse(mqtt, "frigate")
    sinks = [*sinks_at(options, keep_days), *messages(notify or ())]
    use_detail(detail, url)
    schemes = use_schemes(scheme)
    with ExitStack() as stack:
        api = stack.enter_context(FrigateApi(server))
        kept = None if keep_days is None else keep_days * _DAY
        retention = Retention(PictureSettings(save_events, max_age=kept)) if save_events else None
        recorder = stack.enter_context(Recorder(outbox, sinks, say, pictures=save_events)) if sinks else None
        reader = stack.enter_context(open_reader(local, url, "grpc", timeout, model_repository, None, schemes))

        def tell(event: "PlateEvent", picture: bytes) -> None:
            if save_events:
                event = with_frame(event, picture, save_events)
            if recorder:
                recorder.record(event)
            typer.echo(event_line(event))

        known = joined(schemes or default_schemes())
        plates = FrigateReader(api, reader, known, tell, say, label or LABELS)
        ending = stack.enter_context(ended_by_signal(lambda: None))
        stack.enter_context(events_of_frigate(broker, plates.take, say))
        while not ending:
            plates.turn(_SECONDS)
            if retention:
                retention.prune(time.time())
        raise typer.Exit(128 + ending[0])
