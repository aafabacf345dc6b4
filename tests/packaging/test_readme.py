"""Each command and each piece of Python in the README, run as it stands there.

Only what differs from machine to machine is put in: free ports for 8000 to 8002, and a photograph of the user's own.
A block under a comment `not run: REASON` is checked for syntax, and the files that it names for existence.
"""

import ast
import itertools
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from plate_nets.server import choose_ports
from tests.packaging.conftest import shell
from tests.paths import ROOT

pytestmark = pytest.mark.timeout(900)

BLOCK = re.compile(r"(?:<!-- (?P<mark>[^>]+) -->\n)?```(?P<language>\w+)\n(?P<code>.*?)```\n", re.DOTALL)
UNTIL_STOPPED = "runs until stopped"
NOT_RUN = "not run: "


@dataclass(frozen=True)
class Block:
    language: str
    code: str
    mark: str

    def __str__(self) -> str:
        return self.code.strip().splitlines()[-1][:40]


BLOCKS = [
    Block(match["language"], match["code"], match["mark"] or "")
    for match in BLOCK.finditer((ROOT / "README.md").read_text(encoding="utf-8"))
]
RUN = [block for block in BLOCKS if block.language in ("bash", "python") and not block.mark]
SHOWN = [block for block in BLOCKS if block.mark.startswith(NOT_RUN)]
SERVERS = [block for block in BLOCKS if block.mark == UNTIL_STOPPED]


class Stand:
    """The README's own server, on free ports, and the README's words turned to this machine's."""

    def __init__(self, photo: Path) -> None:
        ports = choose_ports({"8000": 0, "8001": 0, "8002": 0, "8003": 0})
        self._words = {port: str(free) for port, free in ports.items()} | {"car.jpg": str(photo)}

    def fit(self, code: str) -> str:
        return re.sub(r"\b(800[0123]|car\.jpg)\b", lambda match: self._words[match[0]], code)


@pytest.fixture(scope="module")
def stand(demo: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stand]:
    assert demo
    photo = tmp_path_factory.mktemp("photos") / "car-of-mine.jpg"
    shutil.copy(ROOT / "out" / "scene.jpg", photo)
    stand = Stand(photo)
    (block,) = SERVERS
    command = ["bash", "-euo", "pipefail", "-c", stand.fit(block.code)]
    with subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    ) as server:
        watchdog = threading.Timer(600, os.killpg, (server.pid, signal.SIGTERM))
        watchdog.start()
        try:
            assert server.stdout is not None
            said = list(itertools.takewhile(lambda line: not line.startswith("Ready."), server.stdout))
            assert server.poll() is None, "".join(said)
            yield stand
        finally:
            watchdog.cancel()
            if server.poll() is None:
                os.killpg(server.pid, signal.SIGTERM)


def test_every_block_is_run_or_says_why_not() -> None:
    assert len(RUN) + len(SHOWN) + len(SERVERS) + sum(block.language == "text" for block in BLOCKS) == len(BLOCKS)
    assert {block.language for block in BLOCKS} == {"bash", "python", "text"}


@pytest.mark.parametrize("block", RUN, ids=str)
def test_block_runs(block: Block, stand: Stand) -> None:
    code = stand.fit(block.code)
    if block.language == "bash":
        result = shell(code)
    else:
        result = subprocess.run(
            [sys.executable, "-W", "error", "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=600
        )
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize("block", SHOWN, ids=str)
def test_block_that_is_not_run_is_sound(block: Block) -> None:
    if block.language == "python":
        imports: list[ast.stmt] = [
            each for each in ast.parse(block.code).body if isinstance(each, ast.Import | ast.ImportFrom)
        ]
        exec(compile(ast.Module(imports, []), "README.md", "exec"), {})
        return
    assert shell(f"set -n\n{block.code}").returncode == 0
    for name in re.findall(r"--?f(?:ile)? (\S+)", block.code):
        assert (ROOT / name).is_file(), name
    for target in re.findall(r"^make (\w+)$", block.code, re.MULTILINE):
        assert shell(f"make --dry-run {target}").returncode == 0


def test_the_output_shown_is_what_the_demo_prints(demo: str) -> None:
    """The same plates, with the same texts; seconds and last digits may differ."""
    (shown,) = [block.code for block in BLOCKS if block.language == "text"]
    texts = [re.findall(r"^(\S+: .*?)  confidence", output, re.MULTILINE) for output in (shown, demo)]
    assert texts[0]
    assert texts[0] == texts[1]
