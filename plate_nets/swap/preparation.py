"""New weights -> a version folder that is proven before any server sees it."""

import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import torch

from plate_nets.conversion.config_check import check_configs, scheme_of
from plate_nets.conversion.conversion import VERSION, Comparison, Mode, convert
from plate_nets.conversion.table import conversions
from plate_nets.errors import ContractError, PlateError, SwapError
from plate_nets.nets.registry import NETWORKS
from plate_nets.plates import PlateScheme
from plate_nets.recognition.decoding import DecodingSettings, PlateDecoder
from plate_nets.recognition.detection import PlateDetector
from plate_nets.recognition.health import check_health
from plate_nets.recognition.images import decode_image
from plate_nets.recognition.pipeline import PlateReader, split_rows
from plate_nets.runtimes.networks import load_converted
from plate_nets.serving.settings import FrameLimits
from plate_nets.swap.versions import aside, latest
from plate_nets.types import Crops, Frame, Plate


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
        SwapError: the repository is read-only, or the network does not read the known picture.
    """
    if faults := check_configs(repository):
        raise ContractError("\n".join(faults))
    scheme = scheme_of(repository)
    folder = repository / model
    with aside(folder) as temporary:
        comparisons = convert(replace(conversions(scheme)[model], weights=weights), Mode.TRACE, temporary)
        made = temporary / model / VERSION
        code = folder / str(latest(folder)) / "model.py"
        if code.is_file():  # a model of the python backend has its code in each version
            shutil.copy(code, made)
        folders = {name: repository / name / str(latest(repository / name)) for name in NETWORKS}
        try:
            check_health(FileReader(folders | {model: made}, scheme))
        except PlateError as error:
            raise SwapError(f"{model}: {weights} is refused, nothing was changed: {error}") from error
        yield Prepared(made, comparisons)


class FileReader:
    """The pipeline over version folders of `yolo`, `stn` and `lprnet`, in this process and on the CPU."""

    def __init__(self, folders: Mapping[str, Path], scheme: PlateScheme) -> None:
        networks = load_converted(folders, None, torch.get_num_threads())
        detector = PlateDetector(networks.yolo)
        self._reader: PlateReader[Frame, Crops] = PlateReader(
            detector.detect, networks.stn, networks.lprnet, PlateDecoder(scheme, DecodingSettings()), split_rows
        )

    def read(self, image: Frame | bytes) -> list[Plate]:
        """A frame or an encoded picture -> its plates."""
        return self._reader.read(decode_image(image, FrameLimits()) if isinstance(image, bytes) else image)
