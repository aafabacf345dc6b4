"""Health check: read a known picture, because Triton (24.10) reports "ready" even if a stub is dead.

`known_picture/` holds the picture, rendered by the project, and `expected.json` with the texts of its plates.
"""

import json
import secrets
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from plate_nets.common.errors import ServerError
from plate_nets.countries import MAIN_SCHEME
from plate_nets.recognition.reader import GatedReader

_NONCE = 8
_SURE = 0.8
"""The minimum confidence of a text in this check, whatever the reader is set to."""
KNOWN = Path(__file__).parent / "known_picture"


@dataclass(frozen=True)
class KnownPicture:
    """An encoded picture and the texts of its plates."""

    image: bytes
    texts: tuple[str, ...]


@cache
def known_picture() -> KnownPicture:
    facts = json.loads((KNOWN / "expected.json").read_text(encoding="utf-8"))
    return KnownPicture((KNOWN / facts["file"]).read_bytes(), tuple(facts["texts"]))


def check_health(reader: GatedReader, texts: bool | None = None) -> None:
    """Check that a reader reads exactly the texts of the known picture.

    ``texts``: whether it reads plates of Russia; if not, only the number of plates is checked. By default its answer
    decides.

    Raises:
        ServerError: it does not.
    """
    known = known_picture()
    # Decoders ignore bytes after the picture; random ones prevent an answer from a cache
    image = known.image + secrets.token_bytes(_NONCE)
    readings = [plate.reading for plate in reader.read(image, sure=_SURE)]
    if texts is None:
        texts = not readings or any(reading.scheme in ("", MAIN_SCHEME) for reading in readings)
    found = sorted(reading.text or f"unread, perhaps {reading.best}" for reading in readings)
    if found != sorted(known.texts) if texts else len(found) != len(known.texts):
        raise ServerError(
            f"the known picture is not recognised: expected {', '.join(sorted(known.texts))}, "
            f"got {', '.join(found) or 'no plate'}"
        )
