"""New weights -> a version folder that is proven before any server sees it."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from plate_nets.conversion.config_check import check_configs, scheme_of
from plate_nets.conversion.conversion import Comparison, Mode, convert, torch_installed
from plate_nets.conversion.table import conversions
from plate_nets.errors import ContractError, MissingExtra, PlateError, SwapError
from plate_nets.nets.registry import NETWORKS
from plate_nets.recognition.health import check_health
from plate_nets.recognition.local import LocalReader
from plate_nets.runtimes.networks import TORCHSCRIPT, load_converted, released
from plate_nets.swap.versions import latest, scratch_folder


@dataclass(frozen=True)
class Prepared:
    """A version folder that is ready to be moved into place."""

    folder: Path
    comparisons: tuple[Comparison, ...]
    """How far its files are from the network."""


@contextmanager
def prepare(model: str, weights: Path, repository: Path) -> Iterator[Prepared]:
    """Weights of a network's architecture -> its files as the server needs them, beside the versions in service.

    They are converted as a release is, compared with the network, and read the known picture together with the other
    networks' versions in service; the server and the repository's versions know nothing of it.

    Raises:
        ContractError: the repository is not as the contract says.
        WeightsError: the file is no safetensors file of this architecture, or of another scheme than the repository's.
        ConversionError: the files do not give the network's numbers.
        MissingExtra: TorchScript is needed and torch not installed.
        SwapError: the repository is read-only, or the network does not read the known picture.
    """
    if faults := check_configs(repository):
        raise ContractError("\n".join(faults))
    scheme = scheme_of(repository)
    folder = repository / model
    served = folder / str(latest(folder))
    if (served / TORCHSCRIPT).is_file() and not torch_installed():
        raise MissingExtra("convert", f"a new {served / TORCHSCRIPT}", "torch")
    with scratch_folder(folder) as temporary:
        comparisons = convert(replace(conversions(scheme)[model], weights=weights), Mode.TRACE, temporary)
        made = released(temporary, model)
        code = served / "model.py"
        if code.is_file():  # a model of the python backend has its code in each version
            shutil.copy(code, made)
        folders = {name: repository / name / str(latest(repository / name)) for name in NETWORKS}
        try:
            check_health(LocalReader(scheme=scheme, networks=partial(load_converted, folders | {model: made})))
        except PlateError as error:
            raise SwapError(f"{model}: {weights} is refused, nothing was changed: {error}") from error
        yield Prepared(made, comparisons)
