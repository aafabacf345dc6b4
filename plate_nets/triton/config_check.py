"""Checks the `config.pbtxt` files of a model repository against its contract, without a server."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from google.protobuf import text_format

from plate_nets.common.errors import SchemeError
from plate_nets.contract import PLATE_RECOGNITION, ModelSpec, TensorSpec, models
from plate_nets.countries import PlateScheme, load_schemes, own_reader
from plate_nets.networks.runtimes.networks import RELEASED
from plate_nets.triton.backend.settings import SchemeSettings, read_settings

CONFIG = "config.pbtxt"


def check_configs(repository: Path, contract: Mapping[str, ModelSpec] | None = None) -> list[str]:
    """A model repository -> its faults against a contract, one line each; empty if there are none.

    Without a contract, uses that of the scheme that the repository reads.
    """
    if not repository.is_dir():
        return [f"{repository}: no such model repository"]
    if contract is None:
        try:
            contract = models(scheme_of(repository))
        except SchemeError as error:
            return [str(error)]
    folders = {path.name for path in repository.iterdir() if path.is_dir()}
    faults = [f"{repository / name}: no model of the contract" for name in sorted(folders - contract.keys())]
    for spec in contract.values():
        folder = repository / spec.name
        faults.extend(f"{folder / CONFIG}: {fault}" for fault in _check_model(folder, spec))
    return faults


def scheme_of(repository: Path) -> PlateScheme:
    """A model repository -> the scheme of its main reader, `lprnet`; raises as `schemes_of`."""
    return own_reader(schemes_of(repository))


def schemes_of(repository: Path) -> tuple[PlateScheme, ...]:
    """A model repository -> the schemes that it reads: those named by the environment or by the config of
    `plate_recognition`, or the default.

    Raises:
        SchemeError: a name is not a scheme.
    """
    folder = repository / PLATE_RECOGNITION.name
    try:
        config = parse_config(folder / CONFIG)
    except (OSError, text_format.ParseError, UnicodeDecodeError):  # `check_configs` reports it
        parameters = {}
    else:
        parameters = {key: value.string_value for key, value in config.parameters.items()}
    return load_schemes(read_settings(SchemeSettings, PLATE_RECOGNITION.name, parameters).scheme, folder)


def parse_config(path: Path) -> Any:
    """A `config.pbtxt` -> Triton's `ModelConfig` message.

    Raises:
        OSError: the file does not open.
        google.protobuf.text_format.ParseError: a field is unknown or malformed.
    """
    from tritonclient.grpc import model_config_pb2  # imported here: gRPC takes a fifth of the start of a command

    return text_format.Parse(path.read_text(encoding="utf-8"), model_config_pb2.ModelConfig())


def _check_model(folder: Path, spec: ModelSpec) -> list[str]:
    try:
        config = parse_config(folder / CONFIG)
    except OSError as error:
        return [f"cannot be opened: {error.strerror}"]
    except (text_format.ParseError, UnicodeDecodeError) as error:
        return [f"does not parse: {error}"]
    faults = [
        f"{field}: expected {expected!r}, got {getattr(config, field)!r}"
        for field, expected in (
            ("name", spec.name),
            (_runner(config), spec.backend),
            ("max_batch_size", spec.max_batch_size),
        )
        if getattr(config, field) != expected
    ]
    faults += _check_tensors("input", spec.inputs, tuple(map(_tensor, config.input)))
    faults += _check_tensors("output", spec.outputs, tuple(map(_tensor, config.output)))
    if spec.backend == "python" and not (folder / str(RELEASED) / "model.py").is_file():
        faults.append(f"no {RELEASED}/model.py beside it")
    return faults


def _runner(config: Any) -> str:
    """The field that names what runs a model: an ensemble has a platform and no backend."""
    return "platform" if config.HasField("ensemble_scheduling") else "backend"


def _check_tensors(side: str, expected: tuple[TensorSpec, ...], found: tuple[TensorSpec, ...]) -> list[str]:
    faults = []
    if [spec.name for spec in expected] != [spec.name for spec in found]:
        faults.append(f"{side}s: expected {_names(expected)}, got {_names(found)}")
    known = {spec.name: spec for spec in found}
    for spec in expected:
        got = known.get(spec.name, spec)
        for field in ("dtype", "dims", "optional"):
            if getattr(got, field) != getattr(spec, field):
                faults.append(
                    f"{side} {spec.name}: {field}: expected {getattr(spec, field)}, got {getattr(got, field)}"
                )
    return faults


def _tensor(config: Any) -> TensorSpec:
    dtypes = config.DESCRIPTOR.fields_by_name["data_type"].enum_type.values_by_number
    dtype = dtypes[config.data_type].name.removeprefix("TYPE_")
    return TensorSpec(config.name, dtype, tuple(config.dims), getattr(config, "optional", False))


def _names(specs: tuple[TensorSpec, ...]) -> str:
    return ", ".join(spec.name for spec in specs) or "none"
