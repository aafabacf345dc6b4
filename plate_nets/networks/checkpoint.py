"""Weights on disk: safetensors, listed with their SHA-256 in `plate_nets/weights/SHA256SUMS`.

Loading is strict, offline, and never unpickles. Reading needs no torch. The weights of a reader carry the scheme that
they were trained for in their metadata: its name (``scheme``), and the hash of its alphabet (``scheme_sha256``), which
says what a class means; those of the detector its activation.
"""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from plate_nets.errors import InputError, WeightsError
from plate_nets.intake.files import check_file, read_file, read_text
from plate_nets.intake.table import excerpt
from plate_nets.plates import PlateScheme
from plate_nets.whole_file import whole_file, write_whole

if TYPE_CHECKING:  # torch and safetensors are imported where they are needed: names are wanted without them
    from torch import nn

WEIGHTS = Path(__file__).parent.parent / "weights"
SUMS = "SHA256SUMS"
MAX_WEIGHTS = 256 << 20
"""Bytes of a file of weights; the largest that ships has 9 MB."""

ACTIVATION = "activation"
"""The key in the metadata, and the attribute of a network that has it."""
_FORMER_ACTIVATION = "silu"
"""Of weights that do not say: those up to 0.2."""


def weights_path(name: str) -> Path:
    """The committed weights of a network, by its model name ("yolo", "stn", "lprnet")."""
    return WEIGHTS / f"{name}.safetensors"


def read_weights(path: Path, scheme: PlateScheme | None = None) -> dict[str, NDArray[Any]]:
    """A safetensors file -> its arrays by name.

    Where a `SHA256SUMS` beside the file lists it, its hash must be the listed one.

    ``scheme``: what the file must have been trained for; None for a network that reads no symbols.

    Raises:
        WeightsError: the file is missing, damaged, not the listed one, or of another scheme, or holds a number that is
            not finite.
    """
    from safetensors import SafetensorError
    from safetensors.numpy import load

    content = _read(path)
    expected = read_sums(path.parent).get(path.name)
    if expected is not None and (found := hashlib.sha256(content).hexdigest()) != expected:
        raise WeightsError(
            f"{path}: SHA-256 is {found}, expected {expected} of {SUMS}; the file is damaged or replaced"
        )
    if scheme is not None:
        check_scheme(path, scheme)
    try:
        arrays = load(content)
    except (SafetensorError, ValueError, TypeError) as error:  # numpy has no bfloat16: a TypeError
        raise WeightsError(f"{path}: not a readable safetensors file: {excerpt(str(error))}") from error
    for name, array in arrays.items():
        if not np.isfinite(array).all():
            raise WeightsError(f"{path}: {excerpt(name)}: expected finite numbers, got NaN or infinity")
    return arrays


def load_weights(network: "nn.Module", path: Path, scheme: PlateScheme | None = None) -> None:
    """A safetensors file -> the parameters and buffers of ``network``, in place; read as by `read_weights`.

    A part that the network names as ``optional`` and the file has nothing of becomes None.

    Raises:
        WeightsError: the file is missing, damaged, not the listed one, of another scheme or another network.
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
        how = "`python -m training.detector.distil` teaches the one what the other answers"
        raise WeightsError(f"{path}: weights with {found}, expected {expected}; {how}")
    if missing := sorted(own.keys() - state.keys()):
        raise WeightsError(f"{path}: not weights of {name}: {len(missing)} tensors are missing, first {missing[0]}")
    if unknown := sorted(state.keys() - own.keys()):
        raise WeightsError(
            f"{path}: not weights of {name}: {len(unknown)} tensors are unknown, first {excerpt(unknown[0])}"
        )
    for key, tensor in own.items():
        if tensor.shape != state[key].shape:
            given, wanted = tuple(state[key].shape), tuple(tensor.shape)
            raise WeightsError(f"{path}: not weights of {name}: {key} has shape {given}, expected {wanted}")
        if tensor.is_floating_point() != state[key].is_floating_point():
            given_type, type_ = state[key].dtype, tensor.dtype
            raise WeightsError(f"{path}: not weights of {name}: {key} holds {given_type}, expected {type_}")
    network.load_state_dict(state)


def check_scheme(path: Path, scheme: PlateScheme) -> None:
    """Raises WeightsError where a safetensors file was not trained for a scheme: by name, or by alphabet."""
    found = read_metadata(path)
    for key, expected in scheme_marks(scheme).items():
        if (got := found.get(key)) != expected:
            raise WeightsError(f"{path}: weights of another scheme: {key}: expected {expected}, got {got or 'none'}")


def activation_of(path: Path) -> str:
    """The activation that the detector's weights in a safetensors file were trained with.

    Raises:
        WeightsError: the file is not readable.
    """
    return read_metadata(path).get(ACTIVATION, _FORMER_ACTIVATION)


def read_metadata(path: Path) -> dict[str, str]:
    """The metadata of a safetensors file; empty where it has none.

    Raises:
        WeightsError: the file is missing or not readable.
    """
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(check_file(path), framework="numpy") as file:
            return dict(file.metadata() or {})
    except (SafetensorError, OSError, ValueError) as error:
        raise WeightsError(f"{path}: {_why(error)}") from error


def save_weights(
    network: "nn.Module", path: Path, metadata: Mapping[str, str], scheme: PlateScheme | None = None
) -> None:
    """The parameters and buffers of ``network`` -> a safetensors file, listed in the `SHA256SUMS` beside it.

    The file replaces an older one only when it is complete on disk. ``scheme``: as for `load_weights`.
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
    """What weights say of the scheme that they were trained for."""
    return {"scheme": scheme.trained_as, "scheme_sha256": scheme.sha256}


def sha256(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read_sums(folder: Path) -> dict[str, str]:
    """The `SHA256SUMS` of a folder as file name -> hash; empty where there is none.

    Raises:
        WeightsError: it is something else.
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
    """A whole file of weights, which is looked at before it is read.

    Raises:
        WeightsError: it does not open, or has more bytes than `MAX_WEIGHTS`.
    """
    try:
        return read_file(path, MAX_WEIGHTS)
    except (OSError, InputError) as error:
        raise WeightsError(f"{path}: {_why(error)}") from error


def _why(error: Exception) -> str:
    if isinstance(error, FileNotFoundError):
        return "no such weights file"
    if isinstance(error, InputError):
        return str(error)
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return f"not a readable safetensors file: {excerpt(str(error))}"
