"""Licence-plate recognition: networks, pipeline, Triton serving and client."""

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

from plate_nets.common.errors import (
    AccessDenied,
    ConnectionLost,
    ContractError,
    DatasetError,
    DeadlineExceeded,
    InputError,
    InputTooLarge,
    MissingExtra,
    ModelDied,
    PlateError,
    SchemeError,
    ServerError,
    ServerOverloaded,
    ServerStartError,
    ServerUnavailable,
    SharedMemoryFull,
    SourceError,
    SwapError,
    WeightsError,
)
from plate_nets.common.extras import needs
from plate_nets.types import Box, Plate, Reading, Scene, Vehicle

# OpenVINO reports its import to its maker and writes a file into the home folder if it finds this package
sys.modules.setdefault("openvino_telemetry", None)  # type: ignore[arg-type]

if TYPE_CHECKING:
    from plate_nets.batch import PlateBatch
    from plate_nets.cameras.watcher import Watcher
    from plate_nets.client import PlateClient
    from plate_nets.countries import load_scheme, load_schemes
    from plate_nets.events.event import PlateEvent, event_schema
    from plate_nets.recognition.local import LocalReader
    from plate_nets.recognition.reader import FrameLimits, Reader
    from plate_nets.triton.server import EmbeddedTriton

__all__ = [
    "AccessDenied",
    "Box",
    "ConnectionLost",
    "ContractError",
    "DatasetError",
    "DeadlineExceeded",
    "EmbeddedTriton",
    "FrameLimits",
    "InputError",
    "InputTooLarge",
    "LocalReader",
    "MissingExtra",
    "ModelDied",
    "Plate",
    "PlateBatch",
    "PlateClient",
    "PlateError",
    "PlateEvent",
    "Reader",
    "Reading",
    "Scene",
    "SchemeError",
    "ServerError",
    "ServerOverloaded",
    "ServerStartError",
    "ServerUnavailable",
    "SharedMemoryFull",
    "SourceError",
    "SwapError",
    "Vehicle",
    "Watcher",
    "WeightsError",
    "event_schema",
    "load_scheme",
    "load_schemes",
]

_LATE = {
    "EmbeddedTriton": "plate_nets.triton.server",
    "FrameLimits": "plate_nets.recognition.reader",
    "LocalReader": "plate_nets.recognition.local",
    "PlateBatch": "plate_nets.batch",
    "PlateClient": "plate_nets.client",
    "PlateEvent": "plate_nets.events.event",
    "Reader": "plate_nets.recognition.reader",
    "Watcher": "plate_nets.cameras.watcher",
    "event_schema": "plate_nets.events.event",
    "load_scheme": "plate_nets.countries",
    "load_schemes": "plate_nets.countries",
}
"""Imported on first use: a client has no OpenCV, and a local reader needs no transport."""


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version  # imported here: rarely needed

        return version("plate-nets")
    if name in _LATE:
        with needs("watch", "watching cameras") if name == "Watcher" else needs("local", "reading in process"):
            return getattr(import_module(_LATE[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
