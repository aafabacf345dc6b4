"""The wheel as a stranger gets it: built from the checkout, installed into fresh environments, run in another folder.

pip asks its index, or finds what it needs in its cache.
"""

import json
import re
import subprocess
import sys
import time
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from plate_nets.networks.registry import NETWORKS
from plate_nets.networks.runtimes.networks import IR, IR_WEIGHTS, RELEASED
from plate_nets.recognition.health import known_picture
from plate_nets.triton.server.installation import NEXT_PYTHON
from tests.packaging.conftest import PROJECT, shell
from tests.serve import Served

pytestmark = pytest.mark.timeout(1200)

LOCAL = '"plate-nets[local]"'
EMBEDDED = '"plate-nets[embedded]"'


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel that `pip wheel` builds, in its own environment, from the source archive."""
    folder, archives = tmp_path_factory.mktemp("wheel"), tmp_path_factory.mktemp("sdist")
    build = f"{sys.executable} -c 'from hatchling.build import build_sdist; print(build_sdist(\"{archives}\"))'"
    pip = f"{sys.executable} -m pip wheel --quiet --no-deps --wheel-dir {folder} {archives}/*.tar.gz"
    shell(f"{build} && {pip}", check=True)
    (made,) = folder.iterdir()
    return made


@dataclass(frozen=True)
class Installation:
    """A fresh environment with the wheel, and an empty folder beside it to run in."""

    environment: Path
    folder: Path
    seconds: float
    """How long pip took."""

    @property
    def megabytes(self) -> float:
        """The size of the environment on disk."""
        return sum(path.lstat().st_blocks * 512 for path in self.environment.rglob("*")) / 1e6

    def package(self) -> dict[Path, int]:
        """The files of the installed package, and when each was changed."""
        (package,) = self.environment.glob("lib/python*/site-packages/plate_nets")
        files = (path for path in package.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
        return {path: path.stat().st_mtime_ns for path in files}

    def run(self, command: str, check: bool = True) -> "subprocess.CompletedProcess[str]":
        """Run a command of the environment, with nothing of the checkout visible."""
        hidden = {"PYTHONPATH": "", "VIRTUAL_ENV": "", "PLATES_MODEL_REPOSITORY": ""}
        return shell(f"{self.environment}/bin/{command}", cwd=self.folder, environment=hidden, timeout=120, check=check)

    def fault(self, command: str) -> str:
        """The one line of a command that it refuses."""
        result = self.run(command, check=False)
        assert (result.returncode, result.stderr.count("\n")) == (2, 1), result.stderr
        return result.stderr

    def read_in_process(self) -> None:
        """Read the picture by three lines of code, which write nothing into the package."""
        before = self.package()
        code = 'from plate_nets import LocalReader; print(LocalReader().read(open("car.jpg","rb").read()))'
        said = self.run(f"python -c '{code}'").stdout
        assert all(text in said for text in known_picture().texts)
        assert self.package() == before


def install(wheel: Path, extra: str, folder: Path, *options: str, python: str = sys.executable) -> Installation:
    """Install the wheel with an extra into a new environment of ``python``, with these options of pip, beside a
    picture."""
    environment, run_in = folder / "environment", folder / "elsewhere"
    run_in.mkdir()
    (run_in / "car.jpg").write_bytes(known_picture().image)
    shell(f"{python} -m venv --without-pip {environment}", check=True)
    started = time.monotonic()
    pip = f"{sys.executable} -m pip --python {environment}"
    shell(f"{pip} install --quiet {' '.join(options)} '{wheel}{extra}'", cwd=run_in, check=True)
    return Installation(environment, run_in, time.monotonic() - started)


@pytest.fixture(scope="module")
def embedded(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installation:
    """Not compiled, as the others: that takes as long as everything else."""
    return install(wheel, "[embedded]", tmp_path_factory.mktemp("embedded"), "--no-compile")


@pytest.fixture(scope="module")
def base(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installation:
    return install(wheel, "", tmp_path_factory.mktemp("base"), "--no-compile")


@pytest.fixture(
    scope="module", params=["3.13", *(pytest.param(each, marks=pytest.mark.soak) for each in ("3.12", "3.14"))]
)
def other(request: pytest.FixtureRequest, wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installation:
    """An installation that starts no server, in another Python version; most of them have no embedded one."""
    python = python_of(request.param)
    if python is None:
        pytest.skip(f"no python{request.param} on PATH and none of pyenv's: nothing to install the wheel into")
    folder = tmp_path_factory.mktemp("other")
    return install(wheel, "[local,watch,web]", folder, "--no-compile", "--only-binary=:all:", python=python)


def python_of(version: str) -> str | None:
    """An interpreter of a version: on PATH, or one of pyenv's; None if none runs."""
    pyenv = shell(f"ls -d $(pyenv root)/versions/{version}.*/bin/python 2>/dev/null || true").stdout.split()
    for candidate in (f"python{version}", *pyenv):
        if shell(f"{candidate} -c 'import venv'").returncode == 0:
            return candidate
    return None


def test_the_wheel_contains_the_tracked_files_and_the_converted_networks(wheel: Path, tracked: list[str]) -> None:
    with zipfile.ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if ".dist-info/" not in name}
    models = {f"plate_nets/{name}" for name in tracked if name.startswith("model_repository/")}
    made = {
        str(Path("plate_nets/model_repository", network.model.name, str(RELEASED), network.folder, file))
        for network in NETWORKS.values()
        for file in (IR, IR_WEIGHTS)
    }
    assert held == {name for name in tracked if name.startswith("plate_nets/")} | models | made


def test_the_wheel_is_for_any_platform_and_has_the_version_of_pyproject(wheel: Path) -> None:
    assert wheel.name == f"plate_nets-{PROJECT['version']}-py3-none-any.whl"


@pytest.mark.parametrize("extra", ["embedded", "evaluate"])
def test_each_extra_that_reads_in_process_contains_local(extra: str) -> None:
    extras = PROJECT["optional-dependencies"]
    assert set(extras["local"]) < set(extras[extra])


def test_the_extra_embedded_is_small_and_quick_to_install(
    embedded: Installation, capsys: pytest.CaptureFixture[str]
) -> None:
    with capsys.disabled():
        print(f"\n[embedded]: {embedded.megabytes:.0f} MB, installed in {embedded.seconds:.0f} s")  # noqa: T201
    assert embedded.megabytes <= 800
    assert embedded.run("python -c 'import torch'", check=False).returncode == 1


def test_embedded_reads_a_picture_and_writes_nothing_into_the_package(embedded: Installation) -> None:
    before = embedded.package()
    result = embedded.run("plates read car.jpg --save-annotated out")
    assert re.findall(r"car\.jpg: (\S+)  confidence", result.stdout) == list(known_picture().texts)
    assert (embedded.folder / "out" / "car_plates.jpg").is_file()
    assert embedded.package() == before


def test_three_lines_of_code_read_a_picture_in_process(embedded: Installation) -> None:
    embedded.read_in_process()


def test_a_swap_needs_a_repository_outside_the_package(embedded: Installation) -> None:
    assert "belongs to the installed package; copy it" in embedded.fault("plates swap stn new.safetensors")


def test_the_base_package_uses_a_running_server(base: Installation, served: Served) -> None:
    result = base.run(f"plates read car.jpg --url {served.http}")
    assert re.findall(r"car\.jpg: (\S+)  confidence", result.stdout) == list(known_picture().texts)


def test_another_python_reads_a_picture(other: Installation) -> None:
    other.read_in_process()


def test_another_python_watches_a_video(other: Installation) -> None:
    pictures = other.folder / "pictures"
    pictures.mkdir()
    for number in range(10):
        (pictures / f"{number}.jpg").write_bytes(known_picture().image)
    result = other.run("plates watch pictures --local --json")
    final = [event for event in map(json.loads, result.stdout.splitlines()) if event["stage"] == "final"]
    assert {event["plate"] for event in final} == set(known_picture().texts)


def test_another_python_serves_the_page(other: Installation) -> None:
    other.run("python -W error -c 'import plate_nets.web.app, plate_nets.web.server'")


def test_another_python_reports_why_it_starts_no_server(other: Installation) -> None:
    (library,) = other.environment.glob("lib/python*")
    version = library.name.removeprefix("python")
    newer = f"Python up to 3.12, this is {version}; use the container"
    why = "nvidia-pytriton" if version == "3.12" else newer
    assert other.fault("plates serve").startswith(f"plates: the embedded server needs {why}")


@pytest.mark.parametrize(
    ("command", "extra"),
    [
        ("read car.jpg", LOCAL),
        ("serve", EMBEDDED),
        ("read car.jpg --url 127.0.0.1:9 --save-annotated out", LOCAL),
        ("swap stn new.safetensors", LOCAL),
        ("evaluate .", '"plate-nets[evaluate]"'),
    ],
)
def test_a_missing_extra_is_named_in_one_line(command: str, extra: str, base: Installation) -> None:
    said = base.fault(f"plates {command}")
    assert said.startswith("plates: ")
    assert f": pip install {extra}" in said


def test_reading_in_process_without_its_extra_is_named_in_one_line(base: Installation) -> None:
    result = base.run("python -c 'from plate_nets import LocalReader; LocalReader()'", check=False)
    assert f"plate_nets.common.errors.MissingExtra: reading in process needs cv2: pip install {LOCAL}" in result.stderr


def test_only_the_embedded_server_is_bound_to_a_platform() -> None:
    """pyproject.toml and `check_platform` name the same Python versions."""
    assert PROJECT["requires-python"] == ">=3.11"
    bound = {name for names in PROJECT["optional-dependencies"].values() for name in names if "sys_platform" in name}
    (server,) = bound
    major, minor = NEXT_PYTHON
    assert server.startswith("nvidia-pytriton==") and server.endswith(f"python_version < '{major}.{minor}'")
