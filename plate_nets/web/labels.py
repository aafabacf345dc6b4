"""Turns corrected events into rows of a labelled folder (`evaluation/dataset.py`), with copies of their frames."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Literal

from plate_nets.common.errors import ContractError, InputTooLarge
from plate_nets.common.intake.files import read_file
from plate_nets.countries import PlateScheme
from plate_nets.evaluation.dataset import BOX_COLUMNS
from plate_nets.events.event import PlateEvent
from plate_nets.recognition.reader import FrameLimits
from plate_nets.types import CORNER_COLUMNS
from plate_nets.web.event_pictures import kept_picture
from plate_nets.web.store import Document

Missing = Literal["no frame of them is kept", "fit no format", "have characters other than letters and digits"]
"""Why events are skipped."""

_ID = re.compile(r"[0-9A-HJKMNP-TV-Z]{26}")
"""A ULID, which is safe as a file name."""


def label_rows(
    events: Iterable[Document], pictures: Path, images: Path, scheme: PlateScheme | None = None
) -> Iterator[dict[str, object] | Missing]:
    """Corrected events -> the row of each, after copying its frame, or why it is skipped.

    Args:
        events: from the store.
        pictures: folder of their pictures.
        images: folder for the frames, named by the events' ids.
        scheme: its formats must fit a correction; None: any text is accepted.

    Raises:
        ContractError: an event is invalid.
    """
    for event in events:
        if not _ID.fullmatch(PlateEvent.from_dict(event).id):
            raise ContractError(f"event {event['id']!r}: id: expected a ULID")
        frame = kept_picture(pictures, event, "frame")
        try:
            content = read_file(frame, FrameLimits().max_bytes) if frame else None
        except (OSError, InputTooLarge):
            content = None
        if frame is None or content is None:
            yield "no frame of them is kept"
            continue
        text = event["correction"]
        if not (isinstance(text, str) and text.isalnum()):  # e.g. a spreadsheet's formula
            yield "have characters other than letters and digits"
            continue
        if scheme and not scheme.is_plate(text):
            yield "fit no format"
            continue
        copy = images / f"{event['id']}{frame.suffix}"
        copy.write_bytes(content)
        corners = [place for point in event["corners"] or () for place in point]
        yield {
            "file": copy.name,
            "text": text,
            **{side: event["box"][side] for side in BOX_COLUMNS},
            **dict(zip(CORNER_COLUMNS, corners, strict=False)),
        }
