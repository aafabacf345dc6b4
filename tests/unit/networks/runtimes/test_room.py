"""The limit of address space: what the networks need, and that they are not loaded with less."""

import re
import sys

import pytest

from plate_nets.common.errors import WeightsError
from plate_nets.networks.runtimes import room
from plate_nets.networks.runtimes.networks import default_repository, first_versions, load_converted
from plate_nets.networks.runtimes.room import check_room

_MEGABYTE = 1 << 20


@pytest.mark.parametrize(("readers", "threads", "needed"), [(1, 1, 1430), (1, 2, 1510), (3, 2, 2010), (0, 8, 1740)])
def test_each_reader_and_each_thread_needs_room(
    monkeypatch: pytest.MonkeyPatch, readers: int, threads: int, needed: int
) -> None:
    monkeypatch.setattr(room, "_free", lambda: needed * _MEGABYTE)
    check_room(readers, threads)
    monkeypatch.setattr(room, "_free", lambda: needed * _MEGABYTE - 1)
    with pytest.raises(WeightsError, match=rf"needs {needed} MB of address space, and its limit leaves {needed - 1}: "):
        check_room(readers, threads)


def test_without_a_limit_there_is_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "resource", None)  # as on Windows
    check_room(1000, 1000)


def test_networks_are_not_loaded_without_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "_free", lambda: 1000 * _MEGABYTE)
    with pytest.raises(WeightsError, match=re.escape(room.LITTLE_MEMORY)):
        load_converted(first_versions(default_repository()))
