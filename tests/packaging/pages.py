"""The project's pages for tests: their code blocks, and the commands that their text names."""

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from tests.paths import ROOT

_BLOCK = re.compile(r"(?:<!-- (?P<mark>[^>\n]+) -->\n)?^```(?P<language>\w*)\n(?P<code>.*?)^```$", re.S | re.M)
_NAMED = re.compile(r"`((?:plates|python -m|make|pytest)\s[^`]+)`")


@dataclass(frozen=True)
class Block:
    """A code block, with the comment before it."""

    language: str
    code: str
    mark: str

    def __str__(self) -> str:
        return self.code.strip().splitlines()[0][:60]

    @property
    def lines(self) -> list[str]:
        """Its commands as you type them, with continued lines joined."""
        return [line for line in self.code.replace("\\\n", "").splitlines() if line.strip()]


@dataclass(frozen=True)
class Page:
    """A page of the project."""

    path: Path

    def __str__(self) -> str:
        return str(self.path.relative_to(ROOT))

    @cached_property
    def text(self) -> str:
        """The text of the file."""
        return self.path.read_text(encoding="utf-8")

    @cached_property
    def blocks(self) -> list[Block]:
        """Its code blocks, in order."""
        return [Block(each["language"], each["code"], each["mark"] or "") for each in _BLOCK.finditer(self.text)]

    @cached_property
    def prose(self) -> str:
        """Everything except the blocks."""
        return _BLOCK.sub("", self.text)

    def commands(self) -> Iterator[list[str]]:
        """The words of each command in its blocks."""
        for block in self.blocks:
            if block.language == "bash":
                yield from (words for line in block.lines if (words := shlex.split(line, comments=True)))

    def named_commands(self) -> list[list[str]]:
        """The words of each command that its text names, in full or in part."""
        return [shlex.split(each.replace("...", " ")) for each in _NAMED.findall(self.prose)]


README, CONTRIBUTING = Page(ROOT / "README.md"), Page(ROOT / "CONTRIBUTING.md")
CAMERAS = Page(ROOT / "docs" / "how-to" / "cameras.md")
MODEL_CARD = Page(ROOT / "plate_nets" / "weights" / "MODEL_CARD.md")
TRAINING = Page(ROOT / "docs" / "explanation" / "training.md")
PAGES = (README, CONTRIBUTING, MODEL_CARD, *map(Page, sorted((ROOT / "docs").rglob("*.md"))))
GUIDES = [page for page in PAGES if page.path.parent == CAMERAS.path.parent]


def is_ours(words: Sequence[str]) -> bool:
    """Whether a command is run by this project's Python."""
    return words[0] == "plates" or list(words[:2]) == ["python", "-m"]
