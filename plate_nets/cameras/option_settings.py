"""Settings of cameras.yaml that are also options of `plates watch`.

Its help needs no extra, so neither does this module.
"""

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Annotated

from typer import BadParameter, Option

from plate_nets.cameras.fusion import FusionSettings

SALT_VARIABLE = "PLATES_HASH_SALT"


def _moment(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text)
    except ValueError as error:
        raise BadParameter(f"expected a time such as 2026-11-22T10:00+03:00, got {text!r}") from error


@dataclass(frozen=True, kw_only=True)
class EachCamera:
    """What the command sets for every camera."""

    fps: Annotated[
        float | None,
        Option(help="Frames per second to analyse. Default: up to 10 of a camera, all of a file.", min=0.001),
    ] = None
    start: Annotated[
        datetime | None,
        Option(
            help="When the first picture of a file was taken, such as 2026-11-22T10:00+03:00. Default: now.",
            metavar="TIME",
            parser=_moment,
        ),
    ] = None
    zone: Annotated[str, Option(help="Time zone of the lines and of timestamp_local, such as Europe/Moscow.")] = "UTC"


@dataclass(frozen=True, kw_only=True)
class AllCameras:
    """What the command sets for all cameras together."""

    sure: Annotated[float, Option(help="How probable the text of an event must be, 0 to 1.")] = FusionSettings.sure
    unread: Annotated[bool, Option(help="Also report cars that cannot be read, without a text.")] = False
    pictures: Annotated[
        Path | None,
        Option(
            "--save-events",
            help="Save the best plate, frame and vehicle of each event to this folder.",
            file_okay=False,
        ),
    ] = None
    outbox: Annotated[Path, Option(help="SQLite file that keeps events until every sink has them.", dir_okay=False)] = (
        Path("plates-outbox.sqlite")
    )
    blur: Annotated[bool, Option(help="Make plates unreadable in all pictures, except those on a watch list.")] = False
    blur_vehicles: Annotated[
        bool,
        Option(
            help="Make whole vehicles unrecognizable in pictures, except those of plates on a watch list. Also finds "
            "vehicles."
        ),
    ] = False
    hash: Annotated[bool, Option(help=f"Replace texts by salted hashes; set the salt in {SALT_VARIABLE}.")] = False
    keep_mb: Annotated[
        float | None, Option(help="Delete the oldest pictures when all together exceed this size (MB).", min=0)
    ] = None
    thorough: Annotated[
        bool,
        Option(help="Look at every frame as a whole and read every plate. Default: only what may tell something new."),
    ] = False
