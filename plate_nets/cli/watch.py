"""`plates watch`: prints one line per event of cameras and video files."""

import os
from collections.abc import Callable, Collection, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer
from rich.console import Console

from plate_nets.cameras.option_settings import SALT_VARIABLE, AllCameras, EachCamera
from plate_nets.cli.options import (
    Details,
    KeepDays,
    Local,
    Log,
    ModelRepository,
    Notify,
    Protocol,
    Schemes,
    Timeout,
    Urls,
    Vehicles,
    WatchLists,
    use_detail,
    use_schemes,
)
from plate_nets.cli.output import counted
from plate_nets.cli.readers import open_reader
from plate_nets.cli.setting_options import given, options_of
from plate_nets.cli.signals import ended_by_signal
from plate_nets.cli.watch_status import event_line, live_status
from plate_nets.common.errors import InputError, SourceError
from plate_nets.common.extras import needs
from plate_nets.countries import default_schemes, joined
from plate_nets.events.sinks.settings import SinkSettings, messages, sinks_at
from plate_nets.triton.supervision.health_endpoint import HealthEndpoint

if TYPE_CHECKING:
    from plate_nets.cameras.cameras_file import WatchPlan
    from plate_nets.cameras.recording import Recording
    from plate_nets.cameras.watch_lists import WatchList
    from plate_nets.cameras.watcher import Watcher
    from plate_nets.events.sinks.recorder import Recorder

SOME_FAILED, ALL_FAILED = 1, 2


@options_of(EachCamera, AllCameras, *get_args(SinkSettings))
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
    watch_list: WatchLists = None,
    save_video: Annotated[
        Path | None,
        typer.Option(help="Write the video with outlines and texts, as MP4. Only for a single source.", dir_okay=False),
    ] = None,
    notify: Notify = None,
    matches_only: Annotated[
        bool, typer.Option("--matches-only", help="Send sinks only the events that match a watch list.")
    ] = False,
    vehicles: Vehicles = False,
    keep_days: KeepDays = None,
    metrics_port: Annotated[
        int | None,
        typer.Option(help="Serve /health and /metrics on this port; 0 picks a free one.", min=0, max=65535),
    ] = None,
    address: Annotated[str, typer.Option(help="Address that --metrics-port listens on.")] = "127.0.0.1",
    scheme: Schemes = None,
    detail: Details = None,
    timeout: Timeout = 30.0,
    model_repository: ModelRepository = None,
    log: Log = None,
    **options: Any,
) -> None:
    """Follow cameras and video files. Prints a line when a car's plate is certain or changes, and when the car leaves.

    Without --url and --local, the command starts a Triton server for as long as it runs. If Triton is not installed, it
    reads in this process. Files are read as fast as possible. Live sources run until Ctrl-C.

    Exit code: 0 if all sources were read, 1 if some failed, 2 if all failed or the usage is wrong.
    """
    with needs("watch", "plates watch"):
        from plate_nets.cameras.cameras_file import WatchPlan
        from plate_nets.cameras.metrics import WatchStatus
        from plate_nets.cameras.watcher import Watcher

    plan, names = _plan(sources, given(EachCamera, options))
    plan = replace(
        plan,
        watch_lists=(*plan.watch_lists, *(watch_list or ())),
        sinks=_sinks(plan.sinks, [*sinks_at(options), *messages(notify or ())], matches_only, keep_days),
        **given(WatchPlan, {**options, "vehicles": vehicles, "detail": detail, "keep_days": keep_days}),
    )
    salt = os.environ.get(SALT_VARIABLE, "").encode()
    _check(plan, save_video, salt)
    schemes = use_schemes(scheme)
    use_detail(plan.detail, url)
    terminal = Console(stderr=True, highlight=False, soft_wrap=True)

    def say(*words: str) -> None:
        terminal.print(": ".join(words), markup=False)

    with ExitStack() as stack:
        recorder = stack.enter_context(_recorder(plan, say)) if plan.sinks else None
        recording = stack.enter_context(_recording(save_video, plan, salt)) if save_video else None
        # Last, because it takes seconds: unwritable files are refused at once
        reader = stack.enter_context(open_reader(local, url, protocol, timeout, model_repository, log, schemes))
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
            say("health", stack.enter_context(HealthEndpoint(status, address, metrics_port, status)).url)
        ended = stack.enter_context(ended_by_signal(watcher.stop))
        stack.enter_context(live_status(watcher, terminal))
        cars = _follow(watcher, recorder, salt if plan.hash else None, json)
    say(_summary(watcher, cars, save_video, plan.pictures))
    if ended:
        raise typer.Exit(128 + ended[0])
    if any(each.state == "failed" for each in watcher.status()):
        raise typer.Exit(SOME_FAILED)


def _plan(sources: Sequence[str], each_camera: dict[str, Any]) -> "tuple[WatchPlan, dict[str, str]]":
    """The plan of cameras.yaml, or for other sources, and how to call its cameras; ``each_camera``: given options."""
    from plate_nets.cameras.cameras_file import SUFFIXES, WatchPlan, load_cameras
    from plate_nets.cameras.settings import CameraSettings

    names: dict[str, str] = {}
    if len(sources) == 1 and Path(sources[0]).suffix.lower() in SUFFIXES:
        plan = load_cameras(Path(sources[0]))
    else:
        plan = WatchPlan(tuple(CameraSettings(each) for each in sources))
        names = {camera.id: str(camera.address) for camera in plan.cameras if not camera.address.live}
    return replace(plan, cameras=tuple(replace(camera, **each_camera) for camera in plan.cameras)), names


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


def _recorder(plan: "WatchPlan", say: Callable[[str], None]) -> "Recorder":
    from plate_nets.events.sinks.recorder import Recorder

    size = int(plan.outbox_mb * (1 << 20))
    return Recorder(plan.outbox, plan.sinks, say, max_bytes=size, pictures=plan.pictures)


def _recording(path: Path, plan: "WatchPlan", salt: bytes) -> "Recording":
    """Open the video to write; it shows what the events tell, and hides what their pictures hide."""
    from plate_nets.cameras.overlay import Overlay
    from plate_nets.cameras.privacy import hash_text
    from plate_nets.cameras.recording import Recording

    shown: Callable[[str], str] = partial(hash_text, salt=salt) if plan.hash else str
    return Recording(path, Overlay(blur_unlisted=plan.blur, blur_vehicles=plan.blur_vehicles, shown=shown))


def _sinks(
    of_file: Sequence[SinkSettings], of_options: Sequence[SinkSettings], matches_only: bool, keep_days: float | None
) -> tuple[SinkSettings, ...]:
    """Merge the sinks of cameras.yaml with those of options, which replace sinks of the same type."""
    types = {each.type for each in of_options}
    sinks = [*(each for each in of_file if each.type not in types), *of_options]
    if matches_only:
        sinks = [replace(each, matches_only=True) for each in sinks]
    if keep_days is not None:
        sinks = [replace(each, keep_days=keep_days) if each.type == "sqlite" else each for each in sinks]
    return tuple(sinks)


def _watch_lists(plan: "WatchPlan", say: Callable[..., None]) -> "list[WatchList]":
    from plate_nets.cameras.watch_lists import load_watch_list

    lists = [load_watch_list(path) for path in plan.watch_lists]
    for each in lists:
        for remark in each.remarks([camera.id for camera in plan.cameras]):
            say("watch list", remark)
    return lists


def _follow(watcher: "Watcher", recorder: "Recorder | None", salt: bytes | None, json: bool) -> set[str]:
    """Print and record each event until the sources end -> the cars with a text; ``salt``: hides the texts."""
    from plate_nets.cameras.privacy import without_texts

    cars: set[str] = set()
    try:
        for event in watcher:
            (cars.add if event.plate else cars.discard)(event.id)
            public = event if salt is None else without_texts(event, salt)
            if recorder:
                recorder.record(public)
            typer.echo(public.to_json() if json else event_line(public))
    except SourceError as error:  # each camera has reported why
        raise typer.Exit(ALL_FAILED) from error
    return cars


def _summary(watcher: "Watcher", cars: Collection[str], video: Path | None, pictures: Path | None) -> str:
    frames = sum(each.analysed for each in watcher.status())
    saved = [f"saved {video}"] if video and frames else []
    kept = [f"pictures in {pictures}"] if pictures and cars else []
    return "; ".join([f"{counted(len(cars), 'car')} read in {counted(frames, 'frame')}", *saved, *kept])
