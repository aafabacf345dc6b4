"""Hours of each day."""

import re
from dataclasses import dataclass
from datetime import datetime, time

from plate_nets.common.errors import InputError

_HOURS = re.compile(r"(\d\d:\d\d)-(\d\d:\d\d)")


@dataclass(frozen=True)
class DayHours:
    """A time of each day; it may go past midnight."""

    begins: time
    ends: time

    @classmethod
    def parse(cls, text: str) -> "DayHours":
        """Text such as "22:00-07:00" -> the hours.

        Raises:
            InputError: it is something else.
        """
        found = _HOURS.fullmatch(text)
        if found is None or found[1] == found[2]:
            raise InputError(f"expected two times such as 22:00-07:00, got {text!r}")
        try:
            return cls(*map(time.fromisoformat, found.groups()))
        except ValueError as error:
            raise InputError(f"expected times from 00:00 to 23:59, got {text!r}") from error

    def __str__(self) -> str:
        return f"{self.begins:%H:%M}-{self.ends:%H:%M}"

    def include(self, moment: datetime) -> bool:
        now = moment.time()
        if self.begins < self.ends:
            return self.begins <= now < self.ends
        return now >= self.begins or now < self.ends
