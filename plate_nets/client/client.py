"""The client of a server: `PlateClient(url).read(picture)` -> plates.

It sends the picture unchanged and gets boxes in the picture's pixels. It has no image code and needs no torch.
"""

import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plate_nets.client.fleet import FleetTransport
from plate_nets.client.names import PREFIX
from plate_nets.client.shared_memory import SharedMemoryTransport
from plate_nets.client.transports import ServerAccess, Transport, open_transport
from plate_nets.client.transports.calls import Infer, Input, infer, is_model_ready, is_ready, model_metadata
from plate_nets.client.url import ServerAddress, WireProtocol, parse_url
from plate_nets.common.contexts import Closing
from plate_nets.common.control_key import KEY_VARIABLE
from plate_nets.common.errors import PlateError, SchemeError, ServerUnavailable
from plate_nets.contract import (
    APPEARANCE,
    CHARACTERS,
    CORNERS,
    COUNTRY,
    LOGITS,
    PLATE_RECOGNITION,
    READERS,
    SCHEMES,
    STN,
    VEHICLE_ROWS,
    YOLO,
)
from plate_nets.countries import MAIN_SCHEME, PlateScheme, load_scheme
from plate_nets.recognition.options import ReadOptions
from plate_nets.recognition.quads import lines_of
from plate_nets.recognition.reader import FrameLimits, check_bytes, check_frame, check_size
from plate_nets.recognition.vehicles import vehicles_of, with_vehicles
from plate_nets.types import Box, Frame, Plate, Reading, Scene

_RAW, _ENCODED = PLATE_RECOGNITION.inputs
_HEALING = 0.5
"""Seconds between two checks of a server that is healing."""


class PlateClient(Closing):
    """A client of one server, or of several that share the work. Threads and forked processes may share a client.

    Args:
        url: ``host:port``, or the same after ``http://``, ``https://``, ``grpc://`` or ``grpcs://``. You may leave out
            Triton's own ports (8000 or 8001). With a list of addresses, each call goes to a server with few calls
            in flight, and to another one if it fails. ``dns:///host:port`` means all servers behind a name, as they
            come and go.
        protocol: "http" or "grpc"; ``grpc://`` or ``http://`` in the address overrides it.
        timeout: seconds until `DeadlineExceeded`: for connecting, sending, waiting, receiving and all retries together.
        retries: how often to send a picture again if the server is unavailable or overloaded; 0 turns this off.
        headers: sent with every request, such as a proxy's token (for gRPC: metadata, in lower case).
        ca: PEM file of the authority behind an encrypted server's certificate; by default the system's authorities.
        shared_memory: pass pictures in shared memory to a server on this machine, which needs its control key.
        control_key: the key of the server's restricted endpoints; by default PLATES_CONTROL_KEY.
        scheme: countries to read; by default all that the server reads, with the country of each plate. The most
            certain reading wins. The formats of its scheme give its `format`, which is empty if the package does not
            know the scheme.
        limits: larger pictures are refused before they are sent. Change them if the server's limits are changed.
    """

    def __init__(
        self,
        url: str | Sequence[str],
        protocol: WireProtocol = "http",
        timeout: float = 30.0,
        *,
        retries: int = 3,
        headers: Mapping[str, str] | None = None,
        ca: Path | None = None,
        shared_memory: bool = False,
        control_key: str | None = None,
        scheme: PlateScheme | Sequence[PlateScheme] = (),
        limits: FrameLimits = FrameLimits(),
    ) -> None:
        self.timeout = timeout
        self.limits = limits
        self.retries = retries
        self.schemes = (scheme,) if isinstance(scheme, PlateScheme) else tuple(scheme)
        key = control_key or os.environ.get(KEY_VARIABLE, "")

        def open_one(address: ServerAddress, watched: bool = True) -> Transport:
            transport = open_transport(ServerAccess(address, headers or {}, ca, key, watched))
            return SharedMemoryTransport(transport) if shared_memory else transport

        urls = [url] if isinstance(url, str) else list(url)
        if len(urls) == 1 and not urls[0].startswith(PREFIX):
            address = parse_url(urls[0], protocol)
            self.url, self.protocol = address.url, address.protocol
            self._open: Callable[[], Transport] = lambda: open_one(address, watched=False)
        else:
            self.url, self.protocol = ", ".join(urls), protocol
            self._open = lambda: FleetTransport(urls, protocol, open_one)
        self._opened = {os.getpid(): self._open()}

    @property
    def _transport(self) -> Transport:
        """The transport of this process.

        A forked child must neither use its parent's connections, where both would read each other's answers, nor close
        them, so it leaves what it inherits alone.
        """
        process = os.getpid()
        if process not in self._opened:
            self._opened[process] = self._open()
        return self._opened[process]

    def close(self) -> None:
        """Close the connections."""
        self._transport.close()

    def read(
        self,
        image: Frame | bytes,
        *,
        evidence: bool = False,
        appearance: bool = False,
        sure: float | None = None,
        vehicles: bool = False,
        schemes: Sequence[PlateScheme] = (),
    ) -> list[Plate]:
        """A picture -> its plates, highest detector score first.

        Args:
            image: a BGR frame (H, W, 3) uint8, as ``cv2.imread`` gives it, or the bytes of a JPEG, PNG, WebP, BMP,
                HEIC or AVIF file.
            evidence: also return the ``logits`` of each plate and the ``characters`` of its reading, 1.7 kB more per
                plate.
            appearance: also return the country and the colour of each plate, as always unless only one scheme is named.
            sure: the minimum confidence of a text, between 0 and 1; by default the server's.
            vehicles: also find the ``vehicle`` of each plate.
            schemes: the countries to read; by default those of the client.

        Raises:
            InputError: the picture cannot be accepted (InputTooLarge: because of its size), ``sure`` is not a
                probability, or the server does not read one of the ``schemes``; the message says what was expected.
            DeadlineExceeded: no answer in time.
            ServerUnavailable: no attempt was answered: nothing is at the address, a model is being loaded or healed, or
                (ServerOverloaded) the server is too busy.
            ModelDied: a process died while working on the picture, or (ConnectionLost) the connection broke. The
                picture may be the cause, so it is not sent again. There is one exception: after a lost connection it
                is sent once to another server.
            AccessDenied: a token is missing or wrong.
            ServerError: the server failed.
        """
        return self._scene(image, self._options(evidence, appearance, sure, vehicles, schemes)).plates

    def scene(
        self, image: Frame | bytes, *, evidence: bool = False, appearance: bool = False, sure: float | None = None
    ) -> Scene:
        """A picture -> its plates as from `read`, and its vehicles, even those without a plate. Raises the same."""
        return self._scene(image, self._options(evidence, appearance, sure, vehicles=True))

    def _options(
        self, evidence: bool, appearance: bool, sure: float | None, vehicles: bool, schemes: Sequence[PlateScheme] = ()
    ) -> ReadOptions:
        named = schemes or self.schemes
        names = ",".join(scheme.name for scheme in named)
        return ReadOptions(evidence, appearance or len(named) != 1, names, sure, vehicles)

    def _scene(self, image: Frame | bytes, options: ReadOptions) -> Scene:
        if isinstance(image, (bytes, bytearray, memoryview)):
            spec, array = _ENCODED, np.frombuffer(image, np.uint8)
            check_bytes(spec.name, array.nbytes, self.limits)
        else:
            spec, array = _RAW, check_frame(image)
            check_size(spec.name, array.shape[0], array.shape[1], self.limits)
        picture, outputs, parameters = Input(spec, array), options.outputs, options.parameters

        def recognise(seconds: float) -> Infer:
            return infer(PLATE_RECOGNITION, picture, outputs=outputs, parameters=parameters, timeout=seconds)

        answer = self._transport.ask(recognise, self.timeout, self.retries)
        vehicles = vehicles_of(answer[VEHICLE_ROWS.name]) if options.vehicles else ()
        return Scene(with_vehicles(plates(answer, self.schemes), vehicles), vehicles)

    def health(self) -> None:
        """Check that the server reads a known picture.

        Raises:
            ServerError: it is not ready, does not answer, or reads the known picture wrongly.
        """
        from plate_nets.recognition.health import check_health

        check_health(self)

    def model_version(self) -> str:
        """The version of each network in service, such as "yolo:1 stn:1 lprnet:2 country:1". Raises as `read` does.

        Which readers there are depends on the schemes of the server.
        """
        others = (*READERS, COUNTRY.name)
        loaded = [name for name in others if self._transport.send(is_model_ready(name), self.timeout)]
        models = [self._transport.send(model_metadata(name), self.timeout) for name in (YOLO.name, STN.name, *loaded)]
        return " ".join(f"{model['name']}:{max(map(int, model['versions']))}" for model in models)

    def wait_until_healthy(self, timeout: float) -> None:
        """Wait until the server reads the known picture.

        Raises:
            ServerUnavailable: it did not do so within ``timeout`` seconds.
        """
        deadline = time.monotonic() + timeout
        while True:
            try:
                self.health()
                return
            except PlateError as error:
                if time.monotonic() > deadline:
                    raise ServerUnavailable(f"not healthy again within {timeout:g} s: {error}") from error
                time.sleep(_HEALING)

    def is_ready(self) -> bool:
        """Whether the server reports that all its models are ready; `health` checks that it works.

        It does not retry. Raises as `read` does.
        """
        return self._transport.send(is_ready(), self.timeout)


def plates(outputs: Mapping[str, NDArray[Any]], schemes: Iterable[PlateScheme] = ()) -> list[Plate]:
    """The outputs of `plate_recognition`, at least `PLATES` -> plates, row by row.

    ``schemes``: schemes besides those of the package, whose formats name the type of a plate.
    """
    known = {scheme.name: scheme for scheme in schemes}
    count = len(outputs["scores"])
    rows = zip(
        outputs["coordinates"],
        outputs["scores"],
        outputs["texts"].reshape(-1),
        outputs["readings"].reshape(-1),
        outputs["confidences"],
        outputs.get(CHARACTERS.name, np.empty((count, 0), np.float32)),
        outputs.get(LOGITS.name, [None] * count),
        outputs.get(CORNERS.name, np.empty((count, 0), np.float32)),
        lines_of(outputs[CORNERS.name].reshape(-1, 4, 2)) if CORNERS.name in outputs else np.ones(count, np.intp),
        outputs[SCHEMES.name].reshape(-1) if SCHEMES.name in outputs else [MAIN_SCHEME.encode()] * count,
        _appearances(outputs, count),
        strict=True,
    )
    return [
        Plate(
            Box(*map(float, box)),
            float(score),
            _reading(
                text.decode(), best.decode(), confidence, characters, int(lines), names.decode().split(), known, look
            ),
            own,
            corners=tuple(map(float, corners)),
        )
        for box, score, text, best, confidence, characters, own, corners, lines, names, look in rows
    ]


def _appearances(outputs: Mapping[str, NDArray[Any]], count: int) -> Iterable[dict[str, Any]]:
    """The outputs of `APPEARANCE` for each plate, by the field of `Reading`."""
    if APPEARANCE[0].name not in outputs:
        return [{}] * count
    columns = (outputs[spec.name].reshape(-1) for spec in APPEARANCE)
    return (
        {
            "country": country.decode(),
            "country_confidence": float(sure_country),
            "ground": ground.decode(),
            "ground_confidence": float(sure_ground),
        }
        for country, sure_country, ground, sure_ground in zip(*columns, strict=True)
    )


def _reading(
    text: str,
    best: str,
    confidence: np.float32,
    characters: NDArray[np.float32],
    lines: int,
    names: Sequence[str],
    known: Mapping[str, PlateScheme],
    look: Mapping[str, Any],
) -> Reading:
    try:
        scheme = known.get(names[0]) or load_scheme(names[0])
        formats = scheme.by_shape[lines].format_names(text)
    except SchemeError:  # a scheme that only the server has
        formats = ""
    probabilities = tuple(characters[: len(best)].tolist())
    several = tuple(names) if len(names) > 1 else ()
    return Reading(text, best, float(confidence), probabilities, formats, names[0], several, **look)
