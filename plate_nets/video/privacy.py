"""Events without texts: each is replaced by a salted hash, so that the same car is known again and no plate is."""

import hashlib
import hmac
from dataclasses import replace

from plate_nets.events import PlateEvent

_DIGITS = 16


def hash_text(text: str, salt: bytes) -> str:
    """A plate's text -> the first 64 bits of its HMAC-SHA256 as hex; '' stays.

    There are few plates: who knows the salt can find the text of a hash by trying all.
    """
    return hmac.new(salt, text.encode(), hashlib.sha256).hexdigest()[:_DIGITS] if text else ""


def without_texts(event: PlateEvent, salt: bytes) -> PlateEvent:
    """An event -> the same with hashes for texts, and without the probabilities of their characters."""
    return replace(
        event,
        plate=hash_text(event.plate, salt),
        reading=hash_text(event.reading, salt),
        characters=(),
        candidates=tuple(replace(each, plate=hash_text(each.plate, salt)) for each in event.candidates),
        region=replace(event.region, subject=None),
        watch=tuple(replace(each, entry=hash_text(each.entry, salt), label="") for each in event.watch),
    )
