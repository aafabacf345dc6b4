"""Imports within the package only go down, in the order of docs/explanation/architecture.md."""

import ast
import re
from collections.abc import Iterator

from tests.paths import ROOT

PACKAGE = ROOT / "plate_nets"
FREE = ("__init__", "__main__")
"""The package itself names what users import, and has the version."""


def imported() -> Iterator[tuple[str, str, str]]:
    """Each import within the package: the file, and the part that imports which other part."""
    for path in sorted(PACKAGE.rglob("*.py")):
        name = path.relative_to(PACKAGE)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                modules = [each.name for each in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module == PACKAGE.name:
                modules = [f"{node.module}.{each.name}" for each in node.names]
            elif isinstance(node, ast.ImportFrom):
                modules = [node.module or ""]
            else:
                continue
            for module in modules:
                top, *parts = module.split(".")
                if top == PACKAGE.name and parts:
                    yield str(name), name.parts[0].removesuffix(".py"), parts[0]


def test_modules_import_only_lower_layers() -> None:
    document = (ROOT / "docs" / "explanation" / "architecture.md").read_text(encoding="utf-8")
    _, _, after = document.partition("Imports only go down")
    (block,) = re.findall(r"```text\n(.*?)```", after, re.S)[:1]
    level = {part: number for number, line in enumerate(block.splitlines()) for part in line.split()}
    parts = {path.name.removesuffix(".py") for path in PACKAGE.iterdir() if path.suffix == ".py" or path.is_dir()}
    assert parts - {*FREE, "__pycache__", "weights", "model_repository"} == set(level), (
        "docs/explanation/architecture.md, the order"
    )
    upward = [
        f"{file} imports plate_nets.{other}"
        for file, part, other in imported()
        if part not in FREE and other in level and part != other and level[other] <= level[part]
    ]
    assert not upward
