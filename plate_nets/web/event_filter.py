"""A filter for events as conditions in SQL."""

from datetime import UTC, datetime
from functools import partial
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from plate_nets.cameras.privacy import is_hash
from plate_nets.common.errors import InputError
from plate_nets.common.spelling import normalize, spellings

WILD = frozenset("*?")
_AFTER_ALL = chr(0x10FFFF)
_LONGEST = 64
"""Characters of a text that is searched for."""

Condition = tuple[str, list[str]]
"""SQL, and the values of its parameters. A condition on a text has ``{0}`` for the column."""


def stored_time(text: str, name: str) -> str:
    """A time in ISO 8601, in UTC without an offset -> the store's format; empty stays empty.

    Raises:
        InputError: it is not such a time.
    """
    if not text:
        return ""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise InputError(f"{name}: expected a time such as 2026-11-22T10:00:00Z") from error
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    try:
        moment = moment.astimezone(UTC)
    except OverflowError as error:
        raise InputError(f"{name}: expected a time of the years 1 to 9999 in UTC") from error
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


class EventFilter(BaseModel):
    """A filter for events; empty fields match any. Raises InputError for a time that is none."""

    model_config = ConfigDict(frozen=True)

    text: Annotated[str, AfterValidator(lambda text: text[:_LONGEST])] = Field(
        default="",
        description="of the plate, in its own or in Latin letters: its beginning, a pattern with * and ?, or a hash",
    )
    distance: int = Field(
        default=0, ge=0, le=2, description="edits by which it may differ; above 0, * and ? have no meaning"
    )
    camera: str = Field(default="", description="its id")
    list: str = Field(default="", description="name of a matching watch list")
    since: Annotated[str, AfterValidator(partial(stored_time, name="since"))] = Field(
        default="", description="from this time on, ISO 8601"
    )
    until: Annotated[str, AfterValidator(partial(stored_time, name="until"))] = Field(
        default="", description="before this time"
    )

    @property
    def stored_text(self) -> str:
        """The text as in the store."""
        return self.text if is_hash(self.text) else normalize(self.text)

    def conditions(self) -> Condition:
        """All but the text -> the conditions on an event."""
        given = [
            ("camera_id = ?", self.camera),
            ("lists <> '[]' AND EXISTS (SELECT 1 FROM json_each(lists) WHERE value = ?)", self.list),
            ("timestamp >= ?", self.since),
            ("timestamp < ?", self.until),
        ]
        used = [(condition, value) for condition, value in given if value]
        return " AND ".join(condition for condition, _ in used) or "TRUE", [value for _, value in used]


def pattern(text: str) -> Condition:
    """A text with wild cards -> a condition on a text. Beyond ASCII, a sign stands for all its spellings.

    It uses the index up to the first sign that may be several.
    """
    signs = [sign if sign in WILD or text.isascii() else spellings(sign) for sign in text]
    several = next((at for at, sign in enumerate(signs) if sign in WILD or len(sign) > 1), len(text))
    prefix = text[:several]
    conditions, values = ["{0} >= ? AND {0} < ?"], [prefix, prefix + _AFTER_ALL]
    if several < len(text):
        conditions.append("{0} GLOB ?")
        glob = "".join(f"[{sign}]" if len(sign) > 1 or sign == "[" else sign for sign in signs)
        values.append(glob if WILD & set(text) else f"{glob}*")
    return " AND ".join(conditions), values
