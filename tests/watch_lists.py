"""Watch lists for tests."""

from collections.abc import Mapping

from plate_nets.cameras.list_entries import ListEntry
from plate_nets.cameras.watch_lists import WatchList


def watch_list(name: str, labels: Mapping[str, str]) -> WatchList:
    """A list of plates with their labels, which match everywhere and always."""
    return WatchList(name, {plate: ListEntry(label) for plate, label in labels.items()})
