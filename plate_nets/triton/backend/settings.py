"""Settings of a served model: frozen dataclasses, filled from the environment and its `config.pbtxt`.

The environment (``PLATES_<MODEL>_<FIELD>``) overrides the config (``parameters``, by field name), which overrides the
field's default. Keys in capitals belong to Triton; any other unknown key is refused.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, TypeVar

from plate_nets.common.errors import ContractError
from plate_nets.countries import DEFAULT_SCHEMES
from plate_nets.triton.backend.quota import usable_cores

S = TypeVar("S")


@dataclass(frozen=True)
class SchemeSettings:
    """The countries to read."""

    scheme: str = DEFAULT_SCHEMES
    """Comma-separated names of schemes, or TOML files relative to the model's folder. They must suit the readers'
    weights. A request can choose some of them."""


@dataclass(frozen=True)
class NetworkSettings:
    """How a network runs on the CPU."""

    threads: int = 0
    """Threads of one instance; 0: the cores divided by the number of instances."""


@dataclass(frozen=True)
class TorchScriptSettings(NetworkSettings):
    """How a converted network runs in the embedded server's `pytorch` backend."""

    openvino: bool = False
    """Whether OpenVINO runs it on a CPU, where the reader is then faster and smaller
    (docs/explanation/performance.md)."""


@dataclass(frozen=True)
class ModelArgs:
    """The properties of an instance, from the ``args`` of Triton's ``initialize``."""

    name: str
    folder: str
    """The folder of the version, with the model file."""
    gpu: int | None
    """The device of a GPU instance; None on the CPU."""
    instances: int
    """The number of instances of the model."""
    parameters: Mapping[str, str]

    def settings(self, kind: type[S]) -> S:
        """The settings of this kind, see `read_settings`."""
        return read_settings(kind, self.name, self.parameters)


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
    """Raise ContractError if a config has a parameter that is not a field of ``kinds``."""
    known = {field.name for kind in kinds for field in fields(kind)}
    unknown = sorted(key for key in parameters if not key.isupper() and key not in known)
    if unknown:
        raise ContractError(
            f"{model}/config.pbtxt: unknown parameter {', '.join(unknown)}; expected {', '.join(sorted(known))}"
        )


def thread_count(settings: NetworkSettings, instances: int) -> int:
    """Threads of one instance, at least 1; by default threads x instances <= cores."""
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
