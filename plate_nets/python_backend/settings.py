"""Settings of a served model: frozen dataclasses filled from its `config.pbtxt` and the environment.

The environment (``PLATES_<MODEL>_<FIELD>``) comes before the config (``parameters``, by field name), which comes
before the default of the field. Keys in capitals belong to Triton; any other unknown key is refused.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, TypeVar

from plate_nets.errors import ContractError
from plate_nets.plates import DEFAULT_SCHEME
from plate_nets.python_backend.quota import usable_cores

S = TypeVar("S")


@dataclass(frozen=True)
class SchemeSettings:
    """Which countries' plates are read."""

    scheme: str = DEFAULT_SCHEME
    """Schemes of the package by name, or TOML files, from the model's folder on, with a comma between. The readers'
    weights must fit them. Who asks is given all of them, or those that he names."""


@dataclass(frozen=True)
class NetworkSettings:
    """How a network runs on the CPU."""

    threads: int = 0
    """Of one instance; 0: the cores divided by the instances of the model."""


@dataclass(frozen=True)
class TorchScriptSettings(NetworkSettings):
    """How a converted network runs in the embedded server's `pytorch` backend."""

    openvino: bool = False
    """Whether OpenVINO runs it on a CPU: the reader is faster and smaller there (docs/explanation/performance.md)."""


@dataclass(frozen=True)
class ModelArgs:
    """What Triton tells an instance about itself, from the ``args`` of ``initialize``."""

    name: str
    folder: str
    """The version's folder, where the model file is."""
    gpu: int | None
    """The device of a GPU instance, None on the CPU."""
    instances: int
    """Of the model, this one among them."""
    parameters: Mapping[str, str]
    file: str
    """Name of the model file, from ``default_model_filename``; empty where the config names none."""


def read_settings(
    kind: type[S], model: str, parameters: Mapping[str, str], environ: Mapping[str, str] = os.environ
) -> S:
    """The settings of ``kind`` for a model; each field is an int, float, bool or str.

    Raises:
        ContractError: a value is not of its field's type.
    """
    values: dict[str, Any] = {}
    for field in fields(kind):  # type: ignore[arg-type]
        variable = f"PLATES_{model}_{field.name}".upper()
        text = environ.get(variable, parameters.get(field.name))
        if text is None:
            continue
        source = variable if variable in environ else f"parameter {field.name} of {model}/config.pbtxt"
        values[field.name] = _value(text, type(field.default), source)
    return kind(**values)


def refuse_unknown(model: str, parameters: Mapping[str, str], *kinds: type) -> None:
    """Raises ContractError where a config has a parameter that is no field of ``kinds``."""
    known = {field.name for kind in kinds for field in fields(kind)}
    unknown = sorted(key for key in parameters if not key.isupper() and key not in known)
    if unknown:
        raise ContractError(
            f"{model}/config.pbtxt: unknown parameter {', '.join(unknown)}; expected {', '.join(sorted(known))}"
        )


def thread_count(settings: NetworkSettings, instances: int) -> int:
    """Threads of one instance, at least 1, so that threads x instances <= cores where nothing else is set."""
    return settings.threads or max(1, usable_cores() // max(1, instances))


def _value(text: str, kind: type, source: str) -> Any:
    if kind is bool:
        if text.lower() not in ("true", "false"):
            raise ContractError(f"{source}: expected true or false, got {text!r}")
        return text.lower() == "true"
    try:
        return kind(text)
    except ValueError as error:
        raise ContractError(f"{source}: expected {kind.__name__}, got {text!r}") from error
