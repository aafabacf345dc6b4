"""``python -m benchmarks.document REPORTS DOCUMENT``: figures of reports into a Markdown document.

A block ``<!-- figures: FILE TABLE -->`` to ``<!-- end -->`` gets the table of that name (`tables.Table.name`) from
``REPORTS/FILE.json``; ``machine`` is where and with what it was measured. What is between the two lines is replaced.
"""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from benchmarks.tables import tables

_BLOCK = re.compile(r"(<!-- figures: (\S+) (\S+) -->\n).*?(<!-- end -->)", re.DOTALL)


def fill(document: str, reports: Path) -> tuple[str, list[str]]:
    """A document -> the same with its figures, and the blocks for which there are none, which stay as they are."""
    missing = []

    def block(match: "re.Match[str]") -> str:
        start, file, name, end = match.groups()
        path = reports / f"{file}.json"
        report = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
        found = machine(report) if name == "machine" and report else _table(report, name)
        if found is None:
            missing.append(f"{file} {name}")
            return match.group(0)
        return f"{start}{found}\n{end}"

    return _BLOCK.sub(block, document), missing


def machine(report: Mapping[str, Any]) -> str:
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


def _table(report: Mapping[str, Any], name: str) -> str | None:
    return next((table.markdown() for table in tables(report) if table.name == name), None)


def main(
    reports: Annotated[Path, typer.Argument(help="Folder of reports that `plates bench --json` wrote.")],
    document: Annotated[Path, typer.Argument(help="Markdown that gets their figures.")],
) -> None:
    """Put figures into a document; exits with 1 where a block has none."""
    text, missing = fill(document.read_text(encoding="utf-8"), reports)
    document.write_text(text, encoding="utf-8")
    for each in missing:
        typer.echo(f"no figures for: {each}", err=True)
    if missing:
        raise typer.Exit(1)


if __name__ == "__main__":
    typer.run(main)
