"""A test uses every option of every command. The exceptions are listed here by name."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import click
import typer.main

from plate_nets.cli import app
from tests.paths import ROOT

UNUSED: dict[str, str] = {
    "plates serve": "--growth --server-growth",
    "plates swap": "--control-key --keep",
    "plates watch": "--log --zone --blur --parquet --mqtt",
    "plates web": "--host --allow-url --timeout --log",
    "python -m converters": "--weights",
    "python -m training.detector.measure": "--data --holdout --ignore",
    "python -m benchmarks.smallest_plate": "--plot --photos",
    "python -m training.quantize": "--scheme",
    "python -m training.synthesis": "--lines --calibration --light",
    "python -m benchmarks": "--targets --overload --stages",
    "python -m benchmarks.batch": "--ray",
}
"""Options that no test of their command uses. The list only gets shorter: test a new option, or leave it out."""

FOLDERS = ("plate_nets/cli", "converters", "training", "benchmarks")


def option_of(argument: ast.arg, shared: dict[str, ast.expr]) -> str | None:
    """An argument of a command -> its option, or None; ``shared``: annotations that have a name."""
    annotation = argument.annotation
    if isinstance(annotation, ast.Name | ast.Attribute):  # of a module
        annotation = shared.get(ast.unparse(annotation).rpartition(".")[2])
    for node in ast.walk(annotation) if annotation else ():
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "typer.Option":
            named = [each.value for each in node.args if isinstance(each, ast.Constant)]
            return str(named[0]) if named else "--" + argument.arg.replace("_", "-")
    return None


def commands() -> Iterator[tuple[str, str, list[str]]]:
    """Every command of `plates` and of the folders for developers: its name, how tests name it, and its options."""
    yield from commands_of_plates(typer.main.get_command(app))
    yield from commands_for_developers()


def commands_of_plates(group: click.Command) -> Iterator[tuple[str, str, list[str]]]:
    """The commands of a group, and of the groups in it."""
    for name, command in getattr(group, "commands", {}).items():
        if options := [max(each.opts, key=len) for each in command.params if each.param_type_name == "option"]:
            yield f"plates {name}", rf'"{name}"|plates {name}\b', options
        yield from commands_of_plates(command)


def commands_for_developers() -> Iterator[tuple[str, str, list[str]]]:
    """It reads the sources, because importing all of them takes a minute."""
    paths = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))]
    modules = {path: ast.parse(path.read_text(encoding="utf-8")) for path in paths}
    shared = {
        ast.unparse(node.targets[0]): node.value
        for module in modules.values()
        for node in module.body
        if isinstance(node, ast.Assign) and "typer.Option(" in ast.unparse(node.value)
    }
    for path, module in modules.items():
        for node in module.body:
            if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
                options = [option for each in node.args.args if (option := option_of(each, shared))]
                if options and path.parent.name != "cli":
                    name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
                    short = name.removesuffix(".__main__")
                    yield f"python -m {short}", rf"{re.escape(name)}\b|{re.escape(short)}(?![.\w])", options


def sources() -> Iterator[tuple[str, str]]:
    """Each test file: its own text, and its text with that of the helpers it imports, which may start the command."""
    paths = {*(ROOT / "tests").rglob("*.py")} - {Path(__file__)}
    texts = {path: path.read_text(encoding="utf-8") for path in paths}
    modules = {".".join(path.relative_to(ROOT).with_suffix("").parts): text for path, text in texts.items()}
    for text in texts.values():
        helpers = (modules.get(name, "") for name in re.findall(r"^from (tests[.\w]*) import", text, re.M))
        yield text, "\n".join((text, *helpers))


def test_every_option_is_used_by_a_test_of_its_command() -> None:
    texts = list(sources())
    unused = {}
    for name, pattern, options in commands():
        of_command = "\n".join(text for text, whole in texts if re.search(pattern, whole))
        if left := [each for each in options if not re.search(rf"{each}(?![\w-])", of_command)]:
            unused[name] = " ".join(left)
    assert unused == UNUSED
