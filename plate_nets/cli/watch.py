"""`plates watch`: prints one line per event of cameras and video files."""

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from plate_nets.cli.options import (
    Details,
    Jsonl,
    KeepDays,
    Local,
    Log,
    ModelRepository,
    Protocol,
    Schemes,
    Timeout,
    Urls,
    Vehicles,
    use_detail,
    use_schemes,
)
from plate_nets.cli.output import counted
from plate_nets.cli.readers import video_reader
from plate_nets.cli.signals import ended_by_signal
from plate_nets.cli.watch_status import event_line, live_status
from plate_nets.common.errors import InputError, SourceError
from plate_nets.common.extras import needs
from plate_nets.countries import default_schemes, joined
from plate_nets.triton.supervision.health_endpoint import HealthEndpoint

if TYPE_CHECKING:
    from plate_nets.cameras.cameras_file import WatchPlan
    from plate_nets.cameras.watch_lists import WatchList
    from plate_nets.events.sinks.settings import SinkSettings

SOME_FAILED, ALL_FAILED = 1, 2
SECRET_VARIABLE = "PLATES_WEBHOOK_SECRET"
SALT_VARIABLE = "PLATES_HASH_SALT"


def _moment(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text)
    except ValueError as error:
        raise typer.BadParameter(f"expected a time such as 2026-11-22T10:00+03:00, got {text!r}") from error


def watch(
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="SOURCE...|cameras.yaml",
            help="Video files, folders of pictures, rtsp:// or http:// streams, /dev/video*; or one cameras.yaml.",
        ),
    ],
    url: Urls = None,
    protocol: Protocol = "grpc",
    local: Local = False,
    json: Annotated[bool, typer.Option("--json", help="Print events as lines of JSON.")] = False,
    fps: Annotated[
        float | None,
        typer.Option(help="Frames per second to analyse. Default: up to 10 of a camera, all of a file.", min=0.001),
    ] = None,
    start: Annotated[
        datetime | None,
        typer.Option(
            help="When a file's first picture was taken, such as 2026-11-22T10:00+03:00. Default: now.",
            metavar="TIME",
            parser=_moment,
        ),
    ] = None,
    zone: Annotated[
        str | None, typer.Option(help="Time zone of the lines and of timestamp_local, such as Europe/Moscow.")
    ] = None,
    sure: Annotated[
        float | None, typer.Option(help="How probable the text of an event must be, 0 to 1. Default: 0.99.")
    ] = None,
    unread: Annotated[
        bool, typer.Option("--unread", help="Also report cars that cannot be read, without a text.")
    ] = False,
    watch_list: Annotated[
        list[Path] | None,
        typer.Option(help="Watch list: a CSV file with the header plate,label. Repeatable.", dir_okay=False),
    ] = None,
    save_video: Annotated[
        Path | None,
        typer.Option(help="Write the video with outlines and texts, as MP4. Only for a single source.", dir_okay=False),
    ] = None,
    save_events: Annotated[
        Path | None, typer.Option(help="Save the best plate and frame of each event to this folder.", file_okay=False)
    ] = None,
    jsonl: Jsonl = None,
    csv: Annotated[Path | None, typer.Option(help="Append events to this CSV table.", dir_okay=False)] = None,
    sqlite: Annotated[
        Path | None, typer.Option(help="Keep the latest state of each car in this SQLite file.", dir_okay=False)
    ] = None,
    parquet: Annotated[
        Path | None,
        typer.Option(help="Write a Parquet file for each minute with events to this folder.", file_okay=False),
    ] = None,
    webhook: Annotated[
        str | None,
        typer.Option(help=f"POST each event to this URL, signed with the secret in {SECRET_VARIABLE}, if set."),
    ] = None,
    mqtt: Annotated[
        str | None,
        typer.Option(
            help="Publish each event to this broker and topic: mqtt://host:port/topic. A user and a password go "
            "before the host, as user:password@."
        ),
    ] = None,
    notify: Annotated[
        list[str] | None,
        typer.Option(
            help="Send a message for each car to this address of apprise, such as ntfy://TOPIC, with a picture if "
            "--save-events is given. Repeatable."
        ),
    ] = None,
    matches_only: Annotated[
        bool, typer.Option("--matches-only", help="Send sinks only the events that match a watch list.")
    ] = False,
    outbox: Annotated[
        Path | None,
        typer.Option(
            help="SQLite file that keeps events until every sink has them. Default: plates-outbox.sqlite.",
            dir_okay=False,
        ),
    ] = None,
    blur: Annotated[
        bool, typer.Option("--blur", help="Make plates unreadable in all pictures, except those on a watch list.")
    ] = False,
    vehicles: Vehicles = False,
    blur_vehicles: Annotated[
        bool,
        typer.Option(
            "--blur-vehicles", help="Make whole vehicles unrecognizable in pictures, except those of plates on a list."
        ),
    ] = False,
    hash: Annotated[
        bool, typer.Option("--hash", help=f"Replace texts by salted hashes; set the salt in {SALT_VARIABLE}.")
    ] = False,
    keep_days: KeepDays = None,
    keep_mb: Annotated[
        float | None, typer.Option(help="Delete the oldest pictures when all together exceed this size (MB).", min=0)
    ] = None,
    metrics_port: Annotated[
        int | None,
        typer.Option(help="Serve /health and /metrics on this port; 0 picks a free one.", min=0, max=65535),
    ] = None,
    address: Annotated[str, typer.Option(help="Address that --metrics-port listens on.")] = "127.0.0.1",
    scheme: Schemes = None,
    detail: Details = None,
    thorough: Annotated[
        bool,
        typer.Option(
            "--thorough",
            help="Look at whole frames and read every plate. Default with --local: only what may tell something new.",
        ),
    ] = False,
    timeout: Timeout = 30.0,
    model_repository: ModelRepository = None,
    log: Log = None,
) -> None:
    """Follow cameras and video files. Prints a line when a car's plate is certain or changes, and when the car leaves.

    Without --url and --local, the command starts a Triton server for as long as it runs. If Triton is not installed, it
    reads in this process. Files are read as fast as possible. Live sources run until Ctrl-C.

    Exit code: 0 if all sources were read, 1 if some failed, 2 if all failed or the usage is wrong.
    """
    with needs("watch", "plates watch"):
        from plate_nets.cameras.metrics import WatchStatus
        from plate_nets.cameras.overlay import Overlay
        from plate_nets.cameras.privacy import hash_text, without_texts
        from plate_nets.cameras.recording import Recording
        from plate_nets.cameras.watcher import Watcher
        from plate_nets.events.sinks import settings as to
        from plate_nets.events.sinks.recorder import Recorder

    given: list[SinkSettings] = [
        *([to.JsonlSettings(path=jsonl)] if jsonl else []),
        *([to.CsvSettings(path=csv)] if csv else []),
        *([to.SqliteSettings(path=sqlite)] if sqlite else []),
        *([to.ParquetSettings(folder=parquet)] if parquet else []),
        *([to.WebhookSettings(url=webhook, secret=os.environ.get(SECRET_VARIABLE))] if webhook else []),
        *([to.MqttSettings(url=mqtt)] if mqtt else []),
        *to.messages(notify or ()),
    ]
    plan, names = _plan(sources, {"fps": fps, "start": start, "zone": zone})
    plan = replace(
        plan,
        watch_lists=(*plan.watch_lists, *(watch_list or ())),
        sinks=_sinks(plan.sinks, given, matches_only, keep_days),
        **_given(
            sure=sure,
            unread=unread,
            outbox=outbox,
            pictures=save_events,
            blur=blur,
            blur_vehicles=blur_vehicles,
            vehicles=vehicles,
            detail=detail,
            thorough=thorough,
            hash=hash,
            keep_days=keep_days,
            keep_mb=keep_mb,
        ),
    )
    salt = os.environ.get(SALT_VARIABLE, "").encode()
    _check(plan, save_video, salt)
    schemes = use_schemes(scheme)
    use_detail(plan.detail, url)
    terminal = Console(stderr=True, highlight=False, soft_wrap=True)

    def say(*words: str) -> None:
        terminal.print(": ".join(words), markup=False)

    cars: set[str] = set()
    with ExitStack() as stack:
        recorder = None
        if plan.sinks:
            size = int(plan.outbox_mb * (1 << 20))
            recorder = Recorder(plan.outbox, plan.sinks, say, max_bytes=size, pictures=plan.pictures)
            stack.callback(recorder.close)
        recording = None
        if save_video:
            shown: Callable[[str], str] = partial(hash_text, salt=salt) if plan.hash else str
            overlay = Overlay(blur_unlisted=plan.blur, blur_vehicles=plan.blur_vehicles, shown=shown)
            recording = Recording(save_video, overlay)
            stack.enter_context(recording)
        # Last, because it takes seconds: unwritable files are refused at once
        reader = stack.enter_context(video_reader(local, url, protocol, timeout, model_repository, log, schemes))
        lists = _watch_lists(plan, say)
        watcher = stack.enter_context(
            Watcher(
                reader,
                plan.cameras,
                plan.watching(joined(schemes or default_schemes()), lists),
                notice=lambda camera, line: say(names.get(camera, camera), line),
                on_frame=recording.write if recording else None,
            )
        )
        if recorder:
            recorder.follow(plan.site(watcher.at_work, lists))
        if metrics_port is not None:
            status = WatchStatus(watcher.status, recorder.deliveries if recorder else ())
            endpoint = HealthEndpoint(status, address, metrics_port, status)
            stack.callback(endpoint.close)
            say("health", endpoint.url)
        ended = stack.enter_context(ended_by_signal(watcher.stop))
        stack.enter_context(live_status(watcher, terminal))
        try:
            for event in watcher:
                (cars.add if event.plate else cars.discard)(event.id)
                public = without_texts(event, salt) if plan.hash else event
                if recorder:
                    recorder.record(public)
                typer.echo(public.to_json() if json else event_line(public))
        except SourceError as error:  # each camera has reported why
            raise typer.Exit(ALL_FAILED) from error
    frames = sum(each.analysed for each in watcher.status())
    saved = [f"saved {save_video}"] if save_video and frames else []
    kept = [f"pictures in {plan.pictures}"] if plan.pictures and cars else []
    say("; ".join([f"{counted(len(cars), 'car')} read in {counted(frames, 'frame')}", *saved, *kept]))
    if ended:
        raise typer.Exit(128 + ended[0])
    if any(each.state == "failed" for each in watcher.status()):
        raise typer.Exit(SOME_FAILED)


def _plan(sources: Sequence[str], each_camera: Mapping[str, Any]) -> "tuple[WatchPlan, dict[str, str]]":
    """The plan of cameras.yaml, or for other sources, and how to call its cameras; ``each_camera``: given options."""
    from plate_nets.cameras.cameras_file import SUFFIXES, WatchPlan, load_cameras
    from plate_nets.cameras.settings import CameraSettings

    names: dict[str, str] = {}
    if len(sources) == 1 and Path(sources[0]).suffix.lower() in SUFFIXES:
        plan = load_cameras(Path(sources[0]))
    else:
        plan = WatchPlan(tuple(CameraSettings(each) for each in sources))
        names = {camera.id: str(camera.address) for camera in plan.cameras if not camera.address.live}
    return replace(plan, cameras=tuple(replace(camera, **_given(**each_camera)) for camera in plan.cameras)), names


def _given(**options: Any) -> dict[str, Any]:
    """The options that were given: the others leave the file's value."""
    return {name: value for name, value in options.items() if value is not None and value is not False}


def _check(plan: "WatchPlan", save_video: Path | None, salt: bytes) -> None:
    """Raise InputError for options that do not go together."""
    if save_video:
        if len(plan.cameras) > 1:
            raise InputError(
                f"--save-video works with one source, got {len(plan.cameras)}; watch them one by one, or leave it out"
            )
        if os.path.realpath(save_video) == os.path.realpath(plan.cameras[0].source):
            raise InputError(f"--save-video {save_video} would overwrite the video that is read; choose another file")
    unasked = [camera.id for camera in plan.cameras if camera.read == "on_trigger" and not camera.onvif]
    if unasked:
        raise InputError(
            f"camera {unasked[0]}: read: on_trigger: nobody can ask; set `onvif`, or use `plates web --cameras`"
        )
    if plan.hash and not salt:
        raise InputError(f"--hash needs a salt; set it in the environment variable {SALT_VARIABLE}")


def _sinks(
    of_file: "Sequence[SinkSettings]", given: "Sequence[SinkSettings]", matches_only: bool, keep_days: float | None
) -> "tuple[SinkSettings, ...]":
    """Merge the sinks of cameras.yaml with those of options, which replace sinks of the same type."""
    types = {each.type for each in given}
    sinks = [*(each for each in of_file if each.type not in types), *given]
    if matches_only:
        sinks = [replace(each, matches_only=True) for each in sinks]
    if keep_days is not None:
        sinks = [replace(each, keep_days=keep_days) if each.type == "sqlite" else each for each in sinks]
    return tuple(sinks)


def _watch_lists(plan: "WatchPlan", say: Callable[..., None]) -> "list[WatchList]":
    """Load the watch lists of a plan, and say which of their rows are left out, and which cameras are unknown."""
    from plate_nets.cameras.watch_lists import load_watch_list

    lists = [load_watch_list(path) for path in plan.watch_lists]
    for each in lists:
        for remark in each.remarks([camera.id for camera in plan.cameras]):
            say("watch list", remark)
    return lists
