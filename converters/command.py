"""What `python -m converters` does, for any table of networks."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import typer
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from plate_nets.common.errors import PlateError
from plate_nets.contract import ModelSpec
from plate_nets.networks.conversion.conversion import (
    Comparison,
    Conversion,
    check,
    convert,
    is_current,
    torch_installed,
)
from plate_nets.networks.conversion.formats import Format, writer_of
from plate_nets.networks.conversion.reference import REFERENCE
from plate_nets.triton.config_check import check_configs

console = Console(highlight=False, soft_wrap=True)
NO_TORCH = (
    "torch is not installed: TorchScript is skipped, and the IR is compared with numbers recorded beside the weights; "
    'to get both, run: pip install "plate-nets[convert]"'
)
errors = Console(stderr=True, highlight=False, soft_wrap=True)


def run(
    conversions: Mapping[str, Conversion],
    contract: Mapping[str, ModelSpec],
    names: Iterable[str],
    only_check: bool,
    repository: Path,
    formats: Sequence[Format] = (),
) -> None:
    """Convert networks into a model repository, or with ``only_check`` compare the files there; prints each step.

    ``formats``: by default, those that are served.

    Raises:
        typer.BadParameter: unknown network or folder.
        typer.Exit: with 1 if a conversion or a check failed.
    """
    if unknown := sorted(set(names) - conversions.keys()):
        raise typer.BadParameter(f"{', '.join(unknown)}: no such network; expected {', '.join(conversions)}")
    if not repository.is_dir():
        raise typer.BadParameter(f"{repository}: no such folder", param_hint="--model-repository")
    try:
        for format in formats:
            writer_of(format)
    except PlateError as error:  # before any network is converted
        errors.print(f"error: {error}", markup=False)
        raise typer.Exit(1) from error
    if not torch_installed() and not formats:
        console.print(NO_TORCH, markup=False)
    faults = []
    for name in dict.fromkeys(names or conversions):
        try:
            _one(conversions[name], only_check, repository, formats)
        except PlateError as error:
            faults.append(str(error))
    if only_check:
        found = check_configs(repository, contract)
        faults += found
        if not found:
            console.print(f"config.pbtxt of {repository}: matches the contract")
    for fault in faults:
        errors.print(f"error: {fault}", markup=False)
    if faults:
        raise typer.Exit(1)


def _one(conversion: Conversion, only_check: bool, repository: Path, formats: Sequence[Format]) -> None:
    # A spinner, not a bar: a trace reports no progress
    with Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        TimeElapsedColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    ) as progress:
        if only_check:
            progress.add_task(f"{conversion.name}: comparing", total=None)
            _report(conversion, check(conversion, repository, formats), "equal to the network")
        elif is_current(conversion, repository, formats):
            console.print(f"{conversion.name}: up to date")
        else:
            progress.add_task(f"{conversion.name}: converting", total=None)
            _report(conversion, convert(conversion, repository, formats), "converted")


def _report(conversion: Conversion, comparisons: tuple[Comparison, ...], verb: str) -> None:
    for comparison in comparisons:
        console.print(
            f"{conversion.name}: {verb}, {' + '.join(comparison.files)}, "
            f"largest difference {comparison.difference:.1e} (tolerance {conversion.tolerance:.0e})"
        )
    if not comparisons:
        console.print(f"{conversion.name}: {verb}, not compared: no {REFERENCE} beside {conversion.weights}")
