"""Every command that a page shows or names is parsed by the command itself: its options exist and accept the values.

This covers commands that no test runs: long trainings, machines with a GPU.
"""

import contextlib
import io
import re
import runpy
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import pytest

from tests.packaging.pages import MODEL_CARD, PAGES, TRAINING, Page, is_ours
from tests.paths import ROOT

MAKE_TARGETS = set(re.findall(r"^([a-z0-9-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M))
IN_PART = re.compile(r"Missing (argument|option)|requires an argument|does not exist")
"""Faults that are allowed in a command within the text: it may be incomplete, and its files are the reader's."""

DATA = ("data", "ru_train", "ru_dev", "world_boxes", "negatives")
"""The data that the weights were trained and measured on; the page of their training or the model card names each."""
WEIGHTS_FROM_ELSEWHERE = "yolov5n_coco.safetensors"


class Parsed(BaseException):
    """Raised when a command would start to run."""

    def __init__(self, parameters: dict[str, Any]) -> None:
        super().__init__()
        self.parameters = parameters


def parse(words: Sequence[str], monkeypatch: pytest.MonkeyPatch) -> tuple[dict[str, Any], str]:
    """Parse a command of ours -> its parameters, and its message if it refuses them. It is not run."""

    def stop(self: click.Command, context: click.Context) -> None:
        if isinstance(self, click.Group):
            return None  # its subcommand is next
        raise Parsed(context.params)

    module = "plate_nets" if words[0] == "plates" else words[2]
    arguments = words[1:] if words[0] == "plates" else words[3:]
    said = io.StringIO()
    with monkeypatch.context() as patch, contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
        patch.setattr(click.Command, "invoke", stop)
        patch.setattr(sys, "argv", [module, *arguments])
        patch.setenv("COLUMNS", "1000")
        try:
            runpy.run_module(module, run_name="__main__")
        except Parsed as parsed:
            return parsed.parameters, ""
        except SystemExit as ended:
            return {}, said.getvalue() if ended.code else ""
    raise AssertionError(f"{words}: neither parsed nor refused")


def fault(words: Sequence[str], monkeypatch: pytest.MonkeyPatch) -> str:
    """The fault of a command of ours, of make or of pytest; empty if there is none."""
    if words[0] == "make":
        targets = [each for each in words[1:] if "=" not in each]
        return "" if MAKE_TARGETS.issuperset(targets) else f"targets: {targets}"
    if words[0] == "pytest":
        paths = [each for each in words[1:] if each.startswith("tests")]
        return "" if all((ROOT / each).exists() for each in paths) else f"paths: {paths}"
    return parse(words, monkeypatch)[1] if is_ours(words) else ""


pytestmark = pytest.mark.filterwarnings("ignore:.* found in sys.modules:RuntimeWarning")


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty folder."""
    monkeypatch.syspath_prepend(str(ROOT))
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_the_commands_of_a_page_exist(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    faults = {" ".join(words): fault(words, monkeypatch) for words in page.commands()}
    assert {command: said for command, said in faults.items() if said and "does not exist" not in said} == {}
    named = {" ".join(words): fault(words, monkeypatch) for words in page.named_commands()}
    assert {command: said for command, said in named.items() if said and not IN_PART.search(said)} == {}


def test_a_wrong_command_in_a_page_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    for command, words in (
        ("plates read car.jpg --shceme russia", "No such option"),
        ("plates serve --http-port many", "not a valid integer"),
        ("plates raed car.jpg", "No such command"),
        ("python -m training reader_world --data x --out y --stepps 5", "No such option"),
        ("make dmeo", "targets"),
        ("pytest tests/untis", "paths"),
    ):
        assert words in fault(command.split(), monkeypatch), command


def test_the_training_of_the_weights_uses_what_its_reader_has(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each file or folder comes from a command above it, from the project, or from data that the pages name."""
    made: list[Path] = []
    unknown = set()
    for words in TRAINING.commands():
        parameters, _ = parse(words, monkeypatch)
        for name, value in parameters.items():
            for path in (each for each in (value if isinstance(value, list) else [value]) if isinstance(each, Path)):
                if name in ("out", "test_set"):
                    made.append(path)
                elif not (
                    any(path.is_relative_to(each) for each in made)
                    or str(path) in (*DATA, WEIGHTS_FROM_ELSEWHERE)
                    or path.is_absolute()
                    or (ROOT / path).exists()
                ):
                    unknown.add(str(path))
    assert unknown == set()
    prose = TRAINING.prose + MODEL_CARD.prose
    assert [name for name in (*DATA, WEIGHTS_FROM_ELSEWHERE) if f"`{name}`" not in prose] == []
