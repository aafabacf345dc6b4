"""Replaces the texts of events by salted hashes, so that a car is recognized again without its plate."""

import hashlib
import hmac
import re
from dataclasses import replace

from plate_nets.events.event import PlateEvent

_DIGITS = 16
_HASH = re.compile(f"[0-9a-f]{{{_DIGITS}}}")


def hash_text(text: str, salt: bytes) -> str:
    """A plate's text -> the first 64 bits of its HMAC-SHA256 as hex; '' stays.

    Anyone who knows the salt can find the text of a hash by trying all plates.
    """
    return hmac.new(salt, text.encode(), hashlib.sha256).hexdigest()[:_DIGITS] if text else ""


def is_hash(text: str) -> bool:
    """Whether a text may be a hash; as plates have capitals, nearly none looks like one."""
    return _HASH.fullmatch(text) is not None


def without_texts(event: PlateEvent, salt: bytes) -> PlateEvent:
    """An event -> the same with hashes instead of texts, and without the probabilities of their characters."""
    own = event.own_reading
    return replace(
        event,
        plate=hash_text(event.plate, salt),
        reading=hash_text(event.reading, salt),
        characters=(),
        candidates=tuple(replace(other, plate=hash_text(other.plate, salt)) for other in event.candidates),
        own_reading=own and replace(own, name=hash_text(own.name, salt)),
        region=replace(event.region, subject=None),
        watch=tuple(replace(match, entry=hash_text(match.entry, salt), label="") for match in event.watch),
    )
