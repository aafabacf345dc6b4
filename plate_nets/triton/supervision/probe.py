"""Checks that a server reads the known picture, and if it does not, which model is to blame."""

import queue
import threading
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from plate_nets.client import parse_url, plates
from plate_nets.client.transports import ServerAccess
from plate_nets.client.transports.calls import Call, Input, Tensors, infer, is_live, is_model_ready
from plate_nets.client.transports.http import HttpTransport
from plate_nets.common.control_key import probe_token
from plate_nets.common.errors import PlateError, ServerOverloaded, ServerUnavailable
from plate_nets.common.threads import LastingThread, cause
from plate_nets.contract import (
    COUNTRY,
    IMAGE,
    LPRNET,
    MODELS,
    PLATE_RECOGNITION,
    PROBE,
    READERS,
    STN,
    YOLO,
    ModelSpec,
    TensorSpec,
)
from plate_nets.recognition.health import check_health
from plate_nets.recognition.options import ReadOptions
from plate_nets.triton.supervision.progress import Progress
from plate_nets.types import Frame, Plate

_CONFIRM = 0.3
"""Seconds from a failure to the probe that confirms it."""
_LISTENS_WITHIN = 4.0
"""Seconds for a server to show that it is alive."""
_SIDE = 64
"""Size of the empty frame that is sent to the detector alone, px."""

T = TypeVar("T")


@dataclass(frozen=True)
class Verdict:
    """The result of one probe, and when it began. ``fault`` is empty if the picture was read.

    ``refused``: the server was too busy for the probe, but answered others meanwhile.
    ``confirmed``: it failed twice in a row. ``suspects`` are then the models that fail when asked directly, or that
    hang; none if the server as a whole does not answer.
    """

    began: float
    fault: str = ""
    confirmed: bool = False
    suspects: tuple[str, ...] = ()
    refused: bool = False


class ProbeClient:
    """Probes one server over HTTP, always within the deadline. For one thread.

    Args:
        url: ``host:port``.
        deadline: seconds for an answer.
        control_key: the server's; with it, the users' metrics leave out the probes.
        models: the models that it serves.
    """

    def __init__(self, url: str, deadline: float, control_key: str, models: Collection[str] = tuple(MODELS)) -> None:
        self._access = ServerAccess(parse_url(url))
        self._token = probe_token(control_key)
        self._deadline = deadline
        self._models = models

    def read(self, image: Frame | bytes, *, evidence: bool = False, sure: float | None = None) -> list[Plate]:
        """An encoded picture -> its plates, through the whole pipeline; the users' metrics do not count it."""
        options = ReadOptions(evidence, appearance=True, sure=sure)  # the appearance involves every model
        picture = np.frombuffer(image, np.uint8)
        return plates(self._infer(PLATE_RECOGNITION, IMAGE, picture, options.outputs, options.parameters))

    def check(self) -> None:
        """Raise PlateError if the known picture is not read, or a model reports that it is not ready."""
        check_health(self, texts=LPRNET.name in self._models)
        for model in self._models:
            self._check_ready(model)

    def suspects(self) -> tuple[str, ...]:
        """The models to blame if `check` fails: those that fail when asked directly, or else the one that calls them.

        None if nothing answers at all.
        """
        crops = np.zeros((1, *STN.inputs[0].dims), np.float32)
        requests: list[tuple[ModelSpec, NDArray[Any]]] = [(YOLO, np.zeros((_SIDE, _SIDE, 3), np.uint8)), (STN, crops)]
        requests += (
            (spec, crops) for name, spec in (READERS | {COUNTRY.name: COUNTRY}).items() if name in self._models
        )
        failed = []
        for spec, array in requests:
            try:
                self._infer(spec, spec.inputs[0], array, spec.outputs)
                self._check_ready(spec.name)
            except ServerOverloaded:
                continue
            except PlateError:
                failed.append(spec.name)
        if len(failed) == len(requests) and not self.listens():
            return ()
        return tuple(failed) or (PLATE_RECOGNITION.name,)

    def listens(self) -> bool:
        """Whether anything answers soon, without the work of a model."""
        try:
            with HttpTransport(self._access) as transport:
                return transport.send(is_live(), min(self._deadline, _LISTENS_WITHIN))
        except PlateError:
            return False

    def _check_ready(self, model: str) -> None:
        # Newer servers notice a dead stub themselves; 24.10 does not
        if not self._ask(is_model_ready(model)):
            raise ServerUnavailable(f"{model}: not ready")

    def _infer(
        self,
        model: ModelSpec,
        spec: TensorSpec,
        array: NDArray[Any],
        outputs: Sequence[TensorSpec],
        parameters: Mapping[str, str] = MappingProxyType({}),
    ) -> Tensors:
        parameters = {PROBE: self._token, **parameters}
        return self._ask(infer(model, Input(spec, array), outputs=outputs, parameters=parameters))

    def _ask(self, call: Call[T]) -> T:
        # One connection per request: a kept one would outlive its server
        with HttpTransport(self._access) as transport:
            return transport.send(call, self._deadline)


class Prober(LastingThread):
    """Probes the server every few seconds, and puts its verdicts into `verdicts`.

    A second probe confirms a failure. A server that refuses the probe because it is overloaded is well if it answers
    others, and sick if a model hangs; otherwise there is no verdict yet.
    """

    def __init__(self, client: ProbeClient, progress: Progress, interval: float) -> None:
        self._ended = threading.Event()
        super().__init__("prober", self._round, ending=self._ended, failed=self._failed_itself)
        self.verdicts: queue.SimpleQueue[Verdict] = queue.SimpleQueue()
        self._client = client
        self._progress = progress
        self._interval = interval
        self._probe_now = threading.Event()

    def ask_now(self) -> None:
        self._probe_now.set()

    def end(self, timeout: float) -> None:
        """Stop probing, and wait at most ``timeout`` seconds for a probe in progress.

        tritonclient's HTTP runs on gevent. A thread that is in gevent when the interpreter ends crashes the process
        with a segmentation fault.
        """
        self._ended.set()
        self._probe_now.set()
        self.join(timeout)

    def _round(self) -> bool:
        if self._ended.is_set():
            return False
        self._probe_now.clear()
        failed = self._probe(confirmed=False)
        if failed:
            time.sleep(_CONFIRM)
            failed = self._probe(confirmed=True)
        if not self._ended.is_set():
            self._probe_now.wait(_CONFIRM if failed else self._interval)
        return True

    def _failed_itself(self, error: Exception) -> None:
        """Report nothing: the state of the server is unknown."""
        self.verdicts.put(Verdict(time.monotonic(), cause(error)))

    def _probe(self, confirmed: bool) -> bool:
        began = time.monotonic()
        if not self._client.listens():  # a hanging server's models need no check
            self.verdicts.put(Verdict(began, "the server does not answer", confirmed))
            return True
        try:
            self._client.check()
        except ServerOverloaded:
            work = self._progress.check()
            if work.hanging:
                self.verdicts.put(Verdict(began, "requests wait, and none is answered", True, work.hanging))
            elif work.answers:
                self.verdicts.put(Verdict(began, refused=True))
            return False
        except PlateError as error:
            suspects = self._client.suspects() if confirmed else ()
            if confirmed:
                self._progress.forget()  # something is done about it now
            self.verdicts.put(Verdict(began, str(error), confirmed, suspects))
            return True
        self._progress.forget()
        self.verdicts.put(Verdict(began))
        return False
