"""No process of the product speaks to anybody, or writes anywhere, that it was not told to."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from plate_nets.recognition.health import known_picture
from tests.paths import ROOT

pytestmark = pytest.mark.slow

HOOK = """
import os, sys
LOOPBACK = ("127.", "localhost", "::1", "/")
ALLOWED = tuple(map(os.path.realpath, sys.argv[1:]))
def heard(event, arguments):
    if event in ("socket.getaddrinfo", "socket.gethostbyname"):
        assert str(arguments[0] or "localhost").startswith(LOOPBACK), (event, arguments)
    elif event in ("socket.connect", "socket.sendto"):
        address = arguments[1]
        assert str(address[0] if isinstance(address, tuple) else address).startswith(LOOPBACK), (event, arguments)
    elif event == "open" and isinstance(arguments[0], str) and set(arguments[1] or "") & set("wax+"):
        path = os.path.realpath(arguments[0])
        assert path.startswith(("/dev/", "/proc/", *ALLOWED)), (event, arguments)
sys.addaudithook(heard)
"""
"""Auditing (PEP 578) ends a process that asks for an address, or writes a file outside the named folders."""


def run(code: str, tmp_path: Path) -> subprocess.CompletedProcess[str]:
    home = tmp_path / "home"
    home.mkdir()
    environment = os.environ | {"HOME": str(home), "PYTHONDONTWRITEBYTECODE": "1", "TMPDIR": str(tmp_path)}
    result = subprocess.run(
        [sys.executable, "-c", HOOK + code, str(tmp_path)],
        env=environment,
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert list(home.iterdir()) == [], "the home folder is the user's"
    return result


@pytest.mark.parametrize(
    "code",
    [
        "from plate_nets import LocalReader; print(LocalReader().read(sys.stdin.buffer.read() or PICTURE))",
        "sys.argv = ['converters', '--check']; from converters.__main__ import app; app()",
    ],
    ids=["reading in process", "converters"],
)
def test_nobody_is_spoken_to(code: str, tmp_path: Path) -> None:
    picture = tmp_path / "known.jpg"
    picture.write_bytes(known_picture().image)
    result = run(code.replace("sys.stdin.buffer.read() or PICTURE", f"open({str(picture)!r}, 'rb').read()"), tmp_path)
    assert result.returncode == 0, result.stderr
    assert result.stdout


def test_an_embedded_server_leaves_the_home_folder_alone(tmp_path: Path) -> None:
    picture = tmp_path / "known.jpg"
    picture.write_bytes(known_picture().image)
    result = run(f"sys.argv = ['plates', 'read', {str(picture)!r}]; from plate_nets.cli import main; main()", tmp_path)
    assert result.returncode == 0, result.stderr
    assert known_picture().texts[0] in result.stdout
