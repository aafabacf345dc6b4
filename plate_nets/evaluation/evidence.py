"""Stores what was read in the frames of a clip, so that later steps can be tried again in seconds."""

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from plate_nets.common.atomic_files import whole_file
from plate_nets.common.errors import DatasetError
from plate_nets.countries import PlateScheme
from plate_nets.recognition.schemes import stacked
from plate_nets.types import Box, Plate, Reading


@dataclass(frozen=True)
class ReadFrame:
    """A frame of a clip: seconds from the beginning, and the plates found, with their evidence.

    ``cut``: the scene differs from the frame before.
    """

    time: float
    plates: tuple[Plate, ...]
    cut: bool = False


def stored_or_read(path: Path | None, frames: Iterable[ReadFrame]) -> list[ReadFrame]:
    """The frames stored in a file of evidence, or the given ones if there is no such file yet; then they are stored in
    it.

    Without a path, nothing is stored. ``frames`` are only consumed if they are needed.

    Raises:
        DatasetError: the file is damaged.
        OSError: the disk is full or read-only.
    """
    if path is not None and path.exists():
        return load_evidence(path)
    read = list(frames)
    if path is not None:
        save_evidence(path, read)
    return read


def evidence_path(folder: Path, clip: Path, version: str, scheme: PlateScheme, rates: str) -> Path:
    """Where the evidence of a clip is stored, by the version of the networks, the formats and the frames read."""
    how = hashlib.sha256(f"{scheme.name} {rates}".encode()).hexdigest()[:8]
    return folder / version / f"{clip.resolve().parent.name}_{clip.stem}_{how}.safetensors"


def save_evidence(path: Path, frames: Sequence[ReadFrame]) -> None:
    """Write frames to a safetensors file for `load_evidence`, in full or not at all.

    Raises:
        OSError: the disk is full or read-only.
    """
    records = [
        {
            "time": frame.time,
            "cut": frame.cut,
            "plates": [
                {
                    "box": asdict(plate.box),
                    "score": plate.score,
                    "reading": asdict(plate.reading),
                    "corners": plate.corners,
                    "logits": plate.logits is not None,
                }
                for plate in frame.plates
            ],
        }
        for frame in frames
    ]
    logits = [plate.logits for frame in frames for plate in frame.plates if plate.logits is not None]
    with whole_file(path) as aside:
        save_file(
            {"logits": stacked(logits) if logits else np.zeros(0, np.float32)}, aside, {"frames": json.dumps(records)}
        )


def load_evidence(path: Path) -> list[ReadFrame]:
    """Read the frames from a file written by `save_evidence`.

    Raises:
        DatasetError: the file is missing or damaged.
    """
    try:
        with safe_open(path, "numpy") as file:
            records, logits = json.loads(file.metadata()["frames"]), iter(file.get_tensor("logits"))
            return [
                ReadFrame(
                    frame["time"],
                    tuple(
                        Plate(
                            Box(**plate["box"]),
                            plate["score"],
                            _reading(plate["reading"]),
                            next(logits) if plate["logits"] else None,
                            corners=tuple(plate["corners"]),
                        )
                        for plate in frame["plates"]
                    ),
                    frame["cut"],
                )
                for frame in records
            ]
    except (OSError, KeyError, TypeError, ValueError, StopIteration, SafetensorError) as error:
        raise DatasetError(
            f"{path}: expected a file of evidence, got {error!r}; delete it to have it rebuilt"
        ) from error


def _reading(values: dict[str, object]) -> Reading:
    lists = {name: tuple(value) for name, value in values.items() if isinstance(value, list)}
    return Reading(**(values | lists))  # type: ignore[arg-type]  # what `asdict` gave
