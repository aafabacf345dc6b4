"""New weights -> a version folder that is tested before any server sees it."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

from plate_nets.common.errors import ContractError, MissingExtra, PlateError, SwapError
from plate_nets.networks.conversion.conversion import Comparison, convert, torch_installed
from plate_nets.networks.conversion.table import conversions
from plate_nets.networks.registry import NETWORKS
from plate_nets.networks.runtimes.networks import TORCHSCRIPT, load_converted, network_folder, released
from plate_nets.recognition.detection import DetectionSettings, detail_of
from plate_nets.recognition.health import check_health
from plate_nets.recognition.local import LocalReader
from plate_nets.triton.config_check import check_configs, scheme_of
from plate_nets.triton.swap.versions import latest, scratch_folder


@contextmanager
def prepare(network: str, weights: Path, repository: Path) -> Iterator[tuple[Path, tuple[Comparison, ...]]]:
    """Convert new weights of a network into the next version of its model, beside the versions in service.

    Gives its folder, ready to be moved into place, and how far its files differ from the network.

    Everything else in the current version is kept: code and other networks. The weights are converted as for a
    release, compared with the network, and must read the known picture together with the current versions of the other
    models. The server and the served versions are not touched.

    Raises:
        ContractError: the repository does not match the contract.
        WeightsError: the file is not a safetensors file of this architecture, or is for another scheme.
        ConversionError: the files do not reproduce the network's numbers.
        MissingExtra: TorchScript is needed but torch is not installed.
        SwapError: the repository is read-only, or the known picture is not read.
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
        built = released(temporary, model)
        shutil.copytree(served, built, ignore=shutil.ignore_patterns("__pycache__"))
        comparisons = convert(replace(conversions(scheme)[network], weights=weights), temporary)
        models = {each.model.name for each in NETWORKS.values()}
        folders = {name: repository / name / str(latest(repository / name)) for name in models}
        detection = DetectionSettings(detail=detail_of(network))
        load = partial(load_converted, folders | {model: built}, detector=detection.network)
        try:
            check_health(LocalReader(scheme=scheme, detection=detection, networks=load))
        except PlateError as error:
            raise SwapError(f"{network}: refused {weights}, nothing was changed: {error}") from error
        yield built, comparisons
