"""Recorded outputs of a network, kept beside its weights, to check a graph where torch is not installed.

`REFERENCE.json` lists them by weights file, as `SHA256SUMS` lists hashes. `training.publish` writes both.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plate_nets.common.atomic_files import write_whole
from plate_nets.common.errors import InputError, WeightsError
from plate_nets.common.intake.files import read_text

REFERENCE = "REFERENCE.json"
COUNT = 128


def sample(output: NDArray[Any]) -> NDArray[np.float64]:
    """An output -> a sample of its numbers: (128,), evenly spread from the first to the last."""
    places = np.linspace(0, output.size - 1, COUNT).astype(int)
    values: NDArray[np.float64] = output.reshape(-1)[places].astype(np.float64)
    return values


def read_reference(weights: Path) -> NDArray[np.float64] | None:
    """A weights file -> the sample of its network's output, if one lies beside it.

    Raises:
        WeightsError: the sample cannot be read.
    """
    found = _read(weights.parent).get(weights.name)
    return None if found is None else np.array(found)


def write_reference(weights: Path, output: NDArray[Any]) -> None:
    """Store the sample of an output beside the weights that gave it."""
    samples = _read(weights.parent) | {weights.name: [float(f"{value:.7g}") for value in sample(output)]}
    lines = (f'"{name}": {json.dumps(samples[name])}' for name in sorted(samples))
    write_whole(weights.parent / REFERENCE, ("{" + ",\n".join(lines) + "}\n").encode())


def _read(folder: Path) -> dict[str, list[float]]:
    path = folder / REFERENCE
    if not path.exists():
        return {}
    try:
        samples = json.loads(read_text(path))
        return {name: [float(value) for value in values] for name, values in samples.items()}
    except InputError as error:
        raise WeightsError(str(error)) from error
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise WeightsError(f"{path}: expected JSON with {COUNT} numbers for each weights file") from error
