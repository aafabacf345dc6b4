"""The Dockerfile without a container engine: this carries out its build step by step.

COPY takes the files in git that .dockerignore lets through. RUN runs the command as it is, with the image's folders
moved below a temporary one. The environment there sees the packages of the one that runs this test, so pip finds its
requirements satisfied and downloads nothing.
"""

import fnmatch
import json
import re
import shlex
import shutil
import signal
import subprocess
import sys
import sysconfig
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import pytest

from plate_nets.cli.options import SCHEME_VARIABLE
from plate_nets.countries import DEFAULT_SCHEMES
from plate_nets.networks.runtimes.networks import IR, IR_WEIGHTS, TORCHSCRIPT
from tests.packaging.conftest import PROJECT, SERVICES, program, shell
from tests.paths import ROOT
from tests.serve import Serve, system_server
from tests.waiting import eventually

pytestmark = pytest.mark.timeout(900)

DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")
FOLDERS = ("/opt/plates", "/src")
DEVICE = "gpu"
"""The build argument: the value that creates all files."""


class Step(NamedTuple):
    """One instruction, with continued lines joined."""

    keyword: str
    value: str


def stages() -> list[list[Step]]:
    """The Dockerfile's instructions: those before the first FROM, and a list per stage."""
    lines = [line for line in DOCKERFILE.splitlines() if not line.startswith("#")]
    text = re.sub(r"\\\n\s*", "", "\n".join(lines))
    found: list[list[Step]] = [[]]
    for line in filter(None, text.splitlines()):
        step = Step(*line.split(maxsplit=1))
        if step.keyword == "FROM":
            found.append([])
        found[-1].append(step)
    return found


ARGUMENTS, BASE, BUILD, GPU, CPU, FINAL = stages()


def value(stage: list[Step], keyword: str) -> str:
    (found,) = [step.value for step in stage if step.keyword == keyword]
    return found


def health_check() -> list[str]:
    """The command of HEALTHCHECK."""
    found = re.search(r"CMD (\[.*\])$", value(FINAL, "HEALTHCHECK"))
    assert found is not None
    command: list[str] = json.loads(found[1])
    return command


def context(tracked: list[str]) -> list[str]:
    """The files in git that .dockerignore lets into the build. The last matching line decides."""
    lines = (ROOT / ".dockerignore").read_text(encoding="utf-8").split("\n")
    patterns = [line for line in lines if line[:1] not in ("", "#")]

    def let_through(name: str) -> bool:
        parts = Path(name).parts
        prefixes = ["/".join(parts[:count]) for count in range(1, len(parts) + 1)]
        ignored = False
        for pattern in patterns:
            wanted = pattern.removeprefix("!").removeprefix("**/")
            candidates = parts if pattern.startswith("**/") else prefixes
            if any(fnmatch.fnmatchcase(each, wanted) for each in candidates):
                ignored = not pattern.startswith("!")
        return not ignored

    return [name for name in tracked if let_through(name)]


@dataclass(frozen=True)
class Built:
    """The folders of the build."""

    root: Path

    def here(self, text: str) -> str:
        text = re.sub(r"--mount=\S+ ", "", text).replace("${DEVICE}", DEVICE)
        for folder in FOLDERS:
            text = re.sub(rf"(?<![\w/]){folder}(?=/|\s|$)", str(self.root) + folder, text)
        return text


@pytest.fixture(scope="module")
def built(tracked: list[str], tmp_path_factory: pytest.TempPathFactory) -> Built:
    """The result of the build."""
    built = Built(tmp_path_factory.mktemp("image"))
    purelib = Path(sysconfig.get_path("purelib")).relative_to(sys.prefix)
    packages = built.root / "opt" / "plates" / purelib
    packages.mkdir(parents=True)
    (packages / "satisfied.pth").write_text(f"{Path(sys.prefix) / purelib}\n", encoding="utf-8")

    files = context(tracked)
    cwd = built.root
    for step in BUILD:
        if step.keyword == "WORKDIR":
            cwd = Path(built.here(step.value))
            cwd.mkdir(parents=True, exist_ok=True)
        elif step.keyword == "COPY":
            *sources, target = shlex.split(built.here(step.value))
            for source in sources:
                copied = [each for each in files if each == source or each.startswith(f"{source}/")]
                assert copied, f"COPY {source}: git or .dockerignore leaves nothing of it"
                for each in copied:
                    into = cwd / target / (Path(each).name if each == source else Path(each).relative_to(source))
                    into.parent.mkdir(parents=True, exist_ok=True)
                    shutil.copyfile(ROOT / each, into)
        elif step.keyword == "RUN":
            command = re.sub(r"(?<![\w/.])python3(?= )", shlex.quote(sys.executable), built.here(step.value))
            environment = {"PIP_NO_INDEX": "1", "PYTHONPATH": "", "OMP_NUM_THREADS": "1"}
            shell(command, cwd=cwd, environment=environment, check=True)
        else:
            assert step.keyword in ("FROM", "ARG", "ENV"), f"{step.keyword}: this test does not know it"
    return built


def test_the_build_gives_an_environment_with_the_installed_project(built: Built) -> None:
    """pip makes a wheel without git and without an index, in an environment with torch."""
    plates = built.root / "opt" / "plates"
    assert (plates / "bin" / "plates").is_file()
    (packages,) = plates.glob("lib/python*/site-packages")
    assert (packages / "plate_nets" / "contract.py").is_file()
    (record,) = packages.glob("plate_nets-*.dist-info/RECORD")
    listed = record.read_text(encoding="utf-8")
    assert IR in listed and TORCHSCRIPT not in listed, "TorchScript, which needs torch"
    assert {path.name for path in plates.glob("model_repository/*/1/*.*")} == {"model.py", IR, IR_WEIGHTS, TORCHSCRIPT}


@pytest.mark.parametrize("device", ["cpu", "gpu"])
def test_requirements_contain_only_what_the_device_needs(device: str) -> None:
    requirements = (ROOT / "requirements" / f"image-{device}.txt").read_text(encoding="utf-8")
    assert ("\ntorch==" in requirements) == (device == "gpu")
    assert "nvidia-pytriton" not in requirements
    assert "yolov5" not in requirements


@pytest.fixture(scope="module")
def image(built: Built, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serve]:
    """What the image runs, on the result of the first stage. The wheel's server is on PATH instead of NVIDIA's."""
    options = json.loads(value(FINAL, "CMD"))[2:]
    folder = tmp_path_factory.mktemp("container")
    plates = built.root / "opt" / "plates"
    repository = {"PLATES_MODEL_REPOSITORY": str(plates / "model_repository"), SCHEME_VARIABLE: DEFAULT_SCHEMES}
    environment = system_server(folder) | repository
    arguments = [word.replace("0.0.0.0", "127.0.0.1") for word in options]
    with Serve(folder, arguments, environment, log_option=False) as serve:
        yield serve


def test_health_check_passes_on_the_models_that_were_built(built: Built, image: Serve) -> None:
    command = health_check()
    address = image.addresses["health"].split("/")[2]
    name, *arguments = [word.replace("127.0.0.1:8003", address) for word in command]
    (packages,) = (built.root / "opt" / "plates").glob("lib/python*/site-packages")

    def ask() -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [built.root / "opt" / "plates" / "bin" / name, *arguments],
            cwd=built.root,
            env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(packages)},
            capture_output=True,
            text=True,
            timeout=60,
        )

    assert eventually(lambda: ask().returncode == 0, 60), ask()
    assert '"state": "serving"' in ask().stdout


def test_the_server_of_the_image_is_the_one_on_path(image: Serve) -> None:
    command = image.server().cmdline()
    assert any(word.startswith("--backend-directory") and "/system/" in word for word in command)
    (repository,) = (word for word in command if word.startswith("--model-repository="))
    linked = Path(repository.partition("=")[2]).resolve()
    assert linked == Path(image.environment["PLATES_MODEL_REPOSITORY"]).resolve()
    assert {"--model-control-mode=explicit", "--disable-auto-complete-config"} <= set(command)
    assert "Started HTTPService" in image.errors(), "its log goes where the container's does"


def test_docker_stop_ends_the_container_within_the_grace_period(image: Serve) -> None:
    grace = float(SERVICES["triton"]["stop_grace_period"].removesuffix("s"))
    started = time.monotonic()
    assert image.finish(signal.SIGTERM) == 0
    assert time.monotonic() - started < grace
    assert image.left() == []


def test_compose_uses_the_same_health_check() -> None:
    assert SERVICES["triton"]["healthcheck"]["test"] == ["CMD", *health_check()]


def test_image_serves_the_models_that_were_built() -> None:
    assert "PLATES_MODEL_REPOSITORY=/opt/plates/model_repository" in value(FINAL, "ENV")
    assert value(FINAL, "COPY") == "--from=build /opt/plates /opt/plates"
    name, command, *options = json.loads(value(FINAL, "CMD"))
    assert (name, command) == ("plates", "serve")
    assert options[options.index("--server") + 1] == "system"
    assert options[options.index("--address") + 1] == "0.0.0.0", "Docker publishes ports to the container's address"


def test_base_is_pinned_and_new_enough() -> None:
    base, device = (step.value for step in ARGUMENTS)
    found = re.fullmatch(r"BASE=nvcr\.io/nvidia/tritonserver:(\d\d)\.(\d\d)-py3", base)
    assert found is not None and (int(found[1]), int(found[2])) >= (26, 11)
    assert device == "DEVICE=cpu"
    assert [value(stage, "FROM") for stage in (BASE, BUILD, GPU, CPU, FINAL)] == [
        "${BASE} AS triton",
        *(f"triton AS {name}" for name in ("build", "gpu", "cpu")),
        "${DEVICE}",
    ]


def test_the_wheel_does_not_depend_on_a_python_version() -> None:
    assert re.search(r"python3?\.\d", DOCKERFILE) is None


def test_container_is_not_root_and_holds_no_secret() -> None:
    assert all(int(number) > 0 for number in value(FINAL, "USER").split(":"))
    text = re.sub(r"--mount=type=secret,id=[\w.]+|/run/secrets/", "", DOCKERFILE)
    assert re.search(r"password|secret|token|api_?key|index-url|://", text, re.IGNORECASE) is None


def test_hadolint_passes() -> None:
    shell(f"{Path(sys.executable).with_name('hadolint')} Dockerfile", check=True)


@pytest.fixture
def engine(tmp_path: Path) -> Path:
    """A program in place of a container engine. It only prints how it was called, and pip's settings."""
    path = tmp_path / "engine"
    program(path, 'printf "%s\\n" "$@"\nfor each; do case $each in id=pip.conf*) cat "${each#*src=}"; esac; done')
    return path


def test_the_build_gets_version_base_and_device(engine: Path) -> None:
    version = PROJECT["version"]
    environment = {"ENGINE": str(engine), "PYTHON": sys.executable}
    said = shell("make image BASE=some/base:1 DEVICE=gpu", environment=environment).stdout.splitlines()
    assert {f"VERSION={version}", "BASE=some/base:1", "DEVICE=gpu", f"plate-nets:{version}-gpu"} <= set(said)
    said = shell("make image", environment=environment).stdout.splitlines()
    assert {"DEVICE=cpu", f"plate-nets:{version}", "plate-nets:latest"} <= set(said)
    assert not [line for line in said if line.startswith("BASE=")]
    assert 'image.version="${VERSION}"' in value(FINAL, "LABEL")
    base = (ROOT / "deploy" / "kubernetes" / "base" / "kustomization.yaml").read_text(encoding="utf-8")
    assert f"{{name: plate-nets, newTag: {version}}}" in base


def test_the_build_gets_pip_settings_without_local_folders(engine: Path) -> None:
    environment = {
        "ENGINE": str(engine),
        "PYTHON": sys.executable,
        "PIP_CONFIG_FILE": "/dev/null",
        "PIP_INDEX_URL": "https://index.example/simple",
        "PIP_EXTRA_INDEX_URL": "file:///opt/index https://other.example/simple",
        "PIP_FIND_LINKS": "/opt/wheels",
        "PIP_CERT": str(ROOT / "LICENSE"),
    }
    said = shell("tools/image.sh", environment=environment).stdout
    assert "index-url = https://index.example/simple\n" in said
    assert "extra-index-url = https://other.example/simple\n" in said
    assert "cert = /run/secrets/authorities.pem\n" in said
    assert "/opt/" not in said


def test_no_engine_is_named_in_one_line(tmp_path: Path) -> None:
    for name, script in (("docker", "exit 1"), ("podman", "exit 1"), ("id", "echo 1000")):
        program(tmp_path / name, script)
    result = shell(f'PATH="{tmp_path}:$PATH" tools/engine.sh true', environment={"ENGINE": ""})
    assert result.returncode == 1
    assert result.stderr.startswith("error: neither docker nor podman answers")
    assert result.stderr.count("\n") == 1


def test_the_list_of_packages_is_that_of_the_image() -> None:
    (command,) = re.findall(r"^.*cyclonedx-py (?:.|\n)*?txt$", shell("make --dry-run sbom").stdout, re.MULTILINE)
    listed = json.loads(shell(command.replace("dist/plate-nets-cpu.cdx.json", "-"), check=True).stdout)
    assert (listed["bomFormat"], listed["metadata"]["component"]["name"]) == ("CycloneDX", "plate-nets")
    requirements = (ROOT / "requirements" / "image-cpu.txt").read_text(encoding="utf-8")
    wanted = set(re.findall(r"^([\w.-]+)==([\w.]+)", requirements, re.MULTILINE))
    assert {(each["name"], each["version"]) for each in listed["components"]} == wanted
    assert all(reference["hashes"] for each in listed["components"] for reference in each["externalReferences"])
