"""Calls the served networks in this process, without a server, for comparison with serving."""

import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import cv2
import numpy as np
import torch
from numpy.typing import NDArray

from benchmarks.callers.caller import CallerFactory
from benchmarks.callers.pictures import Picture
from plate_nets.common.contexts import Closing
from plate_nets.contract import LPRNET, YOLO
from plate_nets.countries import main_scheme
from plate_nets.networks.registry import NETWORKS
from plate_nets.networks.runtimes.detector import Pictures
from plate_nets.networks.runtimes.networks import default_repository, first_versions, load_converted
from plate_nets.networks.runtimes.torchscript import TorchDetector, forward
from plate_nets.recognition.corners import CornerFinder
from plate_nets.recognition.detection import DetectionSettings, PlateDetector
from plate_nets.recognition.finder import PlateFinder
from plate_nets.recognition.geometry import Letterbox
from plate_nets.recognition.local import LocalReader
from plate_nets.types import Crops

Run = Callable[[NDArray[Any]], NDArray[np.float32]]
STAGES = {
    "decode": "decode",
    "letterbox": "letterbox",
    "network": "detector",
    "select": "NMS",
    "corners": "corners",
    "crop": "crop",
    "rectify": "stn",
    "read": "lprnet",
    "decode_text": "CTC",
    "look_again": "second look",
}
"""The pipeline's stages in order -> their names in the tables. "detect" is the sum of the five after "decode"."""
_TRIALS = 25
"""Calls per runtime to find the fastest one for a network."""


class InProcess(Closing):
    """Encoded picture -> plates by the converted networks of the model repository, on all cores.

    They run on OpenVINO, as in the server. It is a `Caller`.

    Raises:
        WeightsError: a network is not converted.
    """

    def __init__(self, threads: int) -> None:
        torch.set_num_threads(threads)
        cv2.setNumThreads(threads)
        networks = load_converted(first_versions(default_repository()), threads=threads)
        self.detector, self.stn, self.lprnet = networks.yolo, networks.stn, networks.readers[LPRNET.name]
        self._finder = PlateFinder(PlateDetector(networks.yolo), CornerFinder(networks.corners))
        self._reader = LocalReader(networks=lambda: networks)

    def __call__(self, picture: Picture) -> int:
        """An encoded picture -> the number of its plates."""
        return len(self._reader.read(picture.encoded))

    def inputs(self, picture: Picture) -> tuple[Pictures, Crops]:
        """A picture -> the inputs of the detector's network and of the reader."""
        hw = (picture.frame.shape[0], picture.frame.shape[1])
        letterbox = Letterbox(hw, DetectionSettings().side_for(hw))
        return letterbox.place(picture.frame), self._finder.find(picture.frame)[0].crops

    def stages(self, picture: Picture) -> dict[str, float]:
        """As a call -> seconds of each of `STAGES`, by its name in the tables."""
        spent = dict.fromkeys(STAGES.values(), 0.0)

        @contextmanager
        def timed(stage: str) -> Iterator[None]:
            started = time.perf_counter()
            yield
            if stage in STAGES:
                spent[STAGES[stage]] += time.perf_counter() - started

        self._reader.read(picture.encoded, stages=timed)
        return spent


class _Alone(Closing):
    """A network called with the same input repeatedly, as a `Caller`."""

    def __init__(self, network: Run, inputs: NDArray[Any]) -> None:
        self._network = network
        self._inputs = inputs

    def __call__(self, picture: Picture) -> int:
        self._network(self._inputs)
        return 0


def bare_networks(local: InProcess, picture: Picture) -> dict[str, CallerFactory]:
    """Each network alone on its input for a picture, on the fastest runtime -> its caller factory, by name."""
    pixels, crops = local.inputs(picture)
    straight = local.stn(crops)
    found: dict[str, CallerFactory] = {}
    cases: tuple[tuple[str, NDArray[Any], Run], ...] = (
        ("yolo", pixels, local.detector),
        ("stn", crops, local.stn),
        ("lprnet", straight, local.lprnet),
    )
    for name, given, served in cases:
        candidates = {"TorchScript": _torchscript(name, given), "OpenVINO": served}
        times = {runtime: _seconds(run, given) for runtime, run in candidates.items()}
        fastest = min(times, key=times.__getitem__)
        found[f"{name} on {fastest}"] = partial(_Alone, candidates[fastest], given)
    return found


def _torchscript(name: str, given: NDArray[Any]) -> Run:
    """A network of the committed weights, traced and frozen."""
    network = NETWORKS[name].load(main_scheme())
    example = torch.from_numpy(given)
    example = example.permute(0, 3, 1, 2).float() if name == YOLO.name else example
    frozen = torch.jit.freeze(torch.jit.trace(network, example))  # type: ignore[no-untyped-call]
    return TorchDetector(frozen) if name == YOLO.name else partial(forward, frozen)


def _seconds(run: Run, given: NDArray[Any]) -> float:
    times = []
    for _ in range(_TRIALS):
        started = time.perf_counter()
        run(given)
        times.append(time.perf_counter() - started)
    return statistics.median(times)
