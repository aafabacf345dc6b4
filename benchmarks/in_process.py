"""The served networks called in this process, without a server: what serving is compared with."""

import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import cv2
import numpy as np
import torch
from numpy.typing import NDArray

from benchmarks.callers import Subject
from benchmarks.frames import Picture
from benchmarks.networks import eager_network
from plate_nets.plates import default_scheme
from plate_nets.recognition.decoding import PlateDecoder
from plate_nets.recognition.detection import DetectionSettings, PlateDetector, select
from plate_nets.recognition.geometry import Letterbox, clip, crop_plates
from plate_nets.recognition.images import decode_image
from plate_nets.recognition.pipeline import PlateReader, split_rows
from plate_nets.runtimes.networks import first_versions, load_converted
from plate_nets.runtimes.torchscript import forward
from plate_nets.serving.settings import FrameLimits
from plate_nets.types import Crops, Frame

Array = NDArray[np.float32]
STAGES = ("decode", "letterbox", "detector", "NMS", "crop", "stn", "lprnet", "CTC")
_TRIALS = 25
"""Calls by which the fastest runtime of a network is chosen."""


class InProcess:
    """Encoded picture -> plates by the converted networks of a model repository, on all cores.

    They run on OpenVINO, as in the server. It is a `Caller`.

    Raises:
        WeightsError: a network is not converted.
    """

    def __init__(self, repository: Path, threads: int) -> None:
        self.threads = threads
        torch.set_num_threads(threads)
        cv2.setNumThreads(threads)
        networks = load_converted(first_versions(repository), None, threads)
        self.detector, self.stn, self.lprnet = networks.yolo, networks.stn, networks.lprnet
        self._settings = DetectionSettings()
        self._decoder = PlateDecoder(default_scheme())
        self._limits = FrameLimits()
        self._reader: PlateReader[Frame, Crops] = PlateReader(
            PlateDetector(self.detector, self._settings).detect, self.stn, self.lprnet, self._decoder, split_rows
        )

    def __call__(self, picture: Picture) -> int:
        """An encoded picture -> how many plates it has."""
        return len(self._reader.read(decode_image(picture.encoded, self._limits)))

    def close(self) -> None:
        """Nothing to end."""

    def inputs(self, picture: Picture) -> tuple[Array, Crops]:
        """A picture -> what the detector's network and the reader get for it."""
        letterbox = Letterbox((picture.frame.shape[0], picture.frame.shape[1]), self._settings.long_side)
        return letterbox.place(picture.frame), PlateDetector(self.detector, self._settings).detect(picture.frame)[0]

    def stages(self, picture: Picture) -> dict[str, float]:
        """The same as a call, step by step -> seconds of each of `STAGES`."""
        spent = dict.fromkeys(STAGES, 0.0)
        with _timed(spent, "decode"):
            frame = decode_image(picture.encoded, self._limits)
        hw = (frame.shape[0], frame.shape[1])
        with _timed(spent, "letterbox"):
            letterbox = Letterbox(hw, self._settings.long_side)
            pixels = letterbox.place(frame)
        with _timed(spent, "detector"):
            rows = self.detector(pixels)
        with _timed(spent, "NMS"):
            boxes = clip(letterbox.to_frame(select(rows[0], self._settings)[0]), hw)
        with _timed(spent, "crop"):
            crops = crop_plates(frame, boxes, self._settings.crop_margin)
        if len(crops):
            with _timed(spent, "stn"):
                straight = self.stn(crops)
            with _timed(spent, "lprnet"):
                logits = self.lprnet(straight)
            with _timed(spent, "CTC"):
                self._decoder.decode(logits)
        return spent


class _Alone:
    """A network called with the same input again and again, as a `Caller`."""

    def __init__(self, network: Callable[[Array], Array], given: Array) -> None:
        self._network = network
        self._given = given

    def __call__(self, picture: Picture) -> int:
        self._network(self._given)
        return 0

    def close(self) -> None:
        """Nothing to end."""


def bare_networks(local: InProcess, picture: Picture) -> dict[str, Subject]:
    """Each network alone on what it gets for a picture, on the fastest runtime found -> what asks it, by its name."""
    pixels, crops = local.inputs(picture)
    straight = local.stn(crops)
    found: dict[str, Subject] = {}
    for name, given, served in (
        ("yolo", pixels, local.detector),
        ("stn", crops, local.stn),
        ("lprnet", straight, local.lprnet),
    ):
        candidates = {"TorchScript": _torchscript(name, given), "OpenVINO": served}
        times = {runtime: _seconds(run, given) for runtime, run in candidates.items()}
        fastest = min(times, key=times.__getitem__)
        found[f"{name} on {fastest}"] = partial(_Alone, candidates[fastest], given)
    return found


def _torchscript(name: str, given: Array) -> Callable[[Array], Array]:
    """A network of the committed weights, traced and frozen."""
    network = eager_network(name)
    frozen = torch.jit.freeze(torch.jit.trace(network, torch.from_numpy(given)))  # type: ignore[no-untyped-call]
    return partial(forward, frozen)


def _seconds(run: Callable[[Array], Array], given: Array) -> float:
    times = []
    for _ in range(_TRIALS):
        started = time.perf_counter()
        run(given)
        times.append(time.perf_counter() - started)
    return statistics.median(times)


@contextmanager
def _timed(spent: dict[str, float], stage: str) -> Iterator[None]:
    started = time.perf_counter()
    yield
    spent[stage] = time.perf_counter() - started
