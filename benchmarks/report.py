"""The report of a run of `plates bench`: it grows as parts are measured, and is kept whatever ends the run."""

import json
from pathlib import Path
from typing import Any

from rich.console import Console

from benchmarks.environment import environment
from benchmarks.tables import tables
from plate_nets.errors import InputError


class Report:
    """Figures so far, JSON-ready: where and with what, ``runs`` of loads, and a key for each further part.

    ``path``: where it is written as JSON, at once and after each part.

    Raises:
        InputError: it cannot be written there.
    """

    def __init__(self, options: dict[str, Any], path: Path | None = None) -> None:
        self.values: dict[str, Any] = {**environment(), "options": options, "server": None, "runs": [], "error": None}
        self._path = path
        self._save()

    @property
    def empty(self) -> bool:
        """Whether nothing was measured yet."""
        return not any(self.values.get(part) for part in ("runs", "sides", "reach", "stages", "networks", "cache"))

    def add_run(self, run: dict[str, Any]) -> None:
        """Keep the figures of one load."""
        self.values["runs"].append(run)
        self._save()

    def set(self, part: str, value: Any) -> None:
        """Keep a part."""
        self.values[part] = value
        self._save()

    def print(self, console: Console) -> None:
        """Tables of what was measured."""
        for table in tables(self.values):
            table.print(console)

    def _save(self) -> None:
        if self._path is None:
            return
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._path.write_text(json.dumps(self.values, indent=1) + "\n", encoding="utf-8")
        except OSError as error:
            raise InputError(f"--json {self._path}: {error.strerror}") from error
