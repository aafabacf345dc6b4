"""``python -m converters``: build or check the model files of the repository."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from converters.conversion import Comparison, Conversion, Mode, check, convert, is_current
from converters.table import CONVERSIONS, WIRINGS
from plate_nets.config_check import check_configs
from plate_nets.contract import MODELS
from plate_nets.errors import PlateError
from plate_nets.wirings import contract as wirings_contract

ROOT = Path(__file__).parent.parent
REPOSITORY = ROOT / "model_repository"
WIRINGS_REPOSITORY = ROOT / "benchmarks" / "model_repository"

app = typer.Typer(add_completion=False, rich_markup_mode=None)
console = Console(highlight=False, soft_wrap=True)
errors = Console(stderr=True, highlight=False, soft_wrap=True)


@app.command()
def main(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME...]", help="Which networks; all by default.")
    ] = None,
    mode: Annotated[Mode, typer.Option(help="How TorchScript is made.")] = Mode.TRACE,
    only_check: Annotated[
        bool, typer.Option("--check", help="Change nothing: compare what is there, and prove every config.pbtxt.")
    ] = False,
    wirings: Annotated[
        bool, typer.Option("--wirings", help="The modules of benchmarks/model_repository instead of the networks.")
    ] = False,
    model_repository: Annotated[
        Path | None, typer.Option(help="Folder of the models; by default the checkout's own.")
    ] = None,
) -> None:
    """Networks with their weights -> model_repository/NAME/1/, compared with the network before it is moved there.

    Exits with 0 where all is well, 1 where a conversion or a check failed, 2 on a wrong argument.
    """
    conversions, contract = (WIRINGS, wirings_contract.WIRINGS) if wirings else (CONVERSIONS, MODELS)
    model_repository = model_repository or (WIRINGS_REPOSITORY if wirings else REPOSITORY)
    if unknown := sorted(set(names or ()) - conversions.keys()):
        raise typer.BadParameter(f"{', '.join(unknown)}: no such network; expected {', '.join(conversions)}")
    if not model_repository.is_dir():
        raise typer.BadParameter(f"{model_repository}: no such folder", param_hint="--model-repository")
    faults = []
    for name in dict.fromkeys(names or conversions):
        try:
            _one(conversions[name], mode, only_check, model_repository)
        except PlateError as error:
            faults.append(str(error))
    if only_check:
        found = check_configs(model_repository, contract)
        faults += found
        if not found:
            console.print(f"config.pbtxt of {model_repository}: as the contract says")
    for fault in faults:
        errors.print(f"error: {fault}", markup=False)
    if faults:
        raise typer.Exit(1)


def _one(conversion: Conversion, mode: Mode, only_check: bool, repository: Path) -> None:
    # A spinner, not a bar: nobody knows how far a trace or a scripted model's first runs are
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
            _report(conversion, check(conversion, repository), "equal to the network")
        elif is_current(conversion, mode, repository):
            console.print(f"{conversion.name}: up to date")
        else:
            progress.add_task(f"{conversion.name}: converting ({mode})", total=None)
            _report(conversion, convert(conversion, mode, repository), f"converted ({mode})")


def _report(conversion: Conversion, comparisons: tuple[Comparison, ...], what: str) -> None:
    for comparison in comparisons:
        console.print(
            f"{conversion.name}: {what}, {' + '.join(comparison.files)}, "
            f"largest difference {comparison.difference:.1e} (tolerance {conversion.tolerance:.0e})"
        )


if __name__ == "__main__":
    app(prog_name="python -m converters")
