"""Weights on disk: safetensors, listed with their SHA-256 in `plate_nets/weights/SHA256SUMS`.

Loading is strict, offline, and never unpickles. Reading needs no torch. The metadata of a reader's weights contain the
scheme that they were trained for: its name (``scheme``), and the hash of its alphabet (``scheme_sha256``), which
defines the classes. The metadata of the detector's weights contain its activation.
"""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from plate_nets.common.atomic_files import whole_file, write_whole
from plate_nets.common.errors import InputError, WeightsError
from plate_nets.common.intake.files import check_file, read_file, read_text
from plate_nets.common.intake.table import excerpt
from plate_nets.countries import PlateScheme

if TYPE_CHECKING:  # torch and safetensors are imported where needed, so that this module works without them
    from torch import nn

WEIGHTS = Path(__file__).parent.parent / "weights"
SUMS = "SHA256SUMS"
MAX_WEIGHTS = 256 << 20
"""Maximum size of a weights file in bytes; the largest in the package has 9 MB."""

ACTIVATION = "activation"
"""The key in a file's metadata, and the attribute of a network, that name its activation."""
_FORMER_ACTIVATION = "silu"
"""The activation of weights without this key. Those of versions up to 0.2 lack it."""


def weights_path(name: str) -> Path:
    """The committed weights of a network, by its model name ("yolo", "stn", "lprnet")."""
    return WEIGHTS / f"{name}.safetensors"


def read_weights(path: Path, scheme: PlateScheme | None = None) -> dict[str, NDArray[Any]]:
    """A safetensors file -> its arrays by name.

    If a `SHA256SUMS` beside the file lists it, the hash must match.

    ``scheme``: the scheme that the file must be trained for; None for a network that reads no symbols.

    Raises:
        WeightsError: the file is missing, damaged, has another hash or another scheme, or contains a number that is not
            finite.
    """
    from safetensors import SafetensorError
    from safetensors.numpy import load

    content = _read(path)
    expected = read_sums(path.parent).get(path.name)
    if expected is not None and (found := hashlib.sha256(content).hexdigest()) != expected:
        raise WeightsError(
            f"{path}: SHA-256 is {found}, expected {expected} from {SUMS}; the file is damaged or was replaced"
        )
    if scheme is not None:
        check_scheme(path, scheme)
    try:
        arrays = load(content)
    except (SafetensorError, ValueError, TypeError) as error:  # TypeError: bfloat16, which numpy lacks
        raise WeightsError(f"{path}: not a readable safetensors file: {excerpt(str(error))}") from error
    for name, array in arrays.items():
        if not np.isfinite(array).all():
            raise WeightsError(f"{path}: {excerpt(name)}: expected finite numbers, got NaN or infinity")
    return arrays


def load_weights(network: "nn.Module", path: Path, scheme: PlateScheme | None = None) -> None:
    """Load a safetensors file into the parameters and buffers of ``network``, in place; see `read_weights`.

    A part in the network's ``optional`` becomes None if the file does not contain it.

    Raises:
        WeightsError: the file is missing, damaged, has another hash, or is for another scheme or network.
    """
    import torch

    state = {name: torch.from_numpy(array) for name, array in read_weights(path, scheme).items()}
    for part in getattr(network, "optional", ()):
        if not any(name.startswith(f"{part}.") for name in state):
            setattr(network, part, None)
    own = network.state_dict()
    name = type(network).__name__
    expected = getattr(network, ACTIVATION, None)
    if expected and (found := activation_of(path)) != expected:
        how = "`python -m training detector --set start.weights=FOLDER` trains new ones from these"
        raise WeightsError(f"{path}: weights with the activation {excerpt(found)}, expected {expected}; {how}")
    if missing := sorted(own.keys() - state.keys()):
        raise WeightsError(f"{path}: not weights of {name}: {len(missing)} tensors are missing, first {missing[0]}")
    if unknown := sorted(state.keys() - own.keys()):
        raise WeightsError(
            f"{path}: not weights of {name}: {len(unknown)} tensors are unknown, first {excerpt(unknown[0])}"
        )
    for key, tensor in own.items():
        if tensor.shape != state[key].shape:
            shapes = f"{tuple(state[key].shape)}, expected {tuple(tensor.shape)}"
            raise WeightsError(f"{path}: not weights of {name}: {key} has shape {shapes}")
        if tensor.is_floating_point() != state[key].is_floating_point():
            dtypes = f"{state[key].dtype}, expected {tensor.dtype}"
            raise WeightsError(f"{path}: not weights of {name}: {key} has dtype {dtypes}")
    network.load_state_dict(state)


def check_scheme(path: Path, scheme: PlateScheme) -> None:
    """Raise WeightsError if the metadata of a safetensors file names another scheme or another alphabet."""
    found = read_metadata(path)
    for key, expected in scheme_marks(scheme).items():
        if (got := found.get(key)) != expected:
            raise WeightsError(
                f"{path}: weights of another scheme: {key}: expected {expected}, got {excerpt(got or 'none')}"
            )


def activation_of(path: Path) -> str:
    """The activation that the detector's weights in a safetensors file were trained with.

    Raises:
        WeightsError: the file cannot be read.
    """
    return read_metadata(path).get(ACTIVATION, _FORMER_ACTIVATION)


def read_metadata(path: Path) -> dict[str, str]:
    """The metadata of a safetensors file; empty if it has none.

    Raises:
        WeightsError: the file is missing or cannot be read.
    """
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(check_file(path), framework="numpy") as file:
            return dict(file.metadata() or {})
    except (SafetensorError, OSError, ValueError) as error:
        raise WeightsError(f"{path}: {_cause(error)}") from error


def save_weights(
    network: "nn.Module", path: Path, metadata: Mapping[str, str], scheme: PlateScheme | None = None
) -> None:
    """Save the parameters and buffers of ``network`` to a safetensors file, and its hash to the `SHA256SUMS` beside it.

    An existing file is only replaced when the new one is complete. ``scheme``: as for `load_weights`.
    """
    from safetensors.numpy import save_file

    marks = scheme_marks(scheme) if scheme else {}
    if activation := getattr(network, ACTIVATION, None):
        marks[ACTIVATION] = activation
    state = {key: tensor.detach().cpu().contiguous().numpy() for key, tensor in network.state_dict().items()}
    with whole_file(path) as fresh:
        save_file(state, fresh, metadata={**metadata, **marks})
        fresh.chmod(0o644)  # safetensors writes 0600, which an image with another user could not read
    sums = read_sums(path.parent) | {path.name: sha256(path)}
    write_whole(path.parent / SUMS, "".join(f"{sums[name]}  {name}\n" for name in sorted(sums)).encode())


def scheme_marks(scheme: PlateScheme) -> dict[str, str]:
    """The metadata of weights that are trained for a scheme."""
    return {"scheme": scheme.trained_as, "scheme_sha256": scheme.sha256}


def sha256(path: Path) -> str:
    """The SHA-256 of a weights file in hexadecimal.

    Raises:
        WeightsError: the file is missing or cannot be read.
    """
    return hashlib.sha256(_read(path)).hexdigest()


def read_sums(folder: Path) -> dict[str, str]:
    """The `SHA256SUMS` of a folder as file name -> hash; empty if the folder has no such file.

    Raises:
        WeightsError: it has another format.
    """
    path = folder / SUMS
    if not path.exists():
        return {}
    try:
        lines = read_text(path).splitlines()
        return {name: digest for digest, name in (line.split(maxsplit=1) for line in lines if line.strip())}
    except InputError as error:
        raise WeightsError(str(error)) from error
    except ValueError as error:
        raise WeightsError(f"{path}: expected a hash and the name of a file in each line") from error


def _read(path: Path) -> bytes:
    """A whole weights file, checked before it is read.

    Raises:
        WeightsError: it cannot be opened, or has more bytes than `MAX_WEIGHTS`.
    """
    try:
        return read_file(path, MAX_WEIGHTS)
    except (OSError, InputError) as error:
        raise WeightsError(f"{path}: {_cause(error)}") from error


def _cause(error: Exception) -> str:
    if isinstance(error, FileNotFoundError):
        return "no such weights file"
    if isinstance(error, InputError):
        return str(error)
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return f"not a readable safetensors file: {excerpt(str(error))}"
