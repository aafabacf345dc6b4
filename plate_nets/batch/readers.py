"""Which reader the workers of a batch use, as a value that can be sent to them."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from functools import partial
from typing import Any

from plate_nets.client import PlateClient
from plate_nets.client.healing import Healing
from plate_nets.client.url import WireProtocol
from plate_nets.countries import DEFAULT_SCHEMES, default_schemes, load_schemes
from plate_nets.recognition.decoding import DecodingSettings
from plate_nets.recognition.detection import DetectionSettings
from plate_nets.recognition.local import LocalReader
from plate_nets.recognition.reader import FrameLimits, VehicleReader, check_sure


@dataclass(frozen=True)
class ReaderSettings:
    """A reader in the worker's process on OpenVINO, or, with addresses, one or several Triton servers.

    ``threads``, ``detection``, ``decoding``: for a reader in the process; a server has its own settings.
    ``scheme``: what to read, as for `load_schemes`; None: what the server reads, or in the process the default.
    ``timeout``: seconds to wait for the server's answer. ``sure``: the minimum confidence of a text; None: the reader's
    own setting. ``vehicles``: whether plates come with their vehicles. ``limits``: larger photos are refused.

    Raises:
        InputError: ``sure`` is not between 0 and 1.
    """

    urls: tuple[str, ...] = ()
    protocol: WireProtocol = "http"
    timeout: float = 30.0
    scheme: str | None = None
    threads: int = 1
    sure: float | None = None
    vehicles: bool = False
    detection: DetectionSettings = field(default_factory=DetectionSettings)
    decoding: DecodingSettings = field(default_factory=DecodingSettings)
    limits: FrameLimits = field(default_factory=FrameLimits)

    def __post_init__(self) -> None:
        if self.sure is not None:
            check_sure(self.sure)

    @property
    def reads(self) -> str:
        """The countries to read, as for `load_schemes`; empty: what the server reads."""
        if self.scheme is None:
            return "" if self.urls else DEFAULT_SCHEMES
        return self.scheme

    @property
    def settings(self) -> dict[str, Any]:
        """The values of ``detection``, ``decoding`` and ``limits`` that differ from the defaults, by name."""
        return {
            each.name: value
            for kind in (self.detection, self.decoding, self.limits)
            for each in fields(kind)
            if (value := getattr(kind, each.name)) != each.default
        }

    @contextmanager
    def open(self) -> Iterator[tuple[VehicleReader, str]]:
        """Open the reader for the duration of a ``with`` block -> the reader, and the version of its networks.

        Raises:
            PlateError: the server does not answer, or the networks are missing.
        """
        schemes = () if self.scheme is None else load_schemes(self.scheme)
        if not self.urls:
            local = LocalReader(
                scheme=schemes or default_schemes(),
                detection=self.detection,
                decoding=self.decoding,
                limits=self.limits,
                threads=self.threads,
            )
            yield local, local.model_version()
            return
        with PlateClient(self.urls, self.protocol, self.timeout, scheme=schemes, limits=self.limits) as client:
            healed = Healing(client, partial(client.wait_until_healthy, self.timeout))
            yield healed, healed.model_version()
