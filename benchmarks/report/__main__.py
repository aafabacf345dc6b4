"""``python -m benchmarks.report REPORTS PAGE``: writes reports as CSV and plots beside a Markdown page, and into it.

Each table of ``REPORTS/NAME.json`` becomes a CSV file in the folder named after the page. In the page, a block
``<!-- figures: FILE -->`` to ``<!-- end -->`` gets the table of ``FILE.csv``; words ``column=cell`` after it select
rows. ``machine`` stands for where, when and with what was measured.
"""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from benchmarks.report.plots import PLOTS
from benchmarks.report.tables import Table, tables

_BLOCK = re.compile(r"(<!-- figures: ([^>]+) -->\n).*?(<!-- end -->)", re.DOTALL)
_MACHINE = "machine"


def read_tables(reports: Path) -> dict[str, Table]:
    """A folder of reports -> its tables by the names of their CSV files."""
    found = {}
    for path in sorted(reports.glob("*.json")):
        for table in tables(json.loads(path.read_text(encoding="utf-8"))):
            # Several reports contain loads
            name = {"loads": path.stem, "models": f"{path.stem}_models"}.get(table.name, table.name)
            found[name] = table
    return found


def fill(page: str, tables: Mapping[str, Table], machine: str | None) -> tuple[str, list[str]]:
    """Put the figures into a page -> the page, and the blocks without figures, which stay as they are."""
    missing = []

    def block(match: "re.Match[str]") -> str:
        start, what, end = match.groups()
        name, *cells = what.split()
        table = tables.get(name)
        if table is not None:
            text: str | None = table.where(dict(cell.split("=", 1) for cell in cells)).markdown()
        else:
            text = machine if name == _MACHINE else None
        if text is None:
            missing.append(what)
            return match.group(0)
        return f"{start}{text}\n{end}"

    return _BLOCK.sub(block, page), missing


def describe_machine(report: Mapping[str, Any]) -> str:
    """Where, when and with what a report was measured, in a sentence."""
    hardware = report["hardware"]
    versions = ", ".join(f"{name} {version}" for name, version in report["versions"].items())
    server = report.get("server") or {}
    return (
        f"{report['when']}: {hardware['cores']} cores of {hardware['processor']}, {hardware['memory_gib']} GiB, "
        f"GPU: {', '.join(hardware['gpus']) or 'none'}; load average at the start {hardware['load_average_at_start']}; "
        f"Triton {server.get('version') or '-'}; {versions}; settings from the environment: "
        f"{', '.join(f'{name}={value}' for name, value in report['settings'].items()) or 'none'}."
    )


def main(
    reports: Annotated[Path, typer.Argument(help="Folder with the reports that `python -m benchmarks --json` wrote.")],
    page: Annotated[Path, typer.Argument(help="Markdown page to write the figures into.")],
) -> None:
    """Write CSV files and plots beside a page, and tables into it. Exit code: 1 if a block of the page has no table."""
    folder = page.with_suffix("")
    folder.mkdir(exist_ok=True)
    found = read_tables(reports)
    for name, table in found.items():
        (folder / f"{name}.csv").write_text(table.csv(), encoding="utf-8")
        if draw := PLOTS.get(name):
            draw(table).savefig(folder / f"{name}.png", dpi=100)
    targets = reports / "targets.json"
    machine = describe_machine(json.loads(targets.read_text(encoding="utf-8"))) if targets.is_file() else None
    text, missing = fill(page.read_text(encoding="utf-8"), found, machine)
    page.write_text(text, encoding="utf-8")
    for block in missing:
        typer.echo(f"no figures for: {block}", err=True)
    if missing:
        raise typer.Exit(1)


if __name__ == "__main__":
    typer.run(main)
