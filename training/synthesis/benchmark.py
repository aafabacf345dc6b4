"""Measures how many crops per second two processes make."""

import time
from multiprocessing import get_context

import cv2
import numpy as np

from plate_nets.plates import PlateScheme
from training.synthesis import synthesize

_COUNT = 2000
_PROCESSES = 2


def crops_per_second(scheme: PlateScheme, seed: int) -> float:
    """Crops per second of two processes together, after a warm-up, by CPU time, so that other jobs do not count."""
    with get_context("spawn").Pool(_PROCESSES) as pool:
        seconds = pool.starmap(_work, [(scheme, seed + process, _COUNT) for process in range(_PROCESSES)])
    return sum(_COUNT / s for s in seconds)


def _work(scheme: PlateScheme, seed: int, count: int) -> float:
    cv2.setNumThreads(0)
    rng = np.random.default_rng(seed)
    for _ in range(300):
        synthesize(scheme, rng)
    start = time.process_time()
    for _ in range(count):
        synthesize(scheme, rng)
    return time.process_time() - start
