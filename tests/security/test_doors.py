"""Data from outside enters only through `plate_nets/common/intake/` and the HTTP entrances; nothing else opens it."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.paths import ROOT

PACKAGE = ROOT / "plate_nets"
DOORS = {
    "yaml": {"common/intake/yaml_file.py"},
    "tomllib": {"common/intake/toml_file.py", "web/texts/__init__.py"},  # the second one reads the page's own texts
    "xml.etree.ElementTree.fromstring": set(),
    "defusedxml.ElementTree": {"common/intake/xml_text.py"},
    "csv.reader": set(),
    "csv.DictReader": {"common/intake/table.py"},
    "av.open": {"common/intake/video.py", "cameras/recording.py"},  # the second one writes
    "cv2.imread": {"networks/runtimes/precision.py"},  # our own picture
    "cv2.VideoCapture": set(),
    "cv2.imdecode": {"evaluation/coding.py"},  # what it encoded itself
    "PIL": {"recognition/images.py"},
    "simplejpeg.decode_jpeg": {"recognition/images.py"},
    "request.body": set(),
    "request.form": set(),
    "request.json": set(),
    "request.stream": {"web/uploads.py", "web/forms.py"},
    "sliced.form": {"web/forms.py"},
    "httpx.AsyncClient": {"web/fetch.py", "events/sinks/webhook.py"},
    "answer.aiter_raw": {"common/intake/http_answer.py", "web/fetch.py"},
    "answer.aiter_bytes": set(),
    "answer.aread": set(),
}
"""A module, or a function as it is called -> the files below `plate_nets/` that may use it."""


@cache
def users() -> dict[str, frozenset[str]]:
    """Each file of the package -> the functions that it uses."""
    return {str(path.relative_to(PACKAGE)): frozenset(used(path)) for path in PACKAGE.rglob("*.py")}


def used(path: Path) -> Iterator[str]:
    """The modules that a file imports, and what it calls, as written: `csv.reader`."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        match node:
            case ast.Import(names=names):
                yield from (each.name for each in names)
            case ast.ImportFrom(module=str(module), names=names):
                yield module
                yield from (f"{module}.{each.name}" for each in names)
            case ast.Call(func=ast.Attribute() | ast.Name() as called):
                yield ast.unparse(called)


@pytest.mark.parametrize("what", DOORS)
def test_only_the_intake_opens_data_from_outside(what: str) -> None:
    assert {file for file, names in users().items() if what in names} == DOORS[what]


READERS = (".read_text", ".read_bytes")
OWN = {"plate_nets.common.intake.files.read_text"}
OURS = {
    "cli/events.py", "cli/output.py", "cli/serve.py", "triton/config_check.py", "networks/conversion/provenance.py",
    "events/event.py", "recognition/health.py", "networks/runtimes/networks.py",
    "triton/backend/quota.py", "networks/runtimes/precision.py", "web/texts/__init__.py", "triton/server/guard.py",
    "triton/server/start_watch.py", "evaluation/comparison.py", "networks/runtimes/choices.py",
    "networks/runtimes/room.py",
}  # fmt: skip
"""Files that read whole files of ours or of the system: networks, configurations, package data."""


def test_files_of_users_are_read_by_the_intake() -> None:
    readers = {file for file, names in users().items() if any(name.endswith(READERS) for name in names - OWN)}
    assert readers - OURS == set()
