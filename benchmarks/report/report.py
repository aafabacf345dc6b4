"""The report of a run of `python -m benchmarks`, saved after each part, so that an interrupted run loses nothing."""

import json
from pathlib import Path
from typing import Any

from rich.console import Console

from benchmarks.report.environment import environment
from benchmarks.report.tables import tables
from plate_nets.common.errors import InputError

_PARTS = ("loads", "workloads", "targets", "overload", "stages", "networks", "against")


class Report:
    """The results so far, as values for JSON: the environment, ``loads``, and a key for each further part.

    ``path``: the JSON file to write at once and after each part.

    Raises:
        InputError: it cannot be written.
    """

    def __init__(self, options: dict[str, Any], path: Path | None = None) -> None:
        self.values: dict[str, Any] = {**environment(), "options": options, "server": None, "loads": [], "error": None}
        self._path = path
        self._save()

    @property
    def empty(self) -> bool:
        return not any(self.values.get(part) for part in _PARTS)

    def add_load(self, load: dict[str, Any]) -> None:
        self.values["loads"].append(load)
        self._save()

    def set(self, part: str, value: Any) -> None:
        self.values[part] = value
        self._save()

    def print(self, console: Console) -> None:
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
