"""A row of the result: one photo with its plates, or with the code of the error that kept it from being read."""

import hashlib
import time
from collections.abc import Callable
from typing import Any

import pyarrow as pa

from plate_nets.common.error_codes import answer_for
from plate_nets.common.errors import AccessDenied, InputError, ServerError, ServerUnavailable
from plate_nets.recognition.reader import VehicleReader
from plate_nets.types import Plate

UNREADABLE = "PLATES_UNREADABLE"
"""Code for a photo that is missing or does not open."""

Fetched = bytes | OSError | InputError
"""A photo's bytes, or why there are none."""

_BOX = ("xmin", "ymin", "xmax", "ymax")

VEHICLE = pa.struct(
    {
        "type": pa.string(),
        "score": pa.float32(),
        "side": pa.string(),
        "box": pa.struct(dict.fromkeys(_BOX, pa.float32())),
    }
)
"""A vehicle: names and meanings as in `types.Vehicle`."""

PLATE = pa.struct(
    {
        "text": pa.string(),
        "reading": pa.string(),
        "confidence": pa.float32(),
        "characters": pa.list_(pa.float32()),
        "format": pa.string(),
        "scheme": pa.string(),
        "score": pa.float32(),
        "corners": pa.list_(pa.float32()),
        "country": pa.string(),
        "country_confidence": pa.float32(),
        "ground": pa.string(),
        "ground_confidence": pa.float32(),
        "box": pa.struct(dict.fromkeys(_BOX, pa.float32())),
        "vehicle": VEHICLE,
        "latin": pa.string(),
    }
)
"""A plate: names and meanings as in `types.Plate` and `types.Reading`; pixels of the upright photo. What JSON leaves
out is null: country and ground unless the reader was asked for them, the Latin form of a text in Latin letters."""

FOUND = {
    "size": pa.int64(),
    "digest": pa.string(),
    "error": pa.string(),
    "message": pa.string(),
    "milliseconds": pa.float32(),
    "plates": pa.list_(PLATE),
}
"""Result for a photo: bytes, SHA-256, error code from docs/reference/errors.md or `UNREADABLE` (null: none), error
message, reading time, plates by falling score (null after an error)."""

ROW = pa.schema({"path": pa.string(), **FOUND, "model": pa.string()})
"""A row of a shard; ``path`` as the source names it, ``model`` is the version of the networks."""


def fetched(read: Callable[[str], bytes], name: str) -> Fetched:
    """Read a photo by its name -> its bytes, or why there are none. Raises what keeps all photos from being read."""
    try:
        return read(name)
    except (OSError, InputError) as error:
        return error


def read_photo(
    reader: VehicleReader, photo: Fetched, sure: float | None = None, vehicles: bool = False
) -> dict[str, Any]:
    """A photo's bytes, or why there are none -> its values for `FOUND`; ``sure``, ``vehicles`` as `VehicleReader.read`.

    Raises:
        PlateError: no photo can be read: the server is down or refuses, or the networks cannot be loaded.
    """
    if isinstance(photo, OSError):
        return _row(None, error=UNREADABLE, message=photo.strerror or str(photo))
    if isinstance(photo, InputError):
        return _row(None, error=answer_for(photo).phrase, message=str(photo))
    started = time.perf_counter()
    try:
        plates = reader.read(photo, evidence=True, sure=sure, vehicles=vehicles)
    except (ServerUnavailable, AccessDenied):
        raise
    except (InputError, ServerError) as error:
        return _row(photo, error=answer_for(error).phrase, message=str(error))
    return _row(photo, milliseconds=(time.perf_counter() - started) * 1000, plates=[plate_row(p) for p in plates])


def plate_row(plate: Plate) -> dict[str, Any]:
    row = plate.to_dict()
    own = row["vehicle"]
    return row | {
        "characters": [round(each, 4) for each in plate.reading.characters],
        "box": dict(zip(_BOX, row["box"], strict=True)),
        "vehicle": own and own | {"box": dict(zip(_BOX, own["box"], strict=True))},
    }


def _row(photo: bytes | None, **found: Any) -> dict[str, Any]:
    known: dict[str, Any] = {}
    if photo is not None:
        known = {"size": len(photo), "digest": hashlib.sha256(photo).hexdigest()}
    return {**dict.fromkeys(FOUND), **known, **found}
