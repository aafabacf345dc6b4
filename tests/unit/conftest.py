"""Shared by the unit tests."""

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from plate_nets.recognition.annotation import annotate
from plate_nets.types import Frame, Plate
from tests.disk import SmallDisk, small_disk
from tests.fakes.stub_server import StubServer, stub_server
from tests.receiver import Receiver


@pytest.fixture(name="small_disk")
def _small_disk(tmp_path: Path) -> Iterator[SmallDisk]:
    with small_disk(tmp_path / "disk") as disk:
        yield disk


@pytest.fixture
def stub() -> Iterator[StubServer]:
    with stub_server() as stub:
        yield stub


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with closing(Receiver()) as receiver:
        yield receiver


@pytest.fixture
def proxied(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Makes this the only proxy of the environment."""

    def use(proxy: str, excluded: str = "") -> None:
        for name in [*os.environ]:
            if name.lower().endswith("_proxy"):
                monkeypatch.delenv(name)
        monkeypatch.setenv("http_proxy", proxy)
        monkeypatch.setenv("no_proxy", excluded)

    return use


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The texts that are drawn on each frame of a saved video."""
    found: list[list[str]] = []

    def note(frame: Frame, plates: Iterable[Plate]) -> Frame:
        plates = list(plates)
        found.append([plate.reading.text for plate in plates])
        return annotate(frame, plates)

    monkeypatch.setattr("plate_nets.cameras.overlay.annotate", note)
    return found
