"""No process of the product contacts anyone or writes anywhere without being told to.

Each runs under strace in its own network namespace, alone. It must work all the same, and the record shows whom it
tried to reach and which files it opened to write.
"""

import os
import re
import shutil
import subprocess
import sys
from dataclasses import astuple
from pathlib import Path

import psutil
import pytest

from plate_nets.evaluation.dataset import COLUMNS
from plate_nets.recognition.health import known_picture
from tests.faults.conftest import LENIENT
from tests.frames import Placed, compose, encode
from tests.paths import ROOT
from tests.serve import NAMESPACE, Serve
from tests.waiting import eventually

pytestmark = pytest.mark.slow

ALONE = (*NAMESPACE, "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh")
CALLS = "connect,sendto,sendmsg,open,openat,creat,mkdir,mkdirat,rename,renameat,renameat2,unlink,unlinkat"
TRACED = ("strace", "-f", "-qq", "--seccomp-bpf", "-s", "4096", "-e", f"trace={CALLS}", "-o")
ADDRESS = re.compile(r'sin6?_port=htons\((\d+)\).*?(?:inet_addr\("|inet_pton\(AF_INET6, ")([^"]+)')
NAME_SERVICE = 53
OPENED = re.compile(r'open(?:at)?\((?:\S+, )?"([^"]*)", ([A-Z_|]+)')
CHANGED = re.compile(r'(?:creat|mkdir|mkdirat|rename\w*|unlink\w*)\((?:AT_FDCWD, )?"([^"]*)"')
WRITES = re.compile(r"O_CREAT|O_WRONLY|O_RDWR|O_TRUNC")
OWN = ("/dev/", "/proc/", "/tmp/python_env_")
"""Allowed besides the given folder: devices, shared memory, and what the guard removes of Triton's."""


def labelled(folder: Path) -> Path:
    """A folder for `plates evaluate` with one drawn plate."""
    plate = Placed("A123BC77", 60, 80, 120)
    (folder / "images").mkdir(parents=True)
    (folder / "images" / "car.png").write_bytes(encode(compose(200, 300, [plate])))
    box = ",".join(f"{each:g}" for each in astuple(plate.box))
    (folder / "labels.csv").write_text(f"{','.join(COLUMNS)}\ncar.png,{box},{plate.text},,,,,,,,\n", encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ("plate_nets", "read", "{folder}/known.jpg", "--scheme", "russia", "--save-annotated", "{folder}/out"),
            known_picture().texts[0],
        ),
        (("plate_nets", "evaluate", "{folder}/set", "--boxes", "detected"), "1"),
        (("converters", "stn", "--check"), "matches the contract"),
        (("converters", "lprnet", "--model-repository", "{folder}/models"), "lprnet"),
    ],
    ids=["an embedded server and its client", "evaluation", "a check of the converters", "a conversion"],
)
def test_commands_open_no_outside_connection(arguments: tuple[str, ...], said: str, tmp_path: Path) -> None:
    labelled(tmp_path / "set")
    (tmp_path / "known.jpg").write_bytes(known_picture().image)
    shutil.copytree(ROOT / "model_repository", tmp_path / "models")
    words = [each.format(folder=tmp_path) for each in arguments]
    result = subprocess.run(
        [*traced(tmp_path), sys.executable, "-m", *words],
        env=os.environ | surroundings(tmp_path),
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    assert said in result.stdout
    check_silence(tmp_path)


def test_a_server_opens_no_outside_connection(tmp_path: Path) -> None:
    """From its start to its end, with pictures from its supervisor."""
    with Serve(tmp_path, environment=surroundings(tmp_path), prefix=traced(tmp_path)) as serve:
        assert eventually(lambda: serve.events("serving"), 60 * LENIENT)
        (server,) = psutil.Process(serve.root).children()
        server.terminate()
        assert serve.wait(60) == 0
    check_silence(tmp_path)


def traced(folder: Path) -> tuple[str, ...]:
    """A command prefix that isolates the command and records what it does."""
    for program in ("strace", "ip"):
        assert shutil.which(program), f"no {program} here; `make test` installs it on Debian and Ubuntu"
    return (*ALONE, *TRACED, str(folder / "record"))


def surroundings(folder: Path) -> dict[str, str]:
    """An environment with an empty home folder."""
    (folder / "home").mkdir()
    return {"HOME": str(folder / "home"), "TMPDIR": str(folder), "PYTHONDONTWRITEBYTECODE": "1", "COLUMNS": "200"}


def check_silence(folder: Path) -> None:
    """Check that the record shows no contact, and no write elsewhere."""
    assert list((folder / "home").iterdir()) == [], "the home folder is the user's"
    lines = (folder / "record").read_text(encoding="utf-8", errors="replace").splitlines()
    assert len(lines) > 100, "strace recorded next to nothing"
    assert [line for line in lines if speaks(line)] == []
    assert [line for line in lines if writes(line, (str(folder), *OWN))] == []


def speaks(line: str) -> bool:
    """Whether a line of strace shows an attempt to reach someone, or to look up a name."""
    return any(
        int(port) == NAME_SERVICE or not address.startswith(("127.", "::1", "::ffff:127."))
        for port, address in ADDRESS.findall(line)
    )


def writes(line: str, allowed: tuple[str, ...]) -> bool:
    """Whether a line of strace shows a change to a file outside some folders. A relative path was opened elsewhere."""
    opened, changed = OPENED.search(line), CHANGED.search(line)
    path = opened[1] if opened and WRITES.search(opened[2]) else changed[1] if changed else ""
    return path.startswith("/") and not path.startswith(allowed) and "= -1 " not in line


TO = 'sa_family=AF_INET, sin_port=htons({}), sin_addr=inet_addr("{}")'


@pytest.mark.parametrize(
    ("line", "spoken", "written"),
    [
        (f"7 connect(3, {{{TO.format(8000, '127.0.0.1')}}}, 16) = 0", False, False),
        (f"7 connect(3, {{{TO.format(53, '127.0.0.53')}}}, 16) = 0", True, False),
        (f"7 sendto(3, 'x', 1, 0, {{{TO.format(80, '192.0.2.1')}}}, 16) = 1", True, False),
        ('7 openat(AT_FDCWD, "/srv/intel/id", O_WRONLY|O_CREAT, 0666) = 4', False, True),
        ('7 openat(AT_FDCWD, "/etc/passwd", O_RDONLY|O_CLOEXEC) = 4', False, False),
        ('7 mkdir("/srv/intel", 0777) = 0', False, True),
    ],
)
def test_a_record_is_understood(line: str, spoken: bool, written: bool) -> None:
    assert (speaks(line), writes(line, OWN)) == (spoken, written)
