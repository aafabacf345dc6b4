"""Shared by all tests: the stand-in for Triton's Python API, the model repository, and one server."""

import gc
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")  # torch's threads spin while they wait, so two are slower
os.environ.setdefault("PLATES_PRECISION", "float32")  # the same answers on every processor
os.environ.setdefault("PLATES_PRECISION_CHOICES", os.devnull)  # not the user's
os.environ.setdefault("PLATES_YOLO_THREADS", "1")  # one number of threads to prepare for, a second less for each start

import hypothesis
import pytest

from plate_nets.cli.options import DETAIL_VARIABLE, SCHEME_VARIABLE
from plate_nets.client import parse_url
from plate_nets.common.control_key import KEY_VARIABLE
from plate_nets.recognition.local import LocalReader
from plate_nets.triton.server import EmbeddedTriton
from tests.container import IMAGE, Container, deployed
from tests.fakes import triton
from tests.paths import ROOT
from tests.serve import Serve, Served, Start

hypothesis.settings.register_profile("any machine", deadline=None)  # no test judges the machine's speed
hypothesis.settings.load_profile("any machine")
sys.modules["rfc3987_syntax"] = None  # type: ignore[assignment]  # jsonschema's grammar of IRIs takes two seconds
triton.install()  # before anything imports plate_nets.triton.backend.triton

SLOW_LAYERS = ("faults", "image", "packaging", "served", "web")
"""Their tests start servers or browsers, or build environments."""
WAITING = ROOT / "tests" / "faults"
"""Its tests mostly wait, so that two of its files at once would leave processors idle."""
LONGEST = ROOT / "tests" / "packaging"
"""One of its files takes minutes, for which the other processes would wait if it began last."""

_running: list[EmbeddedTriton] = []


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark as slow what needs a server or an environment. Also mark what may run against a container, or needs one."""
    fixtures = {"served", "neighbour", "start"} & set(getattr(item, "fixturenames", ()))
    layer = item.path.relative_to(ROOT / "tests").parts[0]
    if fixtures or layer in SLOW_LAYERS:
        item.add_marker("slow")
    if fixtures:
        item.add_marker("deployed")
    if layer == "image":
        item.add_marker("image")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """With several processes, run the files with slow tests first, and among them, those that mostly wait."""
    if "PYTEST_XDIST_WORKER" not in os.environ:
        return
    slow = dict.fromkeys(item.path for item in items if item.get_closest_marker("slow"))
    waiting = [path for path in slow if path.parent == WAITING]
    computing = sorted((path for path in slow if path.parent != WAITING), key=lambda path: path.parent != LONGEST)
    place = {path: number / len(files) for files in (waiting, computing) for number, path in enumerate(files)}
    items.sort(key=lambda item: place.get(item.path, 1.0))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Any:
    """What this makes stays, so Python's garbage collector need not search it again and again."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
    report = yield
    if report.failed and _running and "served" in getattr(item, "fixturenames", ()):
        report.sections.append(("log of the server", _running[0].log_text()[-5000:]))
    return report


@pytest.fixture(autouse=True)
def no_setting_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """A command passes some settings to its own server by environment variables. They must not reach the next test."""
    for variable in (SCHEME_VARIABLE, DETAIL_VARIABLE):
        monkeypatch.setenv(variable, "")
        monkeypatch.delenv(variable)


@pytest.fixture(scope="session")
def model_repository() -> Path:
    """The checkout's own repository."""
    return ROOT / "model_repository"


@pytest.fixture
def repository(tmp_path: Path, model_repository: Path) -> Path:
    """A copy of the converted models."""
    return Path(shutil.copytree(model_repository, tmp_path / "models"))


@pytest.fixture
def fake_server() -> Iterator[triton.Server]:
    """The stand-in's server, empty."""
    triton.server.models.clear()
    triton.server.asked.clear()
    triton.server.metrics.clear()
    triton.Logger.lines.clear()
    yield triton.server
    triton.server.models.clear()


@pytest.fixture(scope="session")
def served() -> Iterator[Served]:
    """A real Triton: the embedded one, one of the image PLATES_IMAGE, or the one at TRITON_URL and TRITON_GRPC_URL with
    its key in PLATES_CONTROL_KEY.

    It never skips. If there is no server, every test of it fails with the server's own message.
    """
    if url := os.environ.get("TRITON_URL"):
        http = parse_url(url)
        grpc = parse_url(os.environ.get("TRITON_GRPC_URL", f"{http.host}:{http.port + 1}"), "grpc")
        yield Served(str(http), str(grpc), os.environ.get(KEY_VARIABLE, ""))
    elif image := os.environ.get(IMAGE):
        with deployed(image) as container:
            yield container.served()
    else:
        with EmbeddedTriton(exit_timeout=0) as server:
            _running.append(server)
            yield Served(server.http_url, server.grpc_url, server.control_key)
            _running.clear()


@pytest.fixture(scope="session")
def reader() -> LocalReader:
    """A reader of the world in this process."""
    return LocalReader(threads=1)


@pytest.fixture(scope="session")
def start() -> Start:
    """Starts a supervised server: `plates serve`, or a container of the image PLATES_IMAGE."""
    image = os.environ.get(IMAGE)
    return (lambda folder, arguments: Container(image, arguments)) if image else Serve
