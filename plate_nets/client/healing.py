"""A client that waits until its server reads again after a process of it died."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from plate_nets.client.client import PlateClient
from plate_nets.common.errors import ModelDied
from plate_nets.types import Frame, Plate, Scene


class Healing:
    """A client that has its server healed when a process of it died, and then raises the error."""

    def __init__(self, client: PlateClient, heal: Callable[[], None]) -> None:
        self._client = client
        self._heal = heal
        self._turn = threading.Lock()

    def read(
        self, image: Frame | bytes, *, evidence: bool = False, sure: float | None = None, vehicles: bool = False
    ) -> list[Plate]:
        with self._healing():
            return self._client.read(image, evidence=evidence, sure=sure, vehicles=vehicles)

    def scene(self, image: Frame | bytes, *, evidence: bool = False) -> Scene:
        with self._healing():
            return self._client.scene(image, evidence=evidence)

    def model_version(self) -> str:
        return self._client.model_version()

    @contextmanager
    def _healing(self) -> Iterator[None]:
        try:
            yield
        except ModelDied:
            with self._turn:
                self._heal()
            raise
