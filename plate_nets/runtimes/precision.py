"""In which precision each network runs on this processor: the fastest one that answers as float32 does.

bfloat16 halves the time where the processor computes in it (AVX512-BF16, AMX), and takes 2.4 to 3.9 times as long
where it is emulated; OpenVINO names it as a capability in either case. int8, of networks that have ranges for it, takes
two thirds of bfloat16's time with AVX512-VNNI, and is slower than it with AMX. So all are timed as a process loads a
network, and what they answer to `calibration/`, rendered pictures, is compared: weights that do not bear a precision do
without it. The processes of a server do that once for each file: what the first one found is there for all that come
after it.
"""

import hashlib
import json
import logging
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from plate_nets.contract import CORNERS, READERS, YOLO
from plate_nets.errors import ContractError, WeightsError
from plate_nets.runtimes.detector import OpenVINODetector
from plate_nets.runtimes.openvino import Precision, has_bfloat16, load_ir, read_ir
from plate_nets.runtimes.quantization import ranges_of
from plate_nets.types import CROP_HEIGHT, CROP_WIDTH, WINDOW_HEIGHT, WINDOW_WIDTH

PRECISION_VARIABLE = "PLATES_PRECISION"
AUTO = "auto"
PRECISIONS: tuple[Precision, ...] = get_args(Precision)
CHOICES_VARIABLE = "PLATES_PRECISION_CHOICES"
"""Names the file in which a server keeps what its processes chose; it is theirs alone, and gone with the server."""

CALIBRATION = Path(__file__).parent / "calibration"
SCENE, CROPS = "scene.jpg", "crops.raw"
"""A street of 640x384 px with plates, and the bytes of crops (N, 24, 94, 3), BGR: `python -m training.synthesis
--calibration`."""

_LIKELY, _OVERLAPPING = 0.15, 0.45
"""Least score of a row of the detector that is compared, and the overlap from which on two are the same plate."""
_MOVED, _SCORED = 0.04, 0.1
"""How far such a row's sides may move, as a share of its longer one, and how much its score may change."""
_STRAYED, _DOUBTED = 0.5, 0.1
"""How far a corner may move, px of its window, and how much the logarithm of the error to expect may change."""
_SURE = 0.9
"""Crops are compared where float32 is so sure of each step, 0..1; then the best path must be the same, and as sure but
for `_SCORED`."""
_TRIALS = 2

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Choice:
    """A precision and the reason for it."""

    precision: Precision
    why: str


@dataclass(frozen=True)
class Candidate:
    """How a network that may run in less than float32 is loaded and asked, and whether two answers are alike."""

    load: Callable[[Path, int, Precision], Callable[[Any], NDArray[np.float32]]]
    given: Callable[[], NDArray[Any]]
    alike: Callable[[NDArray[np.float32], NDArray[np.float32]], bool]


def choose(name: str, path: Path, environ: Mapping[str, str] = os.environ) -> Choice:
    """A network, by its name and its converted file -> in which precision it is to run in this process.

    `PLATES_PRECISION` sets it for the networks that may run in less than float32, `CANDIDATES`, and for int8 those of
    them that have ranges; "auto" is the default. An STN stays in float32: in bfloat16 what is read after it moves four
    times as much as by all other networks together.

    Raises:
        ContractError: `PLATES_PRECISION` is none of the four.
        WeightsError: the file is missing or does not load.
    """
    wanted = environ.get(PRECISION_VARIABLE, AUTO)
    forced: dict[str, Choice] = {each: Choice(each, f"by {PRECISION_VARIABLE}") for each in PRECISIONS}
    if wanted not in (AUTO, *forced):
        raise ContractError(f"{PRECISION_VARIABLE}: expected {', '.join((AUTO, *forced))}, got {wanted!r}")
    if name not in CANDIDATES:
        choice = Choice("float32", "the only one for this network")
    elif wanted == "int8" and not ranges_of(read_ir(path)):
        choice = Choice("float32", "its weights have no ranges for int8")
    else:
        choice = forced.get(wanted) or _found(CANDIDATES[name], path, environ.get(CHOICES_VARIABLE))
    _log.info("%s: %s: %s", name, choice.precision, choice.why)
    return choice


def _found(candidate: Candidate, path: Path, choices: str | None) -> Choice:
    """As `_measured`; of all processes that know the file of choices the first measures, and the others wait for it."""
    if choices is None:
        return _measured(candidate, path)
    import fcntl  # late: only a server's processes need it, and they are on Linux

    try:
        digest = hashlib.sha256(path.read_bytes() + path.with_suffix(".bin").read_bytes()).hexdigest()
        file = Path(choices).open("a+", encoding="utf-8")  # noqa: SIM115
    except OSError:  # a network's file that is missing is named as it is loaded
        return _measured(candidate, path)
    with file:
        fcntl.lockf(file, fcntl.LOCK_EX, 1, int(digest[:8], 16))  # of this network alone, until the file is closed
        file.seek(0)
        for line in file:
            if line.startswith(digest):  # whole: that of another network may be under way
                known = json.loads(line.removeprefix(digest))
                return Choice(known["precision"], f"as chosen before: {known['why']}")
        choice = _measured(candidate, path)
        file.write(f"{digest} {json.dumps(asdict(choice))}\n")
    return choice


def _measured(candidate: Candidate, path: Path) -> Choice:
    lower = _possible(path)
    if not lower:
        return Choice("float32", "the processor has no bfloat16")
    given = candidate.given()
    exact = candidate.load(path, 1, "float32")
    expected = exact(given)
    spent: dict[Precision, float] = {"float32": _seconds(exact, given)}
    said = []
    for precision in lower:
        try:
            run = candidate.load(path, 1, precision)
        except WeightsError:  # layers that OpenVINO has not in it on this processor
            said.append(f"{precision} does not load")
            continue
        found = run(given)
        if found.shape != expected.shape or not candidate.alike(expected, found):
            said.append(f"{precision} does not answer alike")
            continue
        spent[precision] = _seconds(run, given)
        said.append(f"{precision} takes {spent[precision] / spent['float32']:.2f} of float32's time")
    return Choice(min(spent, key=spent.__getitem__), ", ".join(said))


def _possible(path: Path) -> list[Precision]:
    """A converted file -> in what its network can be loaded on this processor besides float32."""
    possible: dict[Precision, bool] = {"bfloat16": has_bfloat16(), "int8": bool(ranges_of(read_ir(path)))}
    return [precision for precision in possible if possible[precision]]


def _seconds(run: Callable[[Any], Any], given: NDArray[Any]) -> float:
    """The least of the processor's time that an answer takes."""
    taken = []
    for _ in range(_TRIALS):
        started = time.process_time()
        run(given)
        taken.append(time.process_time() - started)
    return min(taken)


def rows_alike(expected: NDArray[np.float32], found: NDArray[np.float32]) -> bool:
    """All rows (1, A, 5 + classes) of a detector in two precisions -> whether the likely ones are the same plates.

    A row that overlaps a better one in either is not asked for.
    """
    from plate_nets.runtimes.rows import best_rows, row_scores  # late: LPRNet's process has no OpenCV

    best = np.union1d(*(best_rows(rows[0], _LIKELY, _OVERLAPPING) for rows in (expected, found)))
    own, other = expected[0, best], found[0, best]
    moved = np.abs(other[:, :4] - own[:, :4]).max(axis=1, initial=0)
    near = moved <= _MOVED * own[:, 2:4].max(axis=1, initial=0)
    scored = np.abs(row_scores(other) - row_scores(own)) <= _SCORED
    return bool(best.size and near.all() and scored.all())


def corners_alike(expected: NDArray[np.float32], found: NDArray[np.float32]) -> bool:
    """What CornerNet answers (N, 9) in two precisions -> whether the corners are the same."""
    change = np.abs(found - expected)
    return bool((change[:, :8] <= _STRAYED).all() and (change[:, 8] <= _DOUBTED).all())


def paths_alike(expected: NDArray[np.float32], found: NDArray[np.float32]) -> bool:
    """Logits (N, C, 18) in two precisions -> whether the crops that the first reads surely are read the same."""
    sure, other = (np.exp(logits - logits.max(axis=1, keepdims=True)) for logits in (expected, found))
    sure, other = (each / each.sum(axis=1, keepdims=True) for each in (sure, other))
    compared = (sure.max(axis=1) >= _SURE).all(axis=1)
    same = (sure.argmax(axis=1) == other.argmax(axis=1))[compared].all()
    return bool(compared.any() and same and np.abs(sure - other)[compared].max() <= _SCORED)


def scene() -> NDArray[np.uint8]:
    """A rendered street as the detector takes it: (1, 384, 640, 3) BGR."""
    import cv2  # late: LPRNet's process does without

    return np.asarray(cv2.imread(str(CALIBRATION / SCENE)), np.uint8)[None]


def crops() -> NDArray[np.float32]:
    """Rendered plates as LPRNet takes them: (N, 3, 24, 94)."""
    pictures = np.frombuffer((CALIBRATION / CROPS).read_bytes(), np.uint8).reshape(-1, CROP_HEIGHT, CROP_WIDTH, 3)
    return np.ascontiguousarray((pictures[..., ::-1].transpose(0, 3, 1, 2).astype(np.float32) - 127.5) / 128)


def windows() -> NDArray[np.float32]:
    """Rendered plates as CornerNet takes them, on grey: (N, 3, 64, 128)."""
    pictures = crops()
    n, _, height, width = pictures.shape
    given = np.zeros((n, 3, WINDOW_HEIGHT, WINDOW_WIDTH), np.float32)
    top, left = (WINDOW_HEIGHT - height) // 2, (WINDOW_WIDTH - width) // 2
    given[:, :, top : top + height, left : left + width] = pictures
    return given


def _load_all_rows(path: Path, threads: int, precision: Precision) -> Callable[[Any], NDArray[np.float32]]:
    """A detector that leaves no row out, so that those of two precisions are in the same places."""
    return partial(OpenVINODetector(path, threads, precision), least=0.0)


CANDIDATES: Mapping[str, Candidate] = {
    YOLO.name: Candidate(_load_all_rows, scene, rows_alike),
    CORNERS.name: Candidate(load_ir, windows, corners_alike),
    **dict.fromkeys(READERS, Candidate(load_ir, crops, paths_alike)),
}
"""The networks that may run in less than float32, by name."""
