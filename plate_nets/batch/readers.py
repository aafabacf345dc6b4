"""Which reader the workers of a batch use, as a value that can be sent to them."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

from plate_nets.client import PlateClient
from plate_nets.client.url import WireProtocol
from plate_nets.plates import DEFAULT_SCHEME, load_schemes
from plate_nets.recognition.detection import DetectionSettings
from plate_nets.recognition.local import LocalReader
from plate_nets.recognition.reader import VehicleReader, check_sure
from plate_nets.types import DEFAULT_DETAIL, Detail


@dataclass(frozen=True)
class OpenReader:
    """A reader, the version of its networks, and the function to wait for a server to recover from a crash."""

    reader: VehicleReader
    version: str
    recover: Callable[[], None]


@dataclass(frozen=True)
class ReaderSettings:
    """A reader in the worker's process on OpenVINO, or, with addresses, one or several Triton servers.

    ``threads``: for a reader in the process. ``detail``: how closely it looks; a server has its own setting.
    ``timeout``: seconds to wait for the server's answer. ``sure``: the minimum confidence of a text; None: the reader's
    own setting. ``vehicles``: whether plates come with their vehicles.

    Raises:
        InputError: ``sure`` is not between 0 and 1.
    """

    urls: tuple[str, ...] = ()
    protocol: WireProtocol = "http"
    timeout: float = 30.0
    scheme: str = DEFAULT_SCHEME
    threads: int = 1
    sure: float | None = None
    detail: Detail = DEFAULT_DETAIL
    vehicles: bool = False

    def __post_init__(self) -> None:
        if self.sure is not None:
            check_sure(self.sure)

    @contextmanager
    def open(self) -> Iterator[OpenReader]:
        """Open the reader for the duration of a ``with`` block.

        Raises:
            PlateError: the server does not answer, or the networks are missing.
        """
        schemes = load_schemes(self.scheme)
        if not self.urls:
            local = LocalReader(scheme=schemes, threads=self.threads, detection=DetectionSettings(detail=self.detail))
            yield OpenReader(local, local.model_version(), lambda: None)
            return
        with PlateClient(self.urls, self.protocol, self.timeout, scheme=schemes) as client:
            yield OpenReader(client, client.model_version(), partial(client.wait_until_healthy, self.timeout))
