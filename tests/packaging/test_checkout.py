"""What is in git: intact weights, a lock without hosts, and nothing that belongs to others."""

import hashlib
import re
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

from plate_nets.networks.checkpoint import SUMS, WEIGHTS, read_sums
from tests.packaging.conftest import COMPOSE, SERVICES, shell
from tests.paths import ROOT, SHARED


def test_every_listed_weights_file_exists_in_git(tracked: list[str]) -> None:
    """tests/unit/networks/test_checkpoint.py compares their hashes."""
    assert {f"{WEIGHTS.relative_to(ROOT)}/{name}" for name in (SUMS, *read_sums(WEIGHTS))} <= set(tracked)


def test_the_lock_names_no_host() -> None:
    packages = tomllib.loads((ROOT / "poetry.lock").read_text(encoding="utf-8"))["package"]
    assert all("source" not in package for package in packages)
    assert {key for package in packages for file in package["files"] for key in file} == {"file", "hash"}


def test_no_path_of_a_machine_is_written_anywhere(tracked: list[str]) -> None:
    # Assembled here, so that this file does not match itself
    folders = "|".join(f"/{folder}/" for folder in ("work", "home/[a-z]+", "Users", "root"))
    private = re.compile(f"{folders}|/opt/pyp" + "i")
    for name in tracked:
        try:
            text = (ROOT / name).read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        found = private.search(text)
        assert found is None, f"{name}: {found[0] if found else ''}"


def test_no_pickle_photograph_or_font_is_committed(tracked: list[str]) -> None:
    unwanted = (".pt", ".pth", ".pkl", ".ckpt", ".onnx", ".ttf", ".otf", ".jpg", ".jpeg", ".png", ".webp")
    ours = ("docs/", "plate_nets/recognition/known_picture", "plate_nets/networks/runtimes/calibration/")
    assert [name for name in tracked if name.lower().endswith(unwanted) and not name.startswith(ours)] == []


def test_no_file_of_shared_is_committed(tracked: list[str]) -> None:
    if not SHARED.is_dir():
        pytest.skip(f"{SHARED} is not at hand; PLATES_SHARED names it")
    own: dict[int, list[str]] = {}
    for name in tracked:
        own.setdefault((ROOT / name).stat().st_size, []).append(name)
    for path in (path for path in SHARED.rglob("*") if path.is_file()):
        for name in own.get(path.stat().st_size, ()) if path.stat().st_size else ():
            digests = [hashlib.sha256(each.read_bytes()).digest() for each in (path, ROOT / name)]
            assert digests[0] != digests[1], f"{name} is {path}"


def test_yaml_files_are_clean(tracked: list[str]) -> None:
    files = [name for name in tracked if name.endswith((".yaml", ".yml"))]
    shell(f"{Path(sys.executable).parent}/yamllint --strict {' '.join(files)}", check=True)


def test_compose_publishes_ports_and_gives_shared_memory() -> None:
    service = SERVICES["triton"]
    assert service["ports"] and service["shm_size"] == "1g"
    assert (COMPOSE.parent / service["build"]["context"] / "Dockerfile").is_file()


def test_the_compose_overlay_changes_only_the_server() -> None:
    overlay = yaml.safe_load(COMPOSE.with_name("compose.gpu.yaml").read_text(encoding="utf-8"))
    assert overlay["services"].keys() == {"triton"} < SERVICES.keys()


@pytest.mark.parametrize(
    ("answers", "commands"),
    [
        ("false", ["make check", "make test"]),
        ("true", ["make check", "make test-image", "make test TESTS=not soak and not image and not deployed"]),
    ],
)
def test_continuous_integration_runs_check_and_test(answers: str, commands: list[str]) -> None:
    programs = f'make() {{ echo make "$@"; }}; docker() {{ {answers}; }}; export -f make docker'
    result = shell(f"{programs}; cd /; {ROOT / '.ci' / 'run'}")
    assert result.stdout.splitlines() == commands


def test_exported_requirements_have_the_versions_and_hashes_of_the_lock() -> None:
    """`make check` compares them with a new export; this finds a lock that was changed alone."""
    packages = tomllib.loads((ROOT / "poetry.lock").read_text(encoding="utf-8"))["package"]
    locked = {(each["name"], each["version"]): {file["hash"] for file in each["files"]} for each in packages}
    for name in ("embedded", "image-cpu", "image-gpu", "all"):
        text = (ROOT / "requirements" / f"{name}.txt").read_text(encoding="utf-8")
        entries = re.findall(r"^([\w.-]+)==(\S+)(?: ;[^\\]*)?((?: \\\n    --hash=\S+)+)$", text, re.MULTILINE)
        assert len(entries) == len(re.findall(r"^\w", text, re.MULTILINE)) > 50
        for package, version, hashes in entries:
            assert set(re.findall(r"--hash=(\S+)", hashes)) == locked[package, version], package


def test_a_missing_photo_is_reported_before_any_setup() -> None:
    result = shell("make demo PHOTO=nosuch.jpg")
    assert (result.returncode, result.stdout) == (2, "")
    assert "PHOTO: no such file: nosuch.jpg" in result.stderr
