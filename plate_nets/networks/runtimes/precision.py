"""The precision of each network on this processor: the fastest one whose results agree with float32.

bfloat16 halves the time if the processor computes in it (AVX512-BF16, AMX), and takes 2.4 to 3.9 times as long if it is
emulated; OpenVINO reports it as a capability in both cases. int8, for networks that have ranges, takes two thirds of
bfloat16's time with AVX512-VNNI, and is slower than bfloat16 with AMX. So a process that loads a network times these
precisions, and compares their results on the rendered pictures in `calibration/`: a precision that changes
the results too much is not used. If bfloat16 is fast, the layers that int8 leaves out run in bfloat16, which takes 0.8
to 0.9 of the time. The first process that loads a file on a processor does this, and the others use its choice, see
`choices`.
"""

import logging
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from plate_nets.common.errors import ContractError, ServerError, WeightsError
from plate_nets.contract import CORNERS, COUNTRY, READERS
from plate_nets.countries.designs import DESIGNS
from plate_nets.networks.registry import DETECTORS
from plate_nets.networks.runtimes.choices import Choice, remembered
from plate_nets.networks.runtimes.detector import OpenVINODetector
from plate_nets.networks.runtimes.openvino import INT8, Precision, has_bfloat16, load_ir, read_ir
from plate_nets.networks.runtimes.quantization import ranges_of
from plate_nets.types import CROP_HEIGHT, CROP_WIDTH, WINDOW_HEIGHT, WINDOW_WIDTH

PRECISION_VARIABLE = "PLATES_PRECISION"
AUTO = "auto"
PRECISIONS: tuple[Precision, ...] = get_args(Precision)

CALIBRATION = Path(__file__).parent / "calibration"
SCENE, CROPS = "scene.jpg", "crops.raw"
"""A street of 640x384 px with plates, and the bytes of crops (N, 24, 94, 3), BGR: `python -m training.synthesis
--calibration`."""

_LIKELY, _OVERLAPPING = 0.15, 0.45
"""The minimum score of a compared row of the detector, and the overlap (IoU) from which two rows are the same plate."""
_MOVED, _SCORED = 0.04, 0.1
"""The maximum change of such a row's sides, as a share of the longer one, and of its score."""
_STRAYED, _DOUBTED = 0.5, 0.1
"""The maximum change of a corner, in pixels of its window, and of the logarithm of its expected error."""
_SURE = 0.8
"""Crops are compared if float32 has at least this probability at each step. Then the best path must be the same,
with probabilities within `_SCORED`."""
_TOLD = 0.02
"""The maximum change of the probability of a country or a colour. A guess."""
_TRIALS = 5
_WORTH = 0.7
"""The share of bfloat16's time that int8 beside it may take at most: it takes 0.4 GB more and loads more slowly, and on
a virtual machine with AMX the ratio was anything from 0.6 to 1.3."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Candidate:
    """A network that may run in less than float32: how to load it, its test input, and whether two results agree."""

    load: Callable[[Path, int, Precision], Callable[[Any], NDArray[np.float32]]]
    example: Callable[[], NDArray[Any]]
    agree: Callable[[NDArray[np.float32], NDArray[np.float32]], bool]


def choose(name: str, path: Path, environ: Mapping[str, str] = os.environ) -> Choice:
    """The precision for a network, by its name and its converted file, in this process.

    `PLATES_PRECISION` sets it for the networks in `CANDIDATES`, and `INT8` only for those of them that have ranges; the
    default is "auto". An STN stays in float32: in bfloat16 it changes the reading four times as much as all other
    networks together.

    Raises:
        ContractError: `PLATES_PRECISION` is neither "auto" nor one of `PRECISIONS`.
        WeightsError: the file is missing or does not load.
    """
    requested = environ.get(PRECISION_VARIABLE, AUTO)
    forced: dict[str, Choice] = {
        precision: Choice(precision, f"set by {PRECISION_VARIABLE}") for precision in PRECISIONS
    }
    if requested not in (AUTO, *forced):
        raise ContractError(f"{PRECISION_VARIABLE}: expected {', '.join((AUTO, *forced))}, got {requested!r}")
    if name not in CANDIDATES:
        choice = Choice("float32", "this network runs in no other precision")
    elif requested in INT8 and not ranges_of(read_ir(path)):
        choice = Choice("float32", "its weights have no ranges for int8")
    else:
        candidate = CANDIDATES[name]
        choice = forced.get(requested) or remembered(path, lambda: _measured(candidate, path), environ)
    _log.info("%s: %s: %s", name, choice.precision, choice.why)
    return choice


def _measured(candidate: Candidate, path: Path) -> Choice:
    native, ranges = has_bfloat16(), ranges_of(read_ir(path))
    if not native and not ranges:
        return Choice("float32", "the processor has no bfloat16")
    example = candidate.example()
    exact = candidate.load(path, 1, "float32")
    expected = exact(example)
    spent: dict[Precision, float] = {"float32": _seconds(exact, example)}
    reasons = []

    def is_faster(precision: Precision) -> bool:
        """Whether the network has the same results in this precision in less time than in float32."""
        try:
            run = candidate.load(path, 1, precision)
            found = run(example)
        except (WeightsError, ServerError):  # OpenVINO lacks a layer in this precision on this processor
            reasons.append(f"{precision} does not run")
            return False
        if found.shape != expected.shape or not candidate.agree(expected, found):
            reasons.append(f"{precision} gives other results")
            return False
        spent[precision] = _seconds(run, example)
        reasons.append(f"{precision} takes {spent[precision] / spent['float32']:.2f} of float32's time")
        return spent[precision] < spent["float32"]

    native = native and is_faster("bfloat16")
    if ranges and not (native and is_faster("int8-bfloat16")):
        is_faster("int8")
    fastest: Precision = "float32"
    for precision, seconds in spent.items():
        if seconds < (_WORTH if precision == "int8-bfloat16" else 1) * spent[fastest]:
            fastest = precision
    return Choice(fastest, ", ".join(reasons))


def _seconds(run: Callable[[Any], Any], example: NDArray[Any]) -> float:
    """The minimum processor time of a run."""
    seconds = []
    for _ in range(_TRIALS):
        started = time.process_time()
        run(example)
        seconds.append(time.process_time() - started)
    return min(seconds)


def rows_agree(expected: NDArray[np.float32], found: NDArray[np.float32]) -> bool:
    """All rows (1, A, 5 + classes) of a detector in two precisions -> whether the likely ones are the same plates.

    A row that overlaps a better one in both is ignored.
    """
    from plate_nets.networks.runtimes.rows import best_rows, row_scores  # imported here: LPRNet's process has no OpenCV

    best = np.union1d(*(best_rows(rows[0], _LIKELY, _OVERLAPPING) for rows in (expected, found)))
    own, other = expected[0, best], found[0, best]
    moved = np.abs(other[:, :4] - own[:, :4]).max(axis=1, initial=0)
    near = moved <= _MOVED * own[:, 2:4].max(axis=1, initial=0)
    scored = np.abs(row_scores(other) - row_scores(own)) <= _SCORED
    return bool(best.size and near.all() and scored.all())


def corners_agree(expected: NDArray[np.float32], found: NDArray[np.float32]) -> bool:
    """The outputs (N, 9) of CornerNet in two precisions -> whether the corners are the same."""
    change = np.abs(found - expected)
    return bool((change[:, :8] <= _STRAYED).all() and (change[:, 8] <= _DOUBTED).all())


def paths_agree(expected: NDArray[np.float32], found: NDArray[np.float32]) -> bool:
    """Logits (N, C, 18) in two precisions -> whether the crops that the first reads with certainty read the same."""
    sure, other = _softmax(expected), _softmax(found)
    compared = (sure.max(axis=1) >= _SURE).all(axis=1)
    same = (sure.argmax(axis=1) == other.argmax(axis=1))[compared].all()
    return bool(compared.any() and same and np.abs(sure - other)[compared].max() <= _SCORED)


def appearances_agree(expected: NDArray[np.float32], found: NDArray[np.float32]) -> bool:
    """The logits (N, K + G) of CountryNet in two precisions -> whether all probabilities are the same."""
    parts = zip(*(np.split(logits, [len(DESIGNS)], axis=1) for logits in (expected, found)), strict=True)
    return all(bool(np.abs(_softmax(part) - _softmax(other)).max() <= _TOLD) for part, other in parts)


def _softmax(logits: NDArray[np.float32]) -> NDArray[np.float32]:
    """Logits (N, C, ...) -> probabilities of the C classes."""
    powers: NDArray[np.float32] = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True), np.float32)


def scene() -> NDArray[np.uint8]:
    """A rendered street as an input of the detector: (1, 384, 640, 3) BGR."""
    import cv2  # imported here: LPRNet's process does not need it

    return np.asarray(cv2.imread(str(CALIBRATION / SCENE)), np.uint8)[None]


def crops() -> NDArray[np.float32]:
    """Rendered plates as an input of LPRNet: (N, 3, 24, 94)."""
    pictures = np.frombuffer((CALIBRATION / CROPS).read_bytes(), np.uint8).reshape(-1, CROP_HEIGHT, CROP_WIDTH, 3)
    return np.ascontiguousarray((pictures[..., ::-1].transpose(0, 3, 1, 2).astype(np.float32) - 127.5) / 128)


def windows() -> NDArray[np.float32]:
    """Rendered plates on grey as an input of CornerNet: (N, 3, 64, 128)."""
    pictures = crops()
    n, _, height, width = pictures.shape
    example = np.zeros((n, 3, WINDOW_HEIGHT, WINDOW_WIDTH), np.float32)
    top, left = (WINDOW_HEIGHT - height) // 2, (WINDOW_WIDTH - width) // 2
    example[:, :, top : top + height, left : left + width] = pictures
    return example


def _load_all_rows(path: Path, threads: int, precision: Precision) -> Callable[[Any], NDArray[np.float32]]:
    """A detector that drops no row, so that the rows of two precisions have the same indices."""
    return partial(OpenVINODetector(path, threads, precision), least=0.0)


CANDIDATES: Mapping[str, Candidate] = {
    **dict.fromkeys(DETECTORS, Candidate(_load_all_rows, scene, rows_agree)),
    CORNERS.name: Candidate(load_ir, windows, corners_agree),
    COUNTRY.name: Candidate(load_ir, crops, appearances_agree),
    **dict.fromkeys(READERS, Candidate(load_ir, crops, paths_agree)),
}
"""The networks that may run in less than float32, by name."""
