"""Saved files against their networks."""

import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from plate_nets.common.errors import ConversionError, WeightsError
from plate_nets.countries import main_scheme
from plate_nets.networks.conversion import openvino_ir
from plate_nets.networks.conversion.conversion import Comparison, Conversion, check, convert, is_current
from plate_nets.networks.conversion.formats import Format, writer_of
from plate_nets.networks.conversion.graphs.stn import stn
from plate_nets.networks.conversion.table import conversions
from plate_nets.networks.lprnet import LPRNet
from plate_nets.networks.stn import STN
from plate_nets.triton.config_check import parse_config
from tests.converters.conftest import random_conversion
from tests.disk import small_disk
from tests.limited import in_little_memory

ConversionOf = Callable[..., Conversion]


SCALE = 2


class PlainLinear(nn.Module):
    """A network that converts correctly; the faulty ones below share its weights."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(94, 4)

    def forward(self, crops: Tensor) -> Tensor:
        return self.linear(crops)


class FixedBatch(PlainLinear):
    """Freezes the batch size of the traced run."""

    def forward(self, crops: Tensor) -> Tensor:
        return self.linear(crops).reshape(int(crops.shape[0]), -1)


class FrozenChoice(PlainLinear):
    """Scales batches of 5 and more. A trace keeps only the branch that it saw."""

    def forward(self, crops: Tensor) -> Tensor:
        return self.linear(crops * 2) if int(crops.shape[0]) >= 5 else self.linear(crops)


class NotANumber(PlainLinear):
    def forward(self, crops: Tensor) -> Tensor:
        return self.linear(crops) / 0 * 0


class Unscriptable(PlainLinear):
    """Another method of the file reads a global of its module, which TorchScript refuses."""

    exported = ("scaled",)

    @torch.jit.export
    def scaled(self, crops: Tensor) -> Tensor:
        return self.linear(crops) * SCALE


def scaled(weights: Path) -> Path:
    """Weights of the same network that differ from ``weights``."""
    path = weights.with_name("scaled.safetensors")
    save_file({key: tensor * 2 for key, tensor in load_file(weights).items()}, path)
    return path


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("network", [STN, partial(LPRNet, 23)], ids=["STN", "LPRNet"])
def test_a_saved_file_reproduces_the_network(
    network: Callable[[], nn.Module], conversion_of: ConversionOf, repository: Path
) -> None:
    conversion = conversion_of(network)
    (comparison,) = convert(conversion, repository)
    assert comparison.difference <= conversion.tolerance
    assert files(repository).keys() == {"net/1/model.pt"}
    assert is_current(conversion, repository)
    assert check(conversion, repository) == (comparison,)

    module = torch.jit.load(str(repository / "net/1/model.pt"))
    constants = [node.output().toIValue() for node in module.graph.findAllNodes("prim::Constant")]
    kernels = [value for value in constants if isinstance(value, Tensor) and value.dim() == 4]
    assert len(kernels) > 3
    assert all(kernel.is_contiguous(memory_format=torch.channels_last) for kernel in kernels)
    assert module(torch.zeros(2, 3, 24, 94)).is_contiguous(), "channels last is invisible to the caller"


@dataclass(frozen=True)
class Made:
    """A network in a format that is made on request only."""

    format: Format
    conversion: Conversion
    repository: Path
    comparison: Comparison


@pytest.fixture(scope="module", params=[Format.ONNX, Format.AOTI])
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Made:
    """Each format in turn, made once: AOTInductor compiles for a minute."""
    folder = tmp_path_factory.mktemp("made")
    network = random_conversion(folder, PlainLinear, channels_last=False)
    repository = folder / "model_repository"
    repository.mkdir()
    (comparison,) = convert(network, repository, [request.param])
    return Made(request.param, network, repository, comparison)


@pytest.mark.slow
def test_other_formats_are_made_on_request_and_compared(made: Made, tmp_path: Path) -> None:
    format, conversion = made.format, made.conversion
    repository = Path(shutil.copytree(made.repository, tmp_path / "model_repository"))
    names = writer_of(format).FILES
    assert made.comparison.files == names and made.comparison.difference <= conversion.tolerance
    assert files(repository).keys() == {f"net/1/{name}" for name in names}, "nothing else was made"
    assert is_current(conversion, repository, [format])
    assert not is_current(conversion, repository)
    assert check(conversion, repository, [format]) == (made.comparison,)

    name = names[-1]
    with pytest.raises(ConversionError, match=rf"{name}: stale, converted from weights .* --format {format}`"):
        check(replace(conversion, weights=scaled(conversion.weights)), repository, [format])
    before = files(repository)
    with pytest.raises(ConversionError, match="net: cannot be exported: "):
        convert(replace(conversion, network=FixedBatch), repository, [format])
    assert files(repository) == before

    path = repository / "net" / "1" / name
    path.write_bytes(path.read_bytes()[:1000])
    with pytest.raises(ConversionError, match=rf"{name}: not a readable"):
        check(conversion, repository, [format])
    path.unlink()
    with pytest.raises(ConversionError, match=rf"{name}: no such file"):
        check(conversion, repository, [format])


@pytest.mark.slow
@pytest.mark.parametrize("made", [Format.AOTI], indirect=True)
def test_a_package_is_of_one_processor_and_has_its_configuration(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    conversion, repository = made.conversion, made.repository
    config = parse_config(repository / "net" / "1" / "config.torch_aoti.pbtxt")
    assert (config.name, config.backend, config.platform) == ("net", "pytorch", "torch_aoti")
    assert (config.max_batch_size, config.HasField("dynamic_batching")) == (32, True)
    sides = [(each.name, list(each.dims)) for each in (*config.input, *config.output)]
    assert sides == [("INPUT__0", [3, 24, 94]), ("OUTPUT__0", [3, 24, 4])]
    monkeypatch.setattr("plate_nets.networks.conversion.aoti_package.processor", lambda: "aarch64 neon")
    assert not is_current(conversion, repository, [Format.AOTI])
    fault = r"stale, converted from processor x86_64 .*, expected aarch64 neon; run `python -m converters net --format"
    with pytest.raises(ConversionError, match=fault):
        check(conversion, repository, [Format.AOTI])
    with pytest.raises(WeightsError, match=r"made for x86_64 .*, this is aarch64 neon; make one here: `python"):
        writer_of(Format.AOTI).run(repository / "net" / "1", conversion.inputs())


@pytest.mark.parametrize(
    ("network", "fault"),
    [
        (FixedBatch, "input (1, 3, 24, 94)"),
        (FrozenChoice, "input (5, 3, 24, 94): differs from the network by"),
        (NotANumber, "differs from the network by nan"),
        (Unscriptable, "cannot trace"),
    ],
)
def test_a_faulty_conversion_leaves_the_old_file(
    network: type[nn.Module], fault: str, conversion_of: ConversionOf, repository: Path
) -> None:
    good = conversion_of(PlainLinear, channels_last=False)
    convert(good, repository)
    before = files(repository)
    with pytest.raises(ConversionError) as error:
        convert(replace(good, network=network), repository)
    assert fault in str(error.value)
    assert files(repository) == before


@pytest.mark.parametrize(
    ("damage", "fault"),
    [
        (lambda path: path.write_bytes(path.read_bytes()[:-100]), "SHA-256"),
        (lambda path: path.unlink(), "no such weights file"),
        (lambda path: (path.write_bytes(b"junk"), (path.parent / "SHA256SUMS").unlink()), "not a readable safetensors"),
    ],
)
def test_damaged_weights_are_named_and_nothing_changes(
    damage: Callable[[Path], object], fault: str, conversion_of: ConversionOf, repository: Path
) -> None:
    conversion = conversion_of(STN)
    convert(conversion, repository)
    before = files(repository)
    damage(conversion.weights)
    for attempt in (lambda: convert(conversion, repository), lambda: check(conversion, repository)):
        with pytest.raises(WeightsError) as error:
            attempt()
        assert str(conversion.weights) in str(error.value)
        assert fault in str(error.value)
    assert files(repository) == before


def test_check_finds_a_stale_a_damaged_and_a_missing_file(conversion_of: ConversionOf, repository: Path) -> None:
    conversion = conversion_of(STN)
    path = repository / "net" / "1" / "model.pt"
    with pytest.raises(ConversionError, match="no such file"):
        check(conversion, repository)
    convert(conversion, repository)
    good = path.read_bytes()

    path.write_bytes(good[: len(good) // 2])
    with pytest.raises(ConversionError, match="not a readable TorchScript file"):
        check(conversion, repository)
    assert not is_current(conversion, repository)

    path.write_bytes(good)
    assert is_current(conversion, repository)
    with pytest.raises(ConversionError, match="stale, converted from weights"):
        check(replace(conversion, weights=scaled(conversion.weights)), repository)


def test_a_folder_that_cannot_be_written_is_named(conversion_of: ConversionOf, repository: Path) -> None:
    (repository / "net").write_text("a file where a folder should be")
    with pytest.raises(ConversionError, match="cannot be written"):
        convert(conversion_of(STN), repository)


def test_openvino_files_contain_their_provenance_and_are_compared(
    conversion_of: ConversionOf, repository: Path
) -> None:
    conversion = conversion_of(STN, graph=stn)
    convert(conversion, repository)
    assert files(repository).keys() == {"net/1/model.pt", "net/1/model.bin", "net/1/model.xml"}
    assert is_current(conversion, repository)
    assert len(check(conversion, repository)) == 2

    binary = repository / "net" / "1" / "model.bin"
    other = replace(conversion, folder=Path("other", "1"), weights=scaled(conversion.weights), tolerance=1e-2)
    convert(other, repository)
    binary.write_bytes((repository / "other" / "1" / "model.bin").read_bytes())
    with pytest.raises(ConversionError, match=r"model\.xml: input .* differs from the network"):
        check(conversion, repository)
    binary.unlink()
    with pytest.raises(ConversionError, match=r"model\.bin: no such file"):
        check(conversion, repository)


def fill_a_disk(repository: Path) -> None:
    with pytest.raises(ConversionError, match=r"cannot be written: .*No space left"):
        convert(conversions(main_scheme())["lprnet"], repository)
    conversion = conversions(main_scheme())["stn"]
    assert conversion.graph is not None
    network = openvino_ir.build(conversion.graph, conversion.weights, conversion.scheme)
    (repository / "filling").write_bytes(bytes(900 << 10))
    with pytest.raises(ConversionError, match=r"model\.xml: cannot be written \(is the disk full\?\)"):
        openvino_ir.save(network, {}, repository)


@pytest.mark.slow
def test_a_full_disk_fails_a_conversion_without_ending_the_process(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk") as disk:
        in_little_memory(fill_a_disk, disk.path, more=64 << 30)
