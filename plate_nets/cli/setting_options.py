"""Options that a command takes from settings: the fields whose annotation has a `typer.Option`."""

import inspect
from collections.abc import Callable, Iterator, Mapping
from copy import copy
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_args, get_type_hints

from typer.models import OptionInfo

Command = TypeVar("Command", bound=Callable[..., None])


def options_of(*settings: type) -> Callable[[Command], Command]:
    """Give a command, as its ``**options``, those of these settings; it gets None or False for one not given."""

    def with_options(command: Command) -> Command:
        signature = inspect.signature(command)
        own = [each for each in signature.parameters.values() if each.kind is not each.VAR_KEYWORD]
        command.__signature__ = signature.replace(  # type: ignore[attr-defined]
            parameters=[*own, *(option for each in settings for option in _options(each))]
        )
        return command

    return with_options


def given(settings: type, options: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of settings that options set: those not given leave the file's value."""
    values = {field.name: options.get(field.name) for field in fields(settings)}
    return {name: value for name, value in values.items() if value is not None and value is not False}


def _options(settings: type) -> Iterator[inspect.Parameter]:
    hints = get_type_hints(settings, include_extras=True)
    for field in fields(settings):
        match get_args(hints[field.name]):
            case kind, OptionInfo() as option:
                option, flag = copy(option), kind is bool
                if flag:  # otherwise typer adds --no-...
                    option.param_decls = ("--" + field.name.replace("_", "-"),)
                if isinstance(field.default, float | str | Path):
                    option.help = f"{option.help} Default: {field.default}."
                yield inspect.Parameter(
                    getattr(settings, "type", field.name),  # the option of a sink is called as its type
                    inspect.Parameter.KEYWORD_ONLY,
                    default=False if flag else None,
                    annotation=Annotated[kind if flag else kind | None, option],
                )
