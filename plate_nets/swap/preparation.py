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
from plate_nets.runtimes.networks import TORCHSCRIPT, load_converted, network_folder, released
from plate_nets.swap.versions import latest, scratch_folder


@dataclass(frozen=True)
class Prepared:
    """A version folder that is ready to be moved into place."""

    folder: Path
    comparisons: tuple[Comparison, ...]
    """How far its files are from the network."""


@contextmanager
def prepare(network: str, weights: Path, repository: Path) -> Iterator[Prepared]:
    """Weights of a network's architecture -> the next version of the model that runs it, beside those in service.

    What else the version in service holds is kept: code, and other networks. The weights are converted as a release
    is, compared with the network, and read the known picture together with the other models' versions in service; the
    server and the repository's versions know nothing of it.

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
    model = NETWORKS[network].model.name
    folder = repository / model
    served = folder / str(latest(folder))
    torchscript = network_folder(served, network) / TORCHSCRIPT
    if torchscript.is_file() and not torch_installed():
        raise MissingExtra("convert", f"a new {torchscript}", "torch")
    with scratch_folder(folder) as temporary:
        made = released(temporary, model)
        shutil.copytree(served, made, ignore=shutil.ignore_patterns("__pycache__"))
        comparisons = convert(replace(conversions(scheme)[network], weights=weights), Mode.TRACE, temporary)
        models = {each.model.name for each in NETWORKS.values()}
        folders = {name: repository / name / str(latest(repository / name)) for name in models}
        try:
            check_health(LocalReader(scheme=scheme, networks=partial(load_converted, folders | {model: made})))
        except PlateError as error:
            raise SwapError(f"{network}: {weights} is refused, nothing was changed: {error}") from error
        yield Prepared(made, comparisons)
