"""Which reader a batch's workers have, as a value that is sent to them."""

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
    """A reader, which networks it has, and what to wait for after a server's process died of a photo."""

    reader: VehicleReader
    version: str
    recover: Callable[[], None]


@dataclass(frozen=True)
class ReaderSettings:
    """A reader in the worker's process on OpenVINO, or, with addresses, by one Triton server or several.

    ``threads``: of a reader in process; ``detail``: how closely it looks, while a server has a setting of its own.
    ``timeout``: seconds for an answer of the server. ``sure``: the least confidence of a text; None: what the reader
    is set to. ``vehicles``: whether plates have their vehicles.

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
        """The reader, for as long as it is used.

        Raises:
            PlateError: the server does not answer, or the networks are not there.
        """
        schemes = load_schemes(self.scheme)
        if not self.urls:
            local = LocalReader(scheme=schemes, threads=self.threads, detection=DetectionSettings(detail=self.detail))
            yield OpenReader(local, local.model_version(), lambda: None)
            return
        with PlateClient(self.urls, self.protocol, self.timeout, scheme=schemes) as client:
            yield OpenReader(client, client.model_version(), partial(client.wait_until_healthy, self.timeout))
