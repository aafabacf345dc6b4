"""The files that start the container give it as few rights as it needs, and every dependency has its hash."""

import re
import tomllib

import pytest
import yaml

from tests.paths import ROOT

COMPOSE = yaml.safe_load((ROOT / "deploy" / "compose.yaml").read_text(encoding="utf-8"))
DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")


@pytest.mark.parametrize("service", COMPOSE["services"])
def test_a_compose_service_has_only_the_rights_that_it_needs(service: str) -> None:
    """It reaches neither the engine nor the host, and only this machine reaches it."""
    wanted = COMPOSE["services"][service]
    assert wanted["read_only"] is True
    assert wanted["cap_drop"] == ["ALL"]
    assert "no-new-privileges:true" in wanted["security_opt"]
    assert not wanted.keys() & {"privileged", "cap_add", "pid", "devices", "ipc", "user"}
    assert wanted.get("network_mode") != "host"
    assert all(str(port).startswith("127.0.0.1:") for port in wanted.get("ports", []))
    for volume in wanted.get("volumes", []):
        assert "docker.sock" not in str(volume)
        assert not str(volume).startswith("/"), volume


def test_all_installed_packages_are_pinned_and_hashed() -> None:
    lock = tomllib.loads((ROOT / "poetry.lock").read_text(encoding="utf-8"))
    assert len(lock["package"]) > 50
    for package in lock["package"]:
        assert package["files"], package["name"]
        assert all(file["hash"].startswith("sha256:") for file in package["files"]), package["name"]
    for text in (DOCKERFILE, (ROOT / "tools" / "environment.sh").read_text(encoding="utf-8")):
        installs = re.findall(r"pip\b[^\n&|;]*\binstall\b[^\n&|;]*", text)
        assert installs
        for install in installs:
            hashed = "--require-hashes" in install or "--no-deps" in install
            # pip itself, for a Python without it; what a machine reads with for which the lock has no server
            assert hashed or install.endswith(("install --quiet pip ", "'.[local]' hatchling ")), install
