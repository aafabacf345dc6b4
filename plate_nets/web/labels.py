"""Corrected events -> rows of a labelled folder (`evaluation/dataset.py`), their frames copied into it."""

import re
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Literal

from plate_nets.errors import ContractError
from plate_nets.evaluation.dataset import BOX_COLUMNS
from plate_nets.events import PlateEvent
from plate_nets.plates import PlateScheme
from plate_nets.types import CORNER_COLUMNS
from plate_nets.web.store import Document

Missing = Literal["no frame of them is kept", "fit no format"]
"""Why events are left out."""

_ID = re.compile(r"[0-9A-HJKMNP-TV-Z]{26}")
"""A ULID, which is safe as the name of a file."""


def label_rows(
    events: Iterable[Document], pictures: Path, images: Path, scheme: PlateScheme | None = None
) -> Iterator[dict[str, object] | Missing]:
    """Events with a correction -> the row of each, its frame copied, or why it is left out.

    Args:
        events: as the store gives them.
        pictures: folder of their pictures.
        images: folder that gets the frames, by the events' ids.
        scheme: whose formats a correction has to fit; None: any text will do.

    Raises:
        ContractError: one is no event.
    """
    root = pictures.resolve()
    for event in events:
        if not _ID.fullmatch(PlateEvent.from_dict(event).id):
            raise ContractError(f"event {event['id']!r}: id: expected a ULID")
        name = (event.get("images") or {}).get("frame")
        frame = (root / name).resolve() if isinstance(name, str) and name.isprintable() else None
        if frame is None or not frame.is_relative_to(root) or not frame.is_file():
            yield "no frame of them is kept"
            continue
        if scheme and not scheme.is_plate(event["correction"]):
            yield "fit no format"
            continue
        copy = images / f"{event['id']}{frame.suffix}"
        shutil.copyfile(frame, copy)
        corners = [place for point in event["corners"] or () for place in point]
        yield {
            "file": copy.name,
            "text": event["correction"],
            **{side: event["box"][side] for side in BOX_COLUMNS},
            **dict(zip(CORNER_COLUMNS, corners, strict=False)),
        }
